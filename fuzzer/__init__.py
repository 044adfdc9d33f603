"""Running it: command line, campaigns, isolated workers, store, signatures, minimizer, repro scripts, gate."""

import relaxkit.compat  # noqa: F401  (first of all: it prepares the installed TVM)
