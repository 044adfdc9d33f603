"""What somebody has read is known, by id, or by family under another id; what only fails in the same words is not."""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from generated_lists import bug_lists
from test_corpus_match import FOUND

from corpus import earlier, judgements
from corpus.earlier import audit_rows
from corpus.findings import recognize
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.family import Skeleton, Traits
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.store.known import KnownAs, as_reviewed, compared
from fuzzer.store.records import FindingRecord
from oracles.core.verdict import Details, Evidence
from relaxkit.passes.pass_ref import PassRef

sys.path.append(str(Path(__file__).parents[1] / "fuzzer"))
from labelled_failures import load  # what the families of the audit are recorded of

SHUFFLE = Evidence(
    "AttributeError",
    "module 'tvm.topi.nn' has no attribute 'pixel_shuffle'",
    ("relax/transform/legalize_ops/nn.py:_nn_pixel_shuffle",),
)
WRONG = Evidence("wrong-value", "0.964 instead of 0.9159")
SMALL = Case("{}", (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),), 0)


def told(finding: FindingRecord) -> KnownAs | None:
    return recognize([finding]).get(finding.id)


def wrong(*operators: str) -> FindingRecord:
    """A wrong value of LegalizeOps; of layer_norm it is judged under this id."""
    found = replace(FOUND, id="9b2d23c773", oracle="numeric", culprit="LegalizeOps", evidence=WRONG, minimized=SMALL)
    return replace(found, traits=Traits("LegalizeOps", Skeleton(operators)))


def test_what_was_judged_is_known_by_its_id_and_named_by_its_page() -> None:
    known = told(replace(FOUND, id="36d299b26b", culprit="FoldConstant", evidence=SHUFFLE))
    assert known is not None
    assert known.certain
    assert known.name in (
        "docs/upstream/36d299b26b.md",
        "corpus/judgements.toml: topi-nn-does-not-export-pixel-shuffle",
    )
    assert "in relaxfuzz's corpus but not reported upstream (" in known.line


def test_what_was_judged_a_defect_at_last_is_known_as_that() -> None:
    silent = replace(FOUND, id="fe3197c1f8", oracle="numeric", culprit="LambdaLift", minimized=SMALL)
    operators = next(each.operators for each in reversed(judgements.load()) if each.id == silent.id)
    known = told(replace(silent, traits=Traits("LambdaLift", Skeleton(operators or ()))))
    assert known is not None
    assert known.name == "docs/upstream/fe3197c1f8.md"
    assert known.cause is not None
    assert known.cause.reason == known.sentence


def test_what_the_audit_names_is_known_but_errors_of_ours_are_not() -> None:
    known = told(replace(FOUND, id="1cc3db89dc", culprit="LegalizeOps", evidence=Evidence("InternalError", "x")))
    assert known is not None
    assert known.name == "docs/audit.md"
    ours = next(row.id for row in bug_lists.load_audit().findings if row.whose == "ours")
    assert told(replace(FOUND, id=ours, culprit="NoPass", evidence=Evidence("InternalError", "x"))) is None


def test_a_cause_under_another_pass_is_known_by_its_family() -> None:
    found = replace(FOUND, id="0123456789", culprit="DecomposeOpsForTraining", evidence=SHUFFLE, minimized=SMALL)
    known = told(found)
    assert known is not None
    assert not known.certain
    assert known.line.startswith("perhaps known in relaxfuzz's corpus but not reported upstream (")
    assert told(replace(found, evidence=replace(SHUFFLE, message="module has no attribute 'new'"))) is None


def test_a_wrong_value_is_known_with_its_operators_alone() -> None:
    judged = told(wrong("nn.layer_norm"))
    assert judged is not None
    assert judged.certain
    assert told(wrong("vision.roi_align")) is None
    assert told(wrong()) is None
    assert told(replace(wrong("nn.layer_norm"), minimized=None)) is None, "nobody knows yet what it needs"


