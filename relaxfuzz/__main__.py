"""``python -m relaxfuzz``: the command line."""

import sys

from fuzzer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
