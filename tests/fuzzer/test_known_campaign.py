"""A campaign that meets a known defect all the time: it is cut short, counted, and looked into by nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuzzer.store.writer import FindingState, Store
from oracles.core.verdict import CUT_SHORT

PROGRAM = Path(sys.executable).parent / "relaxfuzz"
MUTATION = "0cb85ea080"
"""UpdateVDevice writes into its input: docs/audit.md."""


def test_a_known_defect_takes_little_of_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(f'[[known]]\nid = "{MUTATION}"\nreference = "issue 7"\nreason = "w"\n')
    command = (
        f"{PROGRAM} run --passes UpdateVDevice --oracles crash,mutation,postcondition --max-examples 24 --workers 1 "
        "--seed 3 --out c --known known.toml"
    )
    done = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "c") as store:
        (finding,) = [each for each in store.findings() if each.id == MUTATION]
        tallies, cost = store.tallies(), store.costs()[MUTATION]
    assert (finding.state, finding.note, finding.minimized) == (
        FindingState.KNOWN,
        "known on your list (known.toml): issue 7",
        None,
    )
    skipped = {each.oracle: each.count for each in tallies if each.reason == CUT_SHORT}
    assert skipped == {"postcondition": finding.count}
    assert cost.triage == 0
    assert cost.judging > 0
    assert f"Findings known at the start: 1, found {finding.count} times, took " in done.stdout
