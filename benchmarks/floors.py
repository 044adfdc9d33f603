"""Do benchmarks still reach what they once reached?

    python benchmarks/floors.py [NAME ...]

Runs each benchmark of ``[[figures]]`` in ``benchmarks/floors.toml`` with the arguments given there, and compares what
it prints with ``--json`` with its floors (``least``) and ceilings (``most``).  A figure within an object has a dotted
name: ``reached.transform``.  Figures that depend on the machine have a wide margin in the file, since CI runs them
beside other work.  Exits 1 when a figure is beyond its limit, or is missing.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shared import arguments
from tabulate import tabulate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent


def rows(path: Path = HERE / "floors.toml") -> dict[str, dict[str, Any]]:
    """Read ``[[figures]]``, by name."""
    return {row["name"]: row for row in tomllib.loads(path.read_text(encoding="utf-8"))["figures"]}


def compared(row: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[tuple[str, float | None, str, bool]]:
    """Yield each figure: its name, what was found, its limit, and whether it keeps it."""
    for kind in ("least", "most"):
        for name, limit in row.get(kind, {}).items():
            figure: Any = found
            for part in name.split("."):
                figure = figure.get(part) if isinstance(figure, dict) else None
            keeps = figure is not None and (figure >= limit if kind == "least" else figure <= limit)
            yield name, figure, f"at {kind} {limit:g}", keeps


def measured(row: Mapping[str, Any], folder: Path = HERE) -> dict[str, Any]:
    """Run a benchmark, and return what it prints."""
    script, *options = shlex.split(row["command"])
    command = [sys.executable, str(folder / script), *options, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{row['command']}: exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Measure, compare, print."""
    known = rows()
    parser = arguments.Parser(__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(known)}; all, if none is given")
    options = parser.parse_args()
    if unknown := set(options.name) - known.keys():
        parser.error(f"floors.toml has no figures of {', '.join(sorted(unknown))}, but of {', '.join(known)}")
    table = [(name, *each) for name in options.name or known for each in compared(known[name], measured(known[name]))]
    print(tabulate([(*each[:4], "" if each[4] else "BEYOND") for each in table], floatfmt=".3f"))
    return 0 if all(keeps for *_, keeps in table) else 1


if __name__ == "__main__":
    sys.exit(main())
