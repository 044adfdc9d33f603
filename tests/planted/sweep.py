"""Runs a real campaign for each planted bug and prints what found it, and when.

    python tests/planted/sweep.py [--time 60s] [--workers 2] [--only REGEX] [--clean-time 5m]

A campaign ends as soon as the planted bug is found, after a minute at the latest; each clean pass gets five minutes.
Exit code 1 when a planted bug was not found by its oracle, or a clean pass was accused.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import sleep

from catalogue import CLEAN, PLANTED
from tabulate import tabulate

from fuzzer.store.records import FindingRecord
from fuzzer.store.writer import Store, StoreError
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

Finding = dict[str, object]


def campaign(ref: PassRef, time: str, workers: int, seed: int, oracle: OracleName | None) -> list[Finding]:
    """The findings of a campaign on one user's pass, first seen first; stopped once ``oracle`` found something."""
    program = Path(sys.executable).parent / "relaxfuzz"
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "campaign"
        target = ref.target
        bounds = ["--time", time, "--workers", str(workers), "--seed", str(seed)]
        running = subprocess.Popen(
            [str(program), "run", "--pass", target, *bounds, "--out", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        while running.poll() is None:
            sleep(0.5)
            if oracle is not None and any(found.oracle == oracle for found in recorded(out)):
                running.send_signal(signal.SIGINT)
                break
        _, said = running.communicate()
        if running.returncode:
            raise SystemExit(f"relaxfuzz run --pass {target} exited {running.returncode}: {said[-500:]}")
        found = [finding.to_object() for finding in recorded(out)]
    return sorted(found, key=lambda finding: float(str(finding["first_seen_seconds"])))


def recorded(directory: Path) -> list[FindingRecord]:
    """What a running campaign has recorded so far."""
    try:
        with Store.open(directory) as store:
            return store.findings()
    except StoreError:
        return []  # it has not begun yet


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", default="60s", help="budget for each planted bug")
    parser.add_argument("--clean-time", default="5m", help="budget for each clean pass; 0 leaves them out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="regular expression on FILE:FACTORY")
    options = parser.parse_args()
    rows = []
    bad = 0
    for planted in (planted for planted in PLANTED if re.search(options.only, planted.id)):
        found = campaign(planted.ref(), options.time, options.workers, options.seed, planted.oracle)
        mine = [finding for finding in found if finding["oracle"] == str(planted.oracle)]
        others = sorted({str(finding["oracle"]) for finding in found} - {str(planted.oracle)})
        first = f"{float(str(mine[0]['first_seen_seconds'])):.1f}" if mine else ""
        bad += not mine
        rows.append((planted.id, "yes" if mine else "NO", first, str(planted.oracle), ", ".join(others)))
        print(f"{planted.id}: {'found after ' + first + ' s' if mine else 'NOT FOUND'}", file=sys.stderr, flush=True)
    for ref in CLEAN if options.clean_time != "0" and not options.only else ():
        found = campaign(ref, options.clean_time, options.workers, options.seed, None)
        bad += bool(found)
        rows.append((f"clean.py:{ref.name}", f"{len(found)} findings", "", "none", ""))
    print(tabulate(rows, headers=("planted", "found", "seconds to first finding", "oracle", "other oracles")))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
