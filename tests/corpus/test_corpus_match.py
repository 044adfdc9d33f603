"""Findings against the cases of the corpus, as functions and from the command line."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from test_corpus_add import FUSE, campaign, failure

from corpus.case import load
from corpus.findings import match
from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.findings.family import Skeleton, Traits
from fuzzer.findings.signature import signature
from fuzzer.store.records import FindingRecord, FindingState
from oracles.core.verdict import Evidence
from relaxkit.passes.pass_ref import PassRef

FOUND = FindingRecord(
    id="abc0000001",
    signature="",
    oracle="crash",
    culprit="MergeCompositeFunctions",
    evidence=Evidence("InternalError", "Do not have a default for relax.expr.If"),
    count=3,
    state=FindingState.CONFIRMED,
    first_seen_seconds=0.0,
    last_seen_seconds=0.0,
    case=Case("{}", (FUSE,), 0),
    minimized=None,
    bindings=None,
    repro=None,
    note="",
)


def test_oracle_pass_and_pattern_must_agree() -> None:
    cases = load(["merge-composite-if", "merge-composite-match-cast", "fuse-ops-branch"])
    (found,) = match([FOUND], cases)
    assert [case.slug for case in found.cases] == ["merge-composite-if"]
    for other in (
        replace(FOUND, oracle="numeric"),
        replace(FOUND, culprit="FuseOps", case=Case("{}", (PassRef("FuseOps", "relax.transform.FuseOps()"),), 0)),
        replace(FOUND, evidence=Evidence("", "x")),
    ):
        (found,) = match([other], cases)
        assert found.cases == found.possible == ()


def test_a_case_without_a_pattern_only_may_be_it() -> None:
    (case,) = load(["merge-composite-if"])
    silent = msgspec.structs.replace(case, pattern="")
    (found,) = match([replace(FOUND, evidence=Evidence("", "anything"))], [silent])
    assert (found.cases, found.possible) == ((), (silent,))


def test_many_operators_and_many_findings_are_matched_in_time() -> None:
    cases = load()
    many = replace(FOUND, traits=Traits("", Skeleton(tuple(map(str, range(200_000))))))
    match([FOUND], cases)
    begun = time.process_time()
    match([many], cases)
    match([replace(FOUND, culprit="no such pass", case=Case("{}", (PassRef("B", "b"),), 0))] * 5_000, cases)
    assert time.process_time() - begun < 2


def test_a_frame_may_hold_the_pattern() -> None:
    (case,) = load(["merge-composite-if"])
    framed = msgspec.structs.replace(case, pattern="merge.cc:Visit")
    (found,) = match([replace(FOUND, evidence=Evidence("InternalError", "x", ("merge.cc:Visit",)))], [framed])
    assert found.cases == (framed,)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = campaign(tmp_path, "merge-composite-if", FUSE, "crash")  # its message is "m"
    assert main(["corpus", "match", str(directory)]) == 0
    assert "1 findings, 0 match a case of the corpus" in capsys.readouterr().out
    assert main(["corpus", "match", str(directory), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["id"] == signature(failure(FUSE, "crash")).id
    assert (row["pass"], row["cases"]) == ("MergeCompositeFunctions", [])


def test_no_campaign_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "match", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"relaxfuzz: error: '{tmp_path}' contains no campaign (no campaign.sqlite)\n"


def test_a_function_that_several_passes_call_is_matched_whichever_called_it() -> None:
    cases = load(["dpl-attributes-of-none"])
    said = "Check failed: (type_info->metadata != nullptr) is false: Type None do not have reflection metadata"
    shared = Evidence("InternalError", said, ("src/relax/ir/dataflow_matcher.cc:relax::MatchAttrs",))
    (found,) = match([replace(FOUND, evidence=shared)], cases)
    assert found.cases == tuple(cases)
    own = replace(shared, frames=("src/relax/transform/fuse_ops.cc:relax::MatchAttrs",))
    inferred = replace(shared, frames=("src/relax/op/op_common.cc:relax::MatchAttrs",))
    for other in (own, inferred, replace(shared, frames=())):
        assert match([replace(FOUND, evidence=other)], cases)[0].cases == (), "what the pass has made may be at fault"


def test_what_is_at_fault_is_matched_like_the_judged_pass() -> None:
    cases = load(["merge-composite-if"])
    other = replace(FOUND, culprit="FuseOps", case=Case("{}", (PassRef("FuseOps", "relax.transform.FuseOps()"),), 0))
    assert match([other], cases)[0].cases == ()
    assert match([replace(other, assessed=replace(other.assessment, blame=FOUND.culprit))], cases)[0].cases


def test_the_numbers_of_variables_tell_no_cases_apart() -> None:
    (case,) = load(["dpl-module-splits-block"])
    passes = (PassRef("PatternMatchingRewriter", case.passes[0].expression),)
    evidence = Evidence("ill-formed", "DataflowVar lv18 is not defined.")
    finding = replace(
        FOUND, oracle="well-formed", culprit=passes[0].name, case=Case("{}", passes, 0), evidence=evidence
    )
    assert match([finding], [case])[0].cases == (case,)


def test_a_wrong_value_without_the_operators_of_a_case_is_not_of_it() -> None:
    (case,) = load(["inplace-calls-tuple"])  # exp, multiply, add
    finding = replace(
        FOUND, oracle="numeric", culprit="DataflowUseInplaceCalls", evidence=Evidence("wrong-value", "2.0, not 1.0"),
        case=Case("{}", case.passes, 0),
    )  # fmt: skip
    for operators, cases in ((("add", "exp"), (case,)), (("add", "grad.start_checkpoint"), ())):
        found = replace(finding, traits=Traits("DataflowUseInplaceCalls", Skeleton(operators)))
        assert match([found], [case])[0].cases == cases
