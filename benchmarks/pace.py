"""Did the default run of the tests keep its time?

    python benchmarks/pace.py SECONDS

Prints the seconds next to those of ``[tests]`` in ``benchmarks/floors.toml``, with a warning above them.  Machines
differ, so that only a run of ``far`` times as many fails: exits 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from shared import arguments

FLOORS = Path(__file__).with_name("floors.toml")


def judged(seconds: float, wanted: float, far: float) -> tuple[str, int]:
    """Give the line to print, and the exit code."""
    line = f"the default run of the tests took {seconds:.0f} s; at most {wanted:.0f} s on two free cores are wanted"
    if seconds <= wanted:
        return line, 0
    if seconds <= far * wanted:
        return f"warning: {line}", 0
    return f"error: {line}, and {far:g} times as many are too long anywhere", 1


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument("seconds", type=arguments.positive)
    options = parser.parse_args()
    floors = tomllib.loads(FLOORS.read_text(encoding="utf-8"))["tests"]
    line, code = judged(options.seconds, floors["seconds"], floors["far"])
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
