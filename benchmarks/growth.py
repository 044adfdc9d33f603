"""Growth of what campaigns see, and whether one way of drawing beats another at equal time.

    python benchmarks/growth.py [--seconds 300] [--seeds 5] [--first 1] [--workers 1]
                                [--passes NAME,NAME] [--oracles NAME,NAME] [--json] [--against FILE]

For each seed a campaign runs for so many seconds of processor time of all its processes together (wall time says as
much on an idle machine, and nothing on a busy one).  Counted over time are distinct pairs of operators, operators with
dtype and rank of an operand, rewrites by pass, signatures of findings, blocks of the compiler where they are watched
(benchmarks/guidance.py), and families as far as a verdict alone tells them.  Findings are not looked into: triage
would take the time of some campaigns and not of others.

``--against`` names what ``--json`` printed for another checkout or another way of drawing.  The table then gives
medians of both over the seeds, the two-sided p of the Mann-Whitney test, and A12: the chance that a campaign of this
run is ahead of one of the other.  So guidance and a budget that follows the yield were measured before they were
removed (docs/endurance.md).
"""

from __future__ import annotations

import io
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared import arguments
from shared.ranks import a12, mann_whitney
from shared.untriaged import Untriaged, processor_seconds
from tabulate import tabulate

from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.campaign.setup import guide_of, open_campaign, pass_names
from fuzzer.core.config import Config, parse_oracles
from fuzzer.core.installed import installed
from fuzzer.findings.family import family
from fuzzer.store.records import FindingState, ShardResult
from relaxkit.passes.contract import OracleName

POINTS = 10
"""Points of a curve."""
MEASURES = ("pairs", "operands", "rewrites", "findings", "blocks", "families", "modules", "cases")
SHOWN = (0.25, 0.5, 1.0)
"""Shares of the time that the table shows."""


class Recorder(Progress):
    """Counts what a campaign has seen, by processor time; ends it once that is ``until``."""

    def __init__(self, config: Config, until: float) -> None:
        super().__init__(config, io.StringIO())
        self.campaign: Campaign | None = None
        self.points: list[dict[str, float]] = []
        self._until = until
        self._sets: dict[str, set[Any]] = {name: set() for name in MEASURES[:6]}
        self._modules = self._cases = 0

    def shard(self, result: ShardResult, fresh: list[str]) -> None:
        """Count a piece of a shard."""
        coverage = result.coverage
        for name, more in (
            ("pairs", coverage.pairs), ("operands", coverage.operands), ("rewrites", coverage.rewrites),
            ("findings", result.hits), ("blocks", result.reached),
        ):  # fmt: skip
            self._sets[name].update(more)
        for finding_id in fresh:
            self._sets["families"].add(family(result.hits[finding_id].verdict).id)
        self._modules += result.modules
        self._cases += result.examples
        spent = processor_seconds()
        counts = {name: len(found) for name, found in self._sets.items()}
        self.points.append({"seconds": spent, **counts, "modules": self._modules, "cases": self._cases})
        if spent >= self._until and self.campaign is not None:
            self.campaign.stop()

    def triaged(self, finding_id: str, state: FindingState) -> None:
        """Nothing is triaged."""

    def curve(self, base: float) -> list[dict[str, float]]:
        """What had been seen at each point, after ``base`` seconds that were spent before."""
        curve = []
        for number in range(1, POINTS + 1):
            until = base + (self._until - base) * number / POINTS
            past = [point for point in self.points if point["seconds"] <= until]
            last = past[-1] if past else dict.fromkeys(MEASURES, 0)
            curve.append({"seconds": until - base, **{name: last[name] for name in MEASURES}})
        return curve


def run(config: Config, seconds: float) -> list[dict[str, float]]:
    """The growth curve of one campaign."""
    with (
        tempfile.TemporaryDirectory(prefix="relaxfuzz-growth-") as folder,
        open_campaign(Path(folder) / "campaign", config, installed()).store as store,
    ):
        base = processor_seconds()
        recorder = Recorder(config, base + seconds)
        recorder.campaign = Untriaged(store, config, recorder, guide=guide_of(store, config))
        recorder.campaign.run()
    return recorder.curve(base)


Curve = list[dict[str, float]]


def compare(curves: list[Curve], others: list[Curve]) -> list[dict[str, Any]]:
    """A row for each measure and moment shown: medians, p and A12; those of one run alone where there are no others."""
    rows = []
    for measure in MEASURES:
        for share in SHOWN:
            point = max(1, round(share * POINTS)) - 1
            mine, theirs = ([curve[point][measure] for curve in each] for each in (curves, others))
            row: dict[str, Any] = {"measure": measure, "seconds": curves[0][point]["seconds"]}
            row["median"] = statistics.median(mine)
            if theirs:
                row |= {"other": statistics.median(theirs), "p": mann_whitney(mine, theirs), "a12": a12(mine, theirs)}
            rows.append(row)
    return rows


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument(
        "--seconds", type=arguments.positive, default=300.0, help="processor time of a campaign (default: 300)"
    )
    parser.add_argument("--seeds", type=arguments.count, default=5, help="campaigns (default: 5)")
    parser.add_argument("--first", type=arguments.whole, default=1, help="the first seed (default: 1)")
    parser.add_argument("--workers", type=arguments.count, default=1, help="workers of a campaign (default: 1)")
    parser.add_argument(
        "--passes", type=arguments.passes, help="names, separated by commas (default: all under contract)"
    )
    parser.add_argument(
        "--oracles",
        type=arguments.by(parse_oracles),
        default=tuple(OracleName),
        help="names, separated by commas (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the curves")
    parser.add_argument("--against", type=arguments.document("curves"), help="what --json printed of another run")
    options = parser.parse_args()
    names = options.passes or pass_names()
    others = options.against["curves"] if options.against else []
    curves: list[Curve] = []
    for seed in range(options.first, options.first + options.seeds):
        curves.append(run(Config(seed, names, (), options.oracles, None, 1e6, options.workers), options.seconds))
        print(f"seed {seed}: {curves[-1][-1]}", file=sys.stderr, flush=True)
    rows = compare(curves, others)
    if options.json:
        print(json.dumps({"rows": rows, "curves": curves}))
        return
    heads = {"measure": "distinct", "seconds": "after s", "median": "median", "other": "other", "p": "p", "a12": "A12"}
    print(tabulate(rows, headers=heads, floatfmt=("", ".0f", ".0f", ".0f", ".3f", ".2f")))


if __name__ == "__main__":
    main()