def test_families_that_the_audit_records_are_those_of_today() -> None:
    """The rule has changed where this fails: record them anew, from the labelled failures."""
    today = {name: each.family.id for each in load() for name in (each.id, each.exact)}
    recorded = [(row.id, row.family) for row in bug_lists.load_audit().findings if row.family]
    assert len(recorded) > 400
    assert recorded == [(name, today[name]) for name, _ in recorded]


def test_a_cause_in_a_pass_that_runs_the_same_code_is_perhaps_known_by_its_page() -> None:
    undefined = Evidence(
        "ill-formed", "Var m is not defined.", details=Details(subject="a symbolic dim of the function")
    )
    finding = replace(FOUND, oracle="well-formed", culprit="inline_functions", evidence=undefined)
    known = told(replace(finding, traits=Traits("inline_functions")))
    assert known is not None
    assert (known.name, known.certain) == ("docs/upstream/d9da36d663.md", False)
    assert known.sentence.startswith("FunctionInliner::InlinedCall binds only the parameters")
    assert told(replace(finding, culprit="Gradient", traits=Traits("Gradient"))) is None
    shown = Assessment(EvidenceClass.HARD, Severity.S4, "FuseTIR", grounds="it turns it into an ill-formed one")
    assert told(replace(finding, traits=Traits("inline_functions"), assessed=shown)) is None
    assert told(replace(finding, traits=Traits("inline_functions"), assessed=replace(shown, grounds=""))) is None


def test_what_another_pass_is_blamed_for_is_perhaps_known_by_its_title() -> None:
    """RealizeVDevice was blamed for what LegalizeOps failed with, under a title that readers had seen."""
    title = "RealizeVDevice changes the parameter x of f1 from no vdevice to vdevice llvm:0, but not its calls"
    parts = ScriptParts("", False, Words(title, "", ""))
    blamed = Assessment(EvidenceClass.HARD, Severity.S4, "RealizeVDevice", grounds="it fails behind it")
    finding = replace(FOUND, oracle="numeric", culprit="LegalizeOps", traits=Traits("LegalizeOps"), assessed=blamed)
    known = told(replace(finding, parts=parts))
    assert known is not None
    assert known.cause is not None
    assert (known.certain, known.cause.name) == (False, "vdevice-not-propagated-to-callers")
    assert told(finding) is None
    assert told(replace(finding, parts=parts, assessed=replace(blamed, blame="LegalizeOps"))) is None


def test_the_cause_is_of_the_judgement_of_what_is_blamed() -> None:
    """The cause told of LazyGetInput, and that of EliminateCommonSubexpr, whose finding had the same id."""
    assessed = {
        each: Assessment(EvidenceClass.HARD, Severity.S4, each) for each in ("LazyGetInput", "EliminateCommonSubexpr")
    }
    lazy, common = (
        told(replace(FOUND, id="d11b4af9d9", oracle="well-formed", culprit="LazyGetInput", assessed=each))
        for each in assessed.values()
    )
    assert lazy is not None
    assert common is not None
    assert lazy.cause is not None
    assert common.cause is not None
    assert (lazy.cause.name, common.cause.name) == (
        "lazy-get-input-emits-inside-local-function",
        "cse-local-function-scope-leak",
    )
    assert "eliminate_common_subexpr.cc" in common.cause.place


def test_issues_are_told_of_the_cause_and_not_of_what_readers_said_beside_it() -> None:
    """`By the rule S3, not S5`, `Loud`, `I tried` and what maintainers may argue stood in the text of issues."""
    defects = [each for each in judgements.load() if each.verdict == "defect"]
    asides = re.compile(
        r"\bS[1-5]\b|maintainers? (may|might|could)\b|By the rule|\bLoud\b"
        r"|\bI tried\b|\bClear\.|\bin the notes\b|^As [A-Z]"
    )
    assert sum(bool(asides.search(each.aside)) for each in defects) > 30
    assert [each.id for each in defects if asides.search(each.told.reason)] == []
    assert [row["id"] for row in audit_rows() if re.search(r"earlier audit|\bI tried\b", row.get("reason", ""))] == []


