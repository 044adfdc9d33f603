"""Identity of failures: which are one finding, and which findings are one family."""
