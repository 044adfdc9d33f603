"""A campaign whose budget follows the yield, for tests; as a program, one that may be killed: ``budgeted.py OUT``."""

from __future__ import annotations

import sys
from pathlib import Path

from fuzzer.budget import Budget
from fuzzer.campaign import Campaign
from fuzzer.config import Config
from fuzzer.environment import installed
from fuzzer.known import KnownFindings
from fuzzer.preparation import open_campaign
from fuzzer.progress import Progress
from oracles.verdict import OracleName

PASSES = (
    "CanonicalizeBindings", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant", "FuseOps", "Gradient",
    "InlinePrivateFunctions", "LambdaLift", "LazyGetInput", "LegalizeOps", "LiftTransformParams",
    "MergeCompositeFunctions", "Normalize", "ToMixedPrecision", "UpdateParamType", "UpdateVDevice",
)  # fmt: skip
"""More than a module is tried under, so that it is drawn which; some of them fail often."""
EXAMPLES = 64 * 7


class Untriaged(Campaign):
    """Looks into no finding, which takes more time than to find it."""

    def _next_triage(self, shards_left: bool) -> str | None:
        return None


def config(workers: int, budget: Budget = Budget.YIELD) -> Config:
    """Of a campaign whose epochs are one shard."""
    oracles = (OracleName.CRASH, OracleName.WELL_FORMED)
    return Config(5, PASSES, (), oracles, EXAMPLES, None, workers, epoch=1, budget=budget)


def run(out: Path, config: Config, known: KnownFindings | None = None) -> str:
    """Run it, or go on with it."""
    with open_campaign(out, config, installed()).store as store:
        return Untriaged(store, config, Progress(config), known).run()


if __name__ == "__main__":
    run(Path(sys.argv[1]), config(2))
