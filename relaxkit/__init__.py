"""The foundation: what is known of TVM, and how its modules are read, executed and interpreted.

Importing any part of it prepares the installed TVM first (:mod:`relaxkit.compat`), without importing it.
"""

import relaxkit.compat  # noqa: F401  (first of all: it prepares the installed TVM)
