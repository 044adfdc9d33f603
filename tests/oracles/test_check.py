from __future__ import annotations

import buggy_passes as buggy
import pytest
import sample_modules as samples
from structural import STRUCTURAL
from tvm import relax

from oracles import OracleFailure, OracleName, check
from oracles.check import _known, summary, title
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import Contract


def test_returns_verdicts_when_all_is_well() -> None:
    verdicts = check(samples.dataflow(), relax.transform.DeadCodeElimination(), oracles=STRUCTURAL)
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASS}
    assert [verdict.oracle for verdict in verdicts] == sorted(STRUCTURAL, key=list(_ORDER).index)


_ORDER = (
    OracleName.CRASH,
    OracleName.MUTATION,
    OracleName.WELL_FORMED,
    OracleName.DETERMINISM,
    OracleName.SEQUENTIAL,
    OracleName.IDEMPOTENCE,
    OracleName.POSTCONDITION,
    OracleName.ROUNDTRIP,
    OracleName.LOCALITY,
    OracleName.ENVIRONMENT,
)


def test_raises_with_the_evidence() -> None:
    with pytest.raises(OracleFailure, match=r"crash fail: raises\n  ValueError: odd") as caught:
        check(samples.dataflow(), buggy.raises(ValueError("odd")).given, oracles=STRUCTURAL)
    assert isinstance(caught.value, AssertionError)
    assert len(caught.value.verdicts) == len(STRUCTURAL)


def test_given_contract_and_own_contract_count() -> None:
    strict = Contract("counts_runs")
    appends = buggy.appends_mark(strict)
    with pytest.raises(OracleFailure, match="idempotence fail"):
        check(samples.dataflow(), appends.given, oracles=[OracleName.IDEMPOTENCE])
    plain = buggy.appends_mark(None)
    with pytest.raises(OracleFailure, match="idempotence fail"):
        check(samples.dataflow(), plain.given, oracles=[OracleName.IDEMPOTENCE], contract=strict)


def test_chosen_oracles_only() -> None:
    verdicts = check(samples.dataflow(), relax.transform.Normalize(), oracles=[OracleName.MUTATION])
    assert [verdict.oracle for verdict in verdicts] == [OracleName.MUTATION]


def test_no_pass_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one pass"):
        check(samples.dataflow())


def test_people_read_plain_words_and_either_form_is_accepted_as_known() -> None:
    evidence = Evidence("signature", "a public function has another return type")
    failure = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "Mine", evidence=evidence)
    assert summary(failure) == "well-formed: Mine: signature: the return type of a public function changes"
    assert title(failure) == "well-formed: Mine: signature: a public function has another return type"
    for known in (summary(failure), title(failure)):
        assert _known(failure, (known,)).reason == "known"
