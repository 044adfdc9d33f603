"""How many faults has a campaign withstood?  The tests of faults by turns, and their totals.

    python benchmarks/faults.py --totals FILE [--first 1] [--turns 5]

Each turn runs ``pytest -m slow tests/faults`` with seeds of its own (``tests/faults/turns.py``); what was injected, and
left every table equal to that of an undisturbed campaign, is added to the file, so that turns may run on several days.
Exits 1 when a turn failed; its faults are not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from shared import arguments
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("-q", "-p", "no:cacheprovider", "-n", "0", "-m", "slow or not slow", "tests/faults")


def totals(path: Path) -> tuple[Counter[str], set[int]]:
    """Sum of what a file records, and the turns that it is from."""
    found: Counter[str] = Counter()
    turns = set()
    for line in path.read_text().splitlines() if path.exists() else ():
        row = json.loads(line)
        turns.add(row.pop("turn"))
        found.update(row)
    return found, turns


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument(
        "--totals",
        type=arguments.kept(arguments.rows("turn")),
        required=True,
        help="file of totals, a line of JSON a test",
    )
    parser.add_argument(
        "--first", type=arguments.whole, default=1, help="number of the first turn; those in the file are left out"
    )
    parser.add_argument("--turns", type=arguments.count, default=5)
    options = parser.parse_args()
    failed = []
    for turn in range(options.first, options.first + options.turns):
        if turn in totals(options.totals)[1]:
            continue
        part = options.totals.with_name(f".{options.totals.name}.{turn}")
        part.unlink(missing_ok=True)
        environment = {**os.environ, "FAULT_TURN": str(turn), "FAULT_TOTALS": str(part.absolute())}
        done = subprocess.run([sys.executable, "-m", "pytest", *TESTS], cwd=ROOT, env=environment, check=False)
        if done.returncode:
            failed.append(turn)
        elif part.exists():
            with options.totals.open("a") as file:
                file.write(part.read_text())
        part.unlink(missing_ok=True)
    found, turns = totals(options.totals)
    print(tabulate([*found.most_common(), ("all", found.total())], ("fault", "injected"), disable_numparse=True))
    print(f"{len(turns)} turns" + (f"; failed: {', '.join(map(str, failed))}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
