"""What would a budget that follows the yield have found?  Recorded campaigns, replayed by their own frequencies.

    python benchmarks/budget_replay.py DIR... [--hours 1] [--workers 2] [--runs 12] [--by cases|seconds]

Each finding comes at random, as often for a case of its pass as it did in the campaigns (several are taken together);
what they did not meet is estimated for each pass from what they met once and twice (Chao's estimate).  Each pass takes
its own time for a case, each finding the mean time of triage.  The same is replayed with even shares and with those of
``fuzzer.budget``, which count a pass's cases; ``--by seconds`` shows what counting its seconds would give.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.allotment import PIPELINE
from fuzzer.budget import EVEN_SHARE, Account, Yield
from fuzzer.drawing import SHARD_EXAMPLES
from fuzzer.pool import EPOCH_SHARDS, LAG
from fuzzer.stopwatch import TRIAGE
from fuzzer.store import Store

EPOCH = SHARD_EXAMPLES * EPOCH_SHARDS
"""Cases in an epoch."""


@dataclass(slots=True)
class Past:
    """What campaigns recorded: cases and seconds by pass, sightings by pass and finding, how long triage took."""

    cases: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    sightings: dict[str, Counter[str]] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)
    findings: int = 0
    triage: float = 0.0

    def add(self, directory: Path) -> None:
        """Take one more campaign in."""
        with Store.open(directory) as store:
            self.cases.update(store.coverage().judged)
            for (step, judged), seconds in store.timeline().spent.items():
                if step == TRIAGE:
                    self.triage += seconds
                else:
                    self.seconds[judged] = self.seconds.get(judged, 0.0) + seconds
            for finding in store.findings():
                self.findings += 1
                passes = finding.case.passes
                judged = PIPELINE if len(passes) > 1 else passes[0].name
                self.sightings.setdefault(judged, Counter())[finding.id] += finding.count
                self.families[finding.id] = finding.family.id

    def rates(self) -> dict[str, tuple[str, float]]:
        """By finding: its pass, and sightings a case; those that nobody has met included."""
        rates = {}
        for judged, counts in self.sightings.items():
            met = {name: count for name, count in counts.items() if count}
            rates.update({name: (judged, count / self.cases[judged]) for name, count in met.items()})
            once, twice = (sum(count == number for count in met.values()) for number in (1, 2))
            unseen = round(once * (once - 1) / (2 * (twice + 1)))
            rates.update({f"{judged} {k}": (judged, once / unseen / self.cases[judged]) for k in range(unseen)})
        return rates


def replay(past: Past, follows: bool, by_seconds: bool, seconds: float, seed: int) -> tuple[int, int, int, int]:
    """Signatures, families, cases, and cases of the pass with fewest, after ``seconds`` of workers."""
    chance, total = random.Random(seed), past.cases.total()
    even = {name: EPOCH * count / total for name, count in past.cases.items()}
    cost = {name: past.seconds.get(name, 0.0) / count for name, count in past.cases.items()}
    mean = sum(even[name] * cost[name] for name in even) / EPOCH
    triage = past.triage / past.findings
    account, spent = Account(), 0.0
    found: set[str] = set()
    shares: list[dict[str, int]] = [{}] * LAG
    left, tried = past.rates(), Counter[str]()
    names = [name for name in even if name != PIPELINE]
    for epoch in range(10**6):
        weights = {
            name: even[name] * (shares[epoch].get(name, EVEN_SHARE) if follows else EVEN_SHARE) for name in names
        }
        scale = sum(even[name] for name in names) / sum(weights.values())
        cases = {name: weight * scale for name, weight in weights.items()} | {PIPELINE: even.get(PIPELINE, 0.0)}
        shown = {
            name: judged
            for name, (judged, rate) in left.items()
            if chance.random() < -math.expm1(-rate * cases[judged])
        }
        takes = (
            past.seconds.get("", 0.0) / total * EPOCH
            + sum(cases[name] * cost[name] for name in even)
            + triage * len(shown)
        )
        part = min(1.0, (seconds - spent) / takes)
        spent += takes
        found.update(name for name in shown if chance.random() < part)
        tried.update({name: round(part * count) for name, count in cases.items()})
        if part < 1.0:
            break
        left = {name: rate for name, rate in left.items() if name not in shown}
        told = {name: count * (cost[name] / mean if by_seconds else 1.0) for name, count in cases.items()}
        account = account.after([Yield({name: round(count) for name, count in told.items()}, shown)])
        shares.append(account.shares(names))
    families = {past.families.get(name, name) for name in found}
    return len(found), len(families), tried.total(), min(tried[name] for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--hours", type=float, default=1.0, help="wall time (default: 1)")
    parser.add_argument("--workers", type=int, default=2, help="workers (default: 2)")
    parser.add_argument("--runs", type=int, default=12, help="replays of each kind (default: 12)")
    parser.add_argument("--by", choices=("cases", "seconds"), default="cases", help="what is counted as spent")
    options = parser.parse_args()
    past = Past()
    for directory in options.campaigns:
        past.add(directory)
    for kind in ("even", "yield"):
        seconds = 3600 * options.hours * options.workers
        runs = [replay(past, kind == "yield", options.by == "seconds", seconds, seed) for seed in range(options.runs)]
        words = ("signatures", "families", "cases", "cases of the pass with fewest")
        columns = zip(words, zip(*runs, strict=True), strict=True)
        print(
            kind, *(f"{word} {statistics.mean(each):.1f} (sd {statistics.stdev(each):.1f})" for word, each in columns)
        )


if __name__ == "__main__":
    main()
