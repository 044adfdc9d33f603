"""One verb of the command line per file; `fuzzer.core.verb` says what a verb is."""
