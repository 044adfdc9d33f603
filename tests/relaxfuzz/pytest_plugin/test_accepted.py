"""Which failures the tests accept by ``findings.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.findings.family import Traits, family
from fuzzer.findings.signature import signature
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxfuzz.pytest_plugin.accepted import load_accepted
from relaxkit.passes.contract import OracleName


def failing(message: str) -> Verdict:
    evidence = Evidence("InternalError", message, (), "a module", "an error")
    return Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=evidence)


FAILURE, OTHER = failing("the first is wrong"), failing("something else")
FAMILY = family(FAILURE, Traits(FAILURE.culprit)).id
WHY = 'reference = "here"\nreason = "a test"\n'


@pytest.mark.parametrize(
    ("entry", "accepted"),
    [
        (f'id = "{signature(FAILURE).id}"\n', True),
        (f'family = "{FAMILY}"\n', True),
        (f'family = "{FAMILY}"\ntvm = "<0.1"\n', False),
        ('family = "F000000000"\n', False),
        (f'family = "F000000001"\n\n[[merge]]\ninto = "F000000001"\nids = ["{FAMILY}"]\nreason = "one"\n', True),
    ],
)
def test_a_failure_is_accepted_by_id_or_family(tmp_path: Path, entry: str, accepted: bool) -> None:
    file = tmp_path / "findings.toml"
    file.write_text(f"[[known]]\n{WHY}{entry}")
    found = load_accepted(file)
    assert found.holds(FAILURE) is accepted
    assert not found.holds(OTHER)
