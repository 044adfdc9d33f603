"""Running it: command line, campaigns, isolated workers, store, signatures, minimizer, repro scripts, gate."""
