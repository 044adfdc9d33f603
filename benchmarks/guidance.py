"""Whether guidance by functions that are entered first is worth its time: campaigns with and without it.

    python benchmarks/guidance.py [--seconds 200] [--seeds 5] [--first 1] [--oracles NAME,NAME] [--out FILE]

For each seed two campaigns run, one guided and one blind, in turns, each for so many seconds of processor time of all
its processes, with one worker, in a process of its own that finds an empty cache of kernels.  Both watch the blocks of
TVM's compiler.  Findings are not looked into.  The table has the medians of both, the two-sided p of the Mann-Whitney
test, and A12: the chance that a guided campaign is ahead of a blind one.  ``--out`` adds a line for each campaign to a
file; campaigns that it has already are not run again.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from growth import MEASURES, run
from shared import arguments
from shared.ranks import a12, mann_whitney
from tabulate import tabulate

from fuzzer.campaign.setup import pass_names, watched_build
from fuzzer.core.config import Config, parse_oracles
from relaxkit.passes.contract import OracleName

ARMS = ("blind", "guided")


def measure(seed: int, arm: str, seconds: float, oracles: tuple[OracleName, ...]) -> dict[str, Any]:
    """Run one campaign in this process; what it has seen at its end."""
    guide = arm == "guided"
    config = Config(
        seed, pass_names(), (), oracles, None, 1e6, 1, shares=True, coverage=watched_build(), guide=guide
    )  # fmt: skip
    return {"seed": seed, "arm": arm, **run(config, seconds)[-1]}


def measured_apart(seed: int, arm: str, seconds: float, oracles: tuple[OracleName, ...], cache: Path) -> dict[str, Any]:
    """Run one campaign in a process of its own, on a copy of a cache that holds no kernels."""
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-guidance-") as folder:
        copy = Path(shutil.copytree(cache, Path(folder) / "cache"))
        names = ",".join(oracles)
        command = [sys.executable, __file__, "--one", arm, "--first", str(seed), "--seconds", str(seconds)]
        done = subprocess.run(
            [*command, "--oracles", names], check=True, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "RELAXFUZZ_CACHE": str(copy)},
        )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the arms, a row for each measure."""
    table = []
    for name in MEASURES:
        blind, guided = ([row[name] for row in rows if row["arm"] == arm] for arm in ARMS)
        table.append(
            {
                "distinct": name, "blind": statistics.median(blind), "guided": statistics.median(guided),
                "p": mann_whitney(guided, blind), "A12": a12(guided, blind),
            }
        )  # fmt: skip
    return table


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--seconds", type=arguments.positive, default=200.0, help="processor time of a campaign")
    parser.add_argument("--seeds", type=arguments.count, default=5, help="pairs of campaigns (default: 5)")
    parser.add_argument("--first", type=arguments.whole, default=1, help="the first seed (default: 1)")
    parser.add_argument(
        "--oracles", type=arguments.by(parse_oracles), default=tuple(OracleName), help="names (default: all)"
    )
    parser.add_argument("--out", type=arguments.kept(arguments.rows("seed", "arm", *MEASURES)), help="a file of lines")
    parser.add_argument("--one", choices=ARMS, help="run one campaign of the first seed here")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.first, options.one, options.seconds, options.oracles)))
        return
    rows = arguments.rows("seed", "arm")(str(options.out)) if options.out and options.out.exists() else []
    there = {(row["seed"], row["arm"]) for row in rows}
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-guidance-") as folder:
        os.environ["RELAXFUZZ_CACHE"] = folder
        watched_build()  # makes the table of blocks
        for seed in range(options.first, options.first + options.seeds):
            for arm in ARMS[:: 1 if seed % 2 else -1]:
                if (seed, arm) in there:
                    continue
                rows.append(measured_apart(seed, arm, options.seconds, options.oracles, Path(folder)))
                print(rows[-1], file=sys.stderr, flush=True)
                if options.out:
                    with options.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    print(tabulate(compared(rows), headers="keys", floatfmt=("", ".0f", ".0f", ".3f", ".2f")))


if __name__ == "__main__":
    main()
