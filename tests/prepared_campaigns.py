"""Campaigns for the tests of the gate, written into real stores as a campaign writes them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from fuzzer.core.case import Case
from fuzzer.core.coverage import Coverage
from fuzzer.findings.signature import signature
from fuzzer.store.records import FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASSES = ("FuseOps", "LegalizeOps")
ORACLES = ("crash", "numeric")
Tallies = dict[tuple[str, str, str, str], int]

CLEAN: Tallies = {
    ("crash", "FuseOps", "pass", ""): 1000,
    ("crash", "LegalizeOps", "pass", ""): 1000,
    ("numeric", "FuseOps", "pass", ""): 600,
    ("numeric", "FuseOps", "skip", "pass changed nothing"): 400,
    ("numeric", "LegalizeOps", "pass", ""): 900,
    ("numeric", "LegalizeOps", "skip", "original does not build"): 90,
    ("numeric", "LegalizeOps", "reject", "new types do not fit"): 10,
}
TRIGGERS = {"FuseOps": (1000, 600), "LegalizeOps": (1000, 950)}


def failure(message: str, culprit: str = "FuseOps", oracle: OracleName = OracleName.CRASH) -> Verdict:
    """A verdict that fails; its signature follows from the message."""
    return Verdict(oracle, Outcome.FAIL, culprit, evidence=Evidence("InternalError", message, ("src/a.cc:F",)))


def finding_id(message: str, culprit: str = "FuseOps", oracle: OracleName = OracleName.CRASH) -> str:
    """Id of the finding of such a verdict."""
    return signature(failure(message, culprit, oracle)).id


def campaign(
    directory: Path,
    tallies: Tallies,
    failures: dict[str, int] | None = None,
    triggers: dict[str, tuple[int, int]] | None = None,
    state: FindingState = FindingState.CONFIRMED,
    lines: dict[tuple[str, int], bool] | None = None,
    **meta: str,
) -> Path:
    """A finished campaign.

    Args:
        directory: Where.
        tallies: What the oracles said, without failures.
        failures: Crashes of FuseOps by message, with their number; each is triaged.
        triggers: By pass, judged and changed modules.
        state: Of the findings, after triage.
        lines: Of users' passes, by file and line, and whether they ran.
        meta: Facts of the campaign that differ from the usual.
    """
    found = failures or {}
    counts = Counter(tallies)
    hits = {}
    for index, (message, count) in enumerate(found.items()):
        verdict = failure(message)
        counts["crash", "FuseOps", "fail", ""] += count
        case = Case("{}", (PassRef("FuseOps", "relax.transform.FuseOps()"),), 3)
        hits[signature(verdict).id] = SignatureHits.of(signature(verdict), verdict, case, index, count)
    acted = TRIGGERS if triggers is None else triggers
    coverage = Coverage(
        judged=Counter({name: judged for name, (judged, _) in acted.items()}),
        changed=Counter({name: changed for name, (_, changed) in acted.items()}),
    )
    examples = sum(judged for judged, _ in acted.values())
    result = ShardResult(0, 0, max(1, examples), examples, examples // 4, 0, +counts, hits, coverage, lines=lines or {})
    facts = {
        "seed": "7", "passes": json.dumps(PASSES), "oracles": json.dumps(ORACLES), "tvm_version": "0.27.0.post1",
        "ffi_version": "0.1.14.post1", "workers": "2", "budget": "600 s", "state": "finished", **meta,
    }  # fmt: skip
    with Store.create(directory, facts) as store:
        store.record_shard(result, 600.0)
        for each in hits:
            store.save_triage(each, state, None, 2, f"repros/{each}.py", "came back in 2 of 3 runs")
    return directory
