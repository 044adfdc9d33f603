"""Whether a change of this program's own code changes what it says: verdicts, signatures and scripts of fixed cases.

    python benchmarks/verdicts.py --record FILE [--scripts]
    python benchmarks/verdicts.py --compare FILE [--scripts]

Judges 24 shards of three seeds over all passes, and the whole corpus, and records the tallies, the signatures and, with
``--scripts``, the outcome of each signature's script.  A restructuring gives the same record; a change that is meant
names each difference.  Exits 1 on a difference.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from shared import arguments

from corpus.case import load
from corpus.check import check_cases
from fuzzer.campaign.setup import pass_names
from fuzzer.core.config import Config
from fuzzer.findings.script_parts import RenderedScript
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.repro.run import check_repro
from fuzzer.shard.run import run_isolated
from fuzzer.shard.shard import SHARD_EXAMPLES, ShardTask
from fuzzer.store.records import ShardResult, SignatureHits
from fuzzer.triage.script import LONG
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName

SEEDS = (11, 23, 47)
SHARDS = 8
SHOWN = 40
"""Differences that are printed."""


def shard_record(seed: int, number: int, scripts: bool) -> dict[str, Any]:
    """Judge one shard: the count of each tally and signature, and the outcome of each signature's script."""
    config = Config(seed, pass_names(), (), tuple(OracleName), None, 1.0, 1)
    record: dict[str, Any] = {}
    stop = threading.Event()
    with IsolatedWorker() as worker:
        first = 0
        while first < SHARD_EXAMPLES:
            result = run_isolated(worker, ShardTask(config, number, first), stop)
            add(record, result, worker if scripts else None)
            if result.stop <= first:
                break
            first = result.stop
    return record


def add(record: dict[str, Any], result: ShardResult, worker: IsolatedWorker | None) -> None:
    """Add a piece of a shard."""
    for key, count in result.tallies.items():
        name = "tally " + " | ".join(map(str, key))
        record[name] = record.get(name, 0) + count
    for name, hit in result.hits.items():
        key = f"signature {name}"
        if key in record:
            record[key][0] += hit.count
        else:
            outcome = "" if worker is None else script_outcome(hit, worker)
            record[key] = [hit.count, _plain(hit.signature.text), outcome]


def script_outcome(hit: SignatureHits, worker: IsolatedWorker) -> str:
    """Run the script of a sighting, not minimized: the first word of what it says."""
    script = Judge(worker, ()).ask(LONG, hit.case, hit.verdict, hit.signature.text)
    if not isinstance(script, RenderedScript):
        return "no script"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repro.py"
        path.write_text(script.text, encoding="utf-8")
        return check_repro(path).said.partition(":")[0]


def _plain(text: str) -> str:
    """Take out addresses, which no two runs share."""
    return re.sub(r"0x[0-9a-f]+", "@", text)


def corpus_record() -> dict[str, Any]:
    """Judge the whole corpus: what is observed of each case."""
    return {
        f"case {result.case.slug} {result.run}": _plain(result.text.splitlines()[0]) for result in check_cases(load())
    }


def measure(scripts: bool) -> dict[str, dict[str, Any]]:
    """Make the whole record; two shards at a time."""
    pairs = [(seed, number) for seed in SEEDS for number in range(SHARDS)]
    with ThreadPoolExecutor(2) as threads:
        records = list(threads.map(lambda pair: shard_record(*pair, scripts), pairs))
    everything = {f"seed {seed} shard {number}": each for (seed, number), each in zip(pairs, records, strict=True)}
    everything["corpus"] = corpus_record()
    return everything


def differences(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> list[str]:
    """Compare two records: a line for each difference."""
    lines = []
    for place in sorted(old.keys() | new.keys()):
        before, after = old.get(place, {}), new.get(place, {})
        for key in sorted(before.keys() | after.keys()):
            was, now = before.get(key), after.get(key)
            if isinstance(was, list) and isinstance(now, list) and not (was[2] and now[2]):
                was, now = was[:2], now[:2]  # scripts were run for one of the two only
            if was != now:
                lines.append(f"{place}: {key}: {was} -> {now}")
    return lines


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--record", type=arguments.output, metavar="FILE", help="write what is said now")
    parser.add_argument("--compare", type=arguments.document(), metavar="FILE", help="compare with what was written")
    parser.add_argument("--scripts", action="store_true", help="run the scripts, too")
    options = parser.parse_args()
    new = measure(options.scripts)
    if options.record is not None:
        options.record.write_text(json.dumps(new, indent=1, sort_keys=True), encoding="utf-8")
    if options.compare is not None:
        lines = differences(options.compare, new)
        for line in lines[:SHOWN]:
            print(line)
        print(f"{len(lines)} differences")
        sys.exit(bool(lines))


if __name__ == "__main__":
    main()
