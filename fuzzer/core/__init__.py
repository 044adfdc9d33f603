"""Records and helpers that every room of the fuzzer uses: configuration, cases, TOML, text."""
