"""A made-up campaign, with hostile names, as plain records."""

from pathlib import Path

import pytest
from sample_findings import HOSTILE, finding

from fuzzer.store.known import ordered
from fuzzer.store.writer import CampaignInfo, CampaignState, FindingState, Tally
from oracles.core.verdict import Outcome
from reports.tables import Report


@pytest.fixture
def report() -> Report:
    info = CampaignInfo(
        seed=7,
        started_at="2026-01-01T00:00:00+00:00",
        elapsed_seconds=605.0,
        examples=1234,
        modules=300,
        workers=2,
        tvm_version="0.27.0.post1",
        ffi_version="0.1.14.post1",
        passes=("FuseOps", "LegalizeOps", "Normalize"),
        oracles=("crash", "numeric"),
        state=CampaignState.FINISHED,
        budget_text="10m",
    )
    crash, numeric = "crash", "numeric"
    tallies = [
        Tally(crash, "FuseOps", Outcome.PASS.value, "", 90),
        Tally(crash, "FuseOps", Outcome.FAIL.value, "", 10),
        Tally(crash, "LegalizeOps", Outcome.PASS.value, "", 100),
        Tally(crash, "LegalizeOps", Outcome.REJECT.value, "one dataflow block only", 4),
        Tally(crash, "Normalize", Outcome.FAIL.value, "", 2),
        Tally(numeric, "FuseOps", Outcome.PASS.value, "", 50),
        Tally(numeric, "FuseOps", Outcome.SKIP.value, "pass changed nothing", 7),
        Tally(numeric, "LegalizeOps", Outcome.SKIP.value, HOSTILE, 3),
        Tally(numeric, "LegalizeOps", Outcome.INVALID.value, "harness error: KeyError", 1),
    ]
    findings = [
        finding(3, "Normalize", FindingState.KNOWN, crash, "accepted", 2),
        finding(2, "FuseOps", FindingState.FLAKY, crash, "now and then", 1),
        finding(1, "FuseOps", FindingState.CONFIRMED, crash, f"{HOSTILE}\nsecond line", 9),
    ]
    return Report(Path("campaign"), info, tallies, ordered(findings), {"if": 3})