def test_a_finding_that_the_audit_names_has_the_title_of_its_program() -> None:
    """A row of the audit, `static producer fused with a kernel of ...`, was the title of its issue."""
    own = "FuseTIR fails: Inconsistent buffers"
    found = replace(FOUND, id="4962d456b0", culprit="FuseTIR", parts=ScriptParts("", False, Words(own, "", "")))
    known = recognize([found])
    assert known[found.id].certain
    assert [each.title for each in compared([found], known)] == [own]


def judged(verdict: str, title: str = "LegalizeOps fails") -> judgements.Judgement:
    return judgements.Judgement(
        campaign=1, id="abcdefabcd", title=title, verdict=verdict, blamed="LegalizeOps", severity="S3",  # type: ignore[arg-type]  # one of three
        operators=("abs",),
        judged_severity="S3", cause="a-cause", reason="It may be meant so.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "debatable"),
    [
        (["debatable"], True),
        (["defect", "debatable"], True),
        (["defect", "ours"], True),
        (["debatable", "defect", "defect"], False),
        (["defect"], False),
    ],
)
def test_what_as_many_readers_doubt_as_not_is_a_question(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[str], debatable: bool
) -> None:
    monkeypatch.setattr(judgements, "load", lambda: tuple(map(judged, verdicts)))
    monkeypatch.setattr(earlier, "_earlier", functools.cache(lambda: tuple(earlier._rows())))
    earlier._indexed.cache_clear()
    try:
        parts = ScriptParts("", False, Words("LegalizeOps fails", "", ""))
        assessed = Assessment(EvidenceClass.HARD, Severity.S3, "LegalizeOps", final=True)
        failed = Evidence("InternalError", "It fails.")
        own = replace(FOUND, id="abcdefabcd", culprit="LegalizeOps", evidence=failed, parts=parts, assessed=assessed)
        found = as_reviewed(own)
        assert found is not None
        assert (found.question, found.severity) == (debatable, Severity.S3)
        assert as_reviewed(replace(own, assessed=None)) is None, "nothing is known of it"
        untold = replace(parts, words=replace(parts.words, title="LegalizeOps fails on main"))
        other = as_reviewed(replace(own, assessed=replace(assessed, blame="FuseOps"), parts=untold))
        assert other is not None
        assert not other.question, "they have read another pass"
        numeric = as_reviewed(replace(own, oracle="numeric", evidence=WRONG, minimized=SMALL, parts=untold))
        assert numeric is not None
        assert not numeric.question, "a wrong value is of the program alone that they have read"
        titled = as_reviewed(replace(own, id="fedcbafedc"))
        assert titled is not None
        assert not titled.question, "of one that fails like it nobody has said that"
        said = told(own)
        assert said is not None
        assert said.sentence.startswith("judged ") is debatable, "the doubt is what is told of it"
        one = Traits("LegalizeOps", Skeleton(("abs",)))
        mute = as_reviewed(replace(own, oracle="numeric", evidence=WRONG, minimized=SMALL, parts=untold, traits=one))
        assert mute is not None
        assert not mute.question, "a wrong value of the same operators may have another cause"
        inferred = replace(untold, words=replace(untold.words, title="LegalizeOps fails on second"))
        part = replace(own, culprit="Normalize", parts=inferred, assessed=replace(assessed, blame="Normalize"))
        other = as_reviewed(part)
        assert other is not None
        assert not other.question, "the report that they read blames LegalizeOps"
    finally:
        earlier._indexed.cache_clear()


def test_a_cause_of_another_part_under_the_same_id_is_not_that_of_a_finding() -> None:
    mistyped = Evidence("mistyped-call", "a call does not fit its callee")
    found = replace(FOUND, id="445d53281e", oracle="well-formed", culprit="LegalizeOps", evidence=mistyped)
    causes = {
        name: told(replace(found, assessed=Assessment(EvidenceClass.HARD, Severity.S1, name)))
        for name in ("LegalizeOps", "lowering of relax.nn.attention", "lowering of relax.full_like")
    }
    assert [each is not None and each.certain for each in causes.values()] == [True, True, False]
