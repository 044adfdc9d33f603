"""One verb of the command line per file; `fuzzer.verb` says what a verb is."""
