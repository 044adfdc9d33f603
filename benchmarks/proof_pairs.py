"""Whether proofs are worth their time: pairs of campaigns, one of which proves and one of which only runs programs.

    python benchmarks/proof_pairs.py [--seconds 200] [--seeds 5] [--first 1] [--out FILE]

For each seed, two campaigns of the same seed begin at the same moment, so that both have the same neighbours on the
machine, each with one worker, in a process of its own that finds an empty cache of kernels.  Each takes so many seconds
of processor time, of all its processes.  Findings are not looked into.  The table has cases and families of each pair,
and the ratio of the cases.  ``--out`` adds a line for each campaign to a file; pairs that it has are not run again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from growth import run
from shared import arguments
from tabulate import tabulate

from fuzzer.campaign.setup import pass_names
from fuzzer.core.config import Config
from relaxkit.passes.contract import OracleName
from relaxkit.passes.plugins import require

ARMS = ("proving", "running")
UNPROVED = Path(__file__).parent / "shared" / "unproved.py"
MEASURES = ("cases", "modules", "findings", "families")


def measure(seed: int, arm: str, seconds: float) -> dict[str, Any]:
    """Run one campaign in this process; what it has seen at its end."""
    plugins = require([] if arm == "proving" else [str(UNPROVED)]).targets
    config = Config(seed, pass_names(), (), tuple(OracleName), None, 1e6, 1, shares=True, plugins=plugins)
    end = run(config, seconds)[-1]
    return {"seed": seed, "arm": arm, **{name: end[name] for name in MEASURES}}


def pair(seed: int, seconds: float) -> list[dict[str, Any]]:
    """Run both campaigns of a seed side by side."""
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-pairs-") as folder:
        running = [
            subprocess.Popen(
                [sys.executable, __file__, "--one", arm, "--first", str(seed), "--seconds", str(seconds)],
                stdout=subprocess.PIPE, text=True, env={**os.environ, "RELAXFUZZ_CACHE": str(Path(folder) / arm)},
            )
            for arm in ARMS
        ]  # fmt: skip
        said = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit("a campaign failed")
    return [json.loads(each) for each in said]


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the campaigns of each seed, and all pairs by their median ratio."""
    table = []
    for seed in sorted({row["seed"] for row in rows}):
        one, other = (next(row for row in rows if (row["seed"], row["arm"]) == (seed, arm)) for arm in ARMS)
        table.append({"seed": seed, "ratio of cases": one["cases"] / max(1, other["cases"])})
        table[-1] |= {f"{name}, {row['arm']}": row[name] for name in MEASURES for row in (one, other)}
    return [*table, {"seed": "median", "ratio of cases": statistics.median(each["ratio of cases"] for each in table)}]


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--seconds", type=arguments.positive, default=200.0, help="processor time of a campaign")
    parser.add_argument("--seeds", type=arguments.count, default=5, help="pairs of campaigns (default: 5)")
    parser.add_argument("--first", type=arguments.whole, default=1, help="the first seed (default: 1)")
    parser.add_argument("--out", type=arguments.kept(arguments.rows("seed", "arm", *MEASURES)), help="a file of lines")
    parser.add_argument("--one", choices=ARMS, help="run one campaign of the first seed here")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.first, options.one, options.seconds)))
        return
    rows = arguments.rows("seed", "arm")(str(options.out)) if options.out and options.out.exists() else []
    there = {row["seed"] for row in rows}
    for seed in range(options.first, options.first + options.seeds):
        found = [] if seed in there else pair(seed, options.seconds)
        for row in found:
            print(row, file=sys.stderr, flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        rows += found
    print(tabulate(compared(rows), headers="keys", floatfmt=".2f"))


if __name__ == "__main__":
    main()
