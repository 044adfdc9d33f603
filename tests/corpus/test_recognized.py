"""What is known is told: which findings are cases of the corpus, or listed, whichever version recorded them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_corpus_match import FOUND, campaign

from corpus.case import load
from corpus.findings import match, recognize
from corpus.judgements import load as load_judgements
from corpus.judgements import of_pages, without_case
from fuzzer.cli.main import main
from fuzzer.cli.verbs.findings import _below
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.family import Skeleton, Traits
from fuzzer.findings.file import KnownFinding, KnownFindings, load_known
from fuzzer.findings.script_parts import NAMES, ScriptParts, Words
from fuzzer.gate.findings import SortedFindings, finding_rulings
from fuzzer.gate.ruling import RulingStatus
from fuzzer.repro.markdown import bug_report
from fuzzer.store.known import KnownAs, compared, in_words, reported, state_of, without_numbers
from fuzzer.store.known import recognize as tell
from fuzzer.store.records import CampaignInfo, CampaignState, FindingState
from oracles.core.verdict import Details, Evidence
from relaxkit.passes.pass_ref import PassRef

sys.path.append(str(Path(__file__).parents[1] / "fuzzer"))
from labelled_failures import load as load_labelled

PAGES = Path(__file__).parents[2] / "docs" / "upstream"
MERGE = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
OTHER = PassRef("Normalize", "relax.transform.Normalize()")
DTYPE = "another dtype"
UNDEFINED = replace(
    FOUND, oracle="well-formed", culprit="RewriteCUDAGraph", evidence=Evidence("ill-formed", "Var gv7 is not defined.")
)


def about(subject: str, **evidence: str) -> Evidence:
    return Evidence("ill-formed", "Var gv7 is not defined.", details=Details(subject=subject), **evidence)


def slugs(found: Any, *cases: str) -> list[str]:
    return [case.slug for case in match([found], load(cases))[0].cases]


def test_a_finding_that_changed_its_blame_is_matched_by_the_passes_that_ran() -> None:
    ran = Case("{}", (MERGE,), 0)
    other = replace(FOUND, culprit="type inference", case=ran)
    assert slugs(other, "merge-composite-if") == ["merge-composite-if"]
    assert slugs(replace(other, case=Case("{}", (OTHER,), 0)), "merge-composite-if") == []
    # What is blamed on a case's pass comes first: nobody asks what else ran.
    assert slugs(replace(FOUND, case=Case("{}", (OTHER,), 0)), "merge-composite-if") == ["merge-composite-if"]


def test_passes_that_ran_are_not_asked_where_triage_has_shown_another_one_at_fault() -> None:
    found = replace(FOUND, culprit="LegalizeOps", case=Case("{}", (MERGE,), 0))
    moved = Assessment(EvidenceClass.HARD, Severity.S4, "RealizeVDevice", final=True, grounds="it makes it ill-formed")
    assert slugs(found, "merge-composite-if") == ["merge-composite-if"]
    assert slugs(replace(found, assessed=moved), "merge-composite-if") == []
    unexplained = replace(found, assessed=replace(moved, grounds=""))
    assert slugs(unexplained, "merge-composite-if") == []
    (told,) = compared([replace(unexplained, assessed=replace(unexplained.assessment, blame="FuseTIR"))], {})
    assert told.others.startswith("other known defects of FuseTIR: ")


def test_a_finding_is_no_case_of_the_tested_pass_if_its_script_runs_another_one() -> None:
    moved = Assessment(EvidenceClass.HARD, Severity.S3, "Normalize", final=True)
    alone = (Case("{}", (OTHER,), 0), replace(UNDEFINED.verdict, culprit="Normalize"))
    parts = ScriptParts("x", False, Words("Normalize fails", "it returns", "it does not"))
    for other, found in ((None, ["rewrite-cuda-graph-returned"]), (alone, [])):
        told = replace(UNDEFINED, assessed=moved, parts=replace(parts, other=other))
        assert slugs(told, "rewrite-cuda-graph-returned") == found


def test_a_finding_of_before_has_no_subject_and_is_matched_all_the_same() -> None:
    cases = ("rewrite-cuda-graph-late-storage", "rewrite-cuda-graph-match-cast", "rewrite-cuda-graph-returned")
    assert set(slugs(UNDEFINED, *cases)) == set(cases)
    for subject, case in zip(
        ("a value of the function", "a tensor of another function", "a tuple of the function"), cases, strict=True
    ):
        assert slugs(replace(UNDEFINED, evidence=about(subject)), *cases) == [case]
    assert slugs(replace(UNDEFINED, evidence=about("a symbolic dim of no function")), *cases) == []


def test_the_case_that_the_audit_names_comes_first() -> None:
    """Its former id is that of several causes; the operators of the module tell the next best."""
    cases = ("rewrite-cuda-graph-match-cast", "rewrite-cuda-graph-late-storage")
    assert slugs(replace(UNDEFINED, id="f5e022bbf7"), *cases)[0] == "rewrite-cuda-graph-late-storage"


def test_a_case_of_a_construct_is_no_finding_without_it() -> None:
    found = replace(UNDEFINED, evidence=about("a tensor of another function"))
    bare = replace(found, minimized=Case('["relax.expr.Call"]', (OTHER,), 0))
    cast = replace(found, minimized=Case('["relax.expr.MatchCast"]', (OTHER,), 0))
    case = "rewrite-cuda-graph-match-cast"
    assert (slugs(bare, case), slugs(cast, case)) == ([], [case])


def test_what_the_audit_has_said_is_certain() -> None:
    named = tell([replace(UNDEFINED, id="f5e022bbf7")])["f5e022bbf7"]
    assert (named.name, named.certain) == ("rewrite-cuda-graph-late-storage", True)


def test_operators_tell_cases_of_one_message_apart() -> None:
    found = replace(
        FOUND, oracle="well-formed", culprit="LegalizeOps",
        evidence=Evidence("signature", "a public function has another return type", details=Details(subject=DTYPE)),
        traits=Traits("LegalizeOps", Skeleton(("vision.roi_align",))),
    )  # fmt: skip
    known = recognize([found])[found.id]
    assert (known.name, known.certain) == ("legalize-roi-align-float16", False)
    assert known.sentence
    # Of several that are as likely, none is named.
    assert recognize([replace(found, id="abc", traits=Traits("LegalizeOps", Skeleton(("exp",))))]) == {}


def test_a_cause_is_known_by_the_finding_that_was_judged_and_by_its_case() -> None:
    judged = load_judgements()
    names = {case.slug for case in load()}
    assert {case for each in judged for case in each.cases} <= names
    told = [case for each in judged for case in each.cases]
    assert len(told) == len(set(told)), "a case has one cause"
    own = next(each for each in judged if each.id == "0c026e17e6")
    found = recognize([replace(FOUND, id=own.id)])[own.id]
    assert (found.certain, found.cause) == (True, own.told)
    packed = Evidence("InternalError", "Do not have a default for relax.expr.ExternFunc")
    like = recognize([replace(FOUND, id="abc", evidence=packed)])["abc"]
    assert (like.name, like.certain, like.cause) == ("merge-composite-packed-call", False, own.told)
    alone = replace(FOUND, id=own.id, oracle="numeric")
    told_alone = KnownAs("docs/upstream/0c026e17e6.md", own.reason, cause=own.told)
    assert recognize([alone])[own.id] == told_alone, "no case is like it"


def test_what_is_listed_comes_before_the_corpus() -> None:
    entry = KnownFinding(id=FOUND.id, reference="https://example.org/1", reason="why")
    assert tell([FOUND])[FOUND.id].name == "merge-composite-if"
    told = tell([FOUND], KnownFindings((entry,)))
    entry_told = told[FOUND.id]
    assert replace(entry_told, also=None) == KnownAs(
        FOUND.id, "why", "https://example.org/1", listed=True, file="findings.toml"
    )
    assert state_of(FOUND, entry_told) is FindingState.KNOWN, "as on the page"
    assert entry_told.also == tell([FOUND])[FOUND.id], "beside the case, not instead of it"
    assert entry_told.also is not None
    assert entry_told.line == (
        "known on your list (findings.toml, https://example.org/1) and perhaps in relaxfuzz's corpus "
        f"(merge-composite-if): why; the corpus says: {entry_told.also.sentence}"
    ), "one clause, the strongest first"
    reported = replace(entry_told, reference="apache/tvm#1", also=replace(entry_told.also, sentence="why"))
    assert reported.line == (
        "known on your list (findings.toml), upstream (apache/tvm#1) and perhaps in relaxfuzz's corpus "
        "(merge-composite-if): why"
    )
    assert replace(entry_told, reference="", also=None).line == "known on your list (findings.toml): why"
    assert in_words([FOUND], told) == "Of 1 finding, 1 is known: 1 on your list"
    assert in_words([FOUND], {}) == ""
    likely = {FOUND.id: replace(told[FOUND.id], certain=False)}
    assert in_words([FOUND], likely).startswith("Of 1 finding, 1 is known or perhaps known: ")


def test_the_gate_tells_which_new_finding_is_a_case() -> None:
    found = SortedFindings((FOUND,), (), (), (), (), ())
    (ruling,) = finding_rulings(found, Path("campaign"), tell([FOUND], KnownFindings()), "in the baseline")
    assert ruling.status is RulingStatus.FAIL  # to be told is no excuse
    known = "perhaps known in relaxfuzz's corpus but not reported upstream (merge-composite-if)"
    assert any(each.startswith(f"not in the baseline; {known}") for each in ruling.more), "by what it says alone"


def test_an_address_is_made_of_what_a_case_says_of_upstream() -> None:
    (case,) = load(["merge-composite-second-function"])
    assert case.reference == "https://github.com/apache/tvm/issues/17210"
    assert msgspec.structs.replace(case, upstream="https://example.org").reference == "https://example.org"


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory, file = campaign(tmp_path, "merge-composite-if", MERGE, "crash"), tmp_path / "findings.toml"
    assert main(["findings", str(directory), "--json"]) == 0
    (finding_id,) = {each["id"] for each in msgspec.json.decode(capsys.readouterr().out)}
    for reference, complaint in (
        ("mail", "'mail' is neither a URL nor an issue such as apache/tvm#17210"),
        ("https://github.com/apache/tvm/issues/", "without the number of an issue"),
    ):
        refused = ["triage", "known", finding_id, "--reason", "r", "--file", str(file), "--reference", reference]
        assert main(refused) == 2
        told = capsys.readouterr().err
        assert complaint in told
        assert told.count("\n") == 1
    assert not file.exists()
    command = ["triage", "known", finding_id, "--reference", "https://example.org/1", "--reason", "as it is"]
    assert main([*command, "--file", str(file), "--campaign", str(directory)]) == 0
    (entry,) = load_known(file).entries
    assert (entry.id, entry.reference, entry.reason) == (finding_id, "https://example.org/1", "as it is")
    assert entry.culprit
    before = file.read_text()
    assert main([*command, "--file", str(file)]) == 2
    assert f"already lists {finding_id} as known (https://example.org/1): as it is" in capsys.readouterr().err
    assert file.read_text() == before
    other = ["triage", "known", "F012345678", "--reason", "not reported", "--file", str(file)]
    capsys.readouterr()
    assert main(other) == 0, "a reference is optional"
    assert load_known(file).entries[1].reference == ""
    assert capsys.readouterr().out.split() == f"added F012345678 to {file} as known (no reference)".split()
    listing = ["triage", "list", "--file", str(file)]
    assert main(listing) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{finding_id} known: as it is", "  https://example.org/1", "F012345678 known: not reported", "  no reference",
    ]  # fmt: skip
    assert main([*listing, "--json"]) == 0
    assert [each["known"] for each in msgspec.json.decode(capsys.readouterr().out)] == [finding_id, "F012345678"]
    assert main(["triage", "merge", "F012345678", "F012345679", "--reason", "r", "--reference", "apache/tvm#1"]) == 2
    assert "unrecognized arguments: --reference" in capsys.readouterr().err
    assert main(["triage", "known", "no-id", "--reference", "u", "--reason", "r", "--file", str(file)]) == 2


def test_a_new_finding_names_the_known_defects_of_its_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One cause shows in several ways: here a vector that becomes a column, by another check of TVM's."""
    message = "Matmul requires the reduction length of the operands to be equal."
    traits = Traits("ExpandMatmulOfSum", Skeleton(("add", "matmul")))
    found = replace(FOUND, culprit="ExpandMatmulOfSum", evidence=Evidence("ValueError", message), traits=traits)
    assert tell([found]) == {}
    (finding,) = compared([found], {})
    assert finding.others.startswith("other known defects of ExpandMatmulOfSum: ")
    told = {case.slug: case.title for case in load() if case.blamed == "ExpandMatmulOfSum"}
    assert len(told) > 3
    assert all(f"{title} ({slug})" in finding.others for slug, title in told.items())
    assert [*_below(finding, None, tmp_path)][1] == finding.others
    parts = ScriptParts("", False, Words("title", "a", "b"))
    info = CampaignInfo(1, "", 0.0, 1, 1, 1, "", "", (), (), CampaignState.FINISHED, "1m")
    assert "nown defects" not in bug_report(finding, finding.verdict, info, "", parts), "nor in an issue"
    assert compared([found], {found.id: KnownAs("x", "y")})[0].others == "", "what is known itself needs none"
    many = compared([replace(found, culprit="LegalizeOps")], {})[0].others
    assert many.count("; ") == 4
    assert many.endswith("relaxfuzz corpus list --pass LegalizeOps")
    assert main(["corpus", "list", "--pass", "ExpandMatmulOfSum"]) == 0
    listed = capsys.readouterr().out
    assert all(slug in listed for slug in told)
    assert compared([replace(found, culprit="NoPass")], {})[0].others == ""


def test_what_was_closed_though_the_defect_is_there_is_not_reported() -> None:
    """A closed issue about a sibling hid argmax of a scalar from what is left to report."""
    for slug, number in (("legalize-argmax-scalar", 19676), ("lift-params-function-result", 17231)):
        (case,) = load([slug])
        told = case.known()
        assert told.reported.startswith(f"https://github.com/apache/tvm/issues/{number} (closed, ")
        assert reported(FOUND, {FOUND.id: told}) == ""
        assert in_words([FOUND], {FOUND.id: told}).endswith(
            ": 1 reported upstream only in closed issues or of a sibling"
        )
        assert f"upstream ({told.reported})" in told.line
        how = "reported of a sibling" if number == 19676 else "perhaps already reported"
        assert told.told_upstream == f"{how}: {told.reported}"
        assert replace(told, certain=False).reported == "", "what only fails like it may be another defect"
        assert replace(told, certain=False, listed=True).reported == told.reported
    place = "https://github.com/apache/tvm/issues/1"
    known = {each: KnownAs("x", "y", f"{place}{each}") for each in ("", " (open, of a sibling: sum)")}
    assert [reported(FOUND, {FOUND.id: each}) for each in known.values()] == [place, ""]


def test_a_defect_that_no_case_shows_is_named_by_its_judgement() -> None:
    shown = {each.cause for each in load_judgements() if each.cases}
    assert not any(each.cause in shown or each.verdict != "defect" for each in without_case())
    causes = [each.cause for each in without_case()]
    assert len(causes) == len(set(causes)) > 0
    alone = next(each for each in without_case() if all(case.blamed != each.blamed for case in load()))
    assert f"(reviewed as {alone.id})" in compared([replace(FOUND, culprit=alone.blamed)], {})[0].others


def test_what_was_judged_under_this_very_id_is_told_as_its_page_tells_it() -> None:
    """A case that only fails alike would hide where it is reported, and have it reported once more."""
    met = {name: each for each in load_labelled() for name in (each.id, each.exact)}
    rows = load_judgements()
    pages, judged = sorted(PAGES.glob("*[0-9]*.md")), {each.id: each for each in reversed(rows)} | of_pages(rows)
    upstream = []
    for page in pages:
        own = judged[page.stem]
        found = replace(FOUND, id=own.id, culprit=own.blamed, minimized=replace(FOUND.case, passes=()))
        parts = ScriptParts("", False, Words(own.title, "a", "b"))
        found = replace(found, traits=Traits(own.blamed, Skeleton(own.operators or ())), parts=parts)
        if own.id in met:
            verdict = met[own.id].verdict
            found = replace(found, oracle=str(verdict.oracle), evidence=verdict.evidence)
        told, written = recognize([found])[own.id], page.read_text(encoding="utf-8").partition("\nUpstream: ")[2]
        assert (told.name, told.certain) == (f"docs/upstream/{page.name}", True)
        alike = {each.upstream for each in rows if each.cause == own.cause} - {""}
        said = alike | {told.reference or "no "}  # a page that was written earlier is of what was read then
        assert not written or any(each in written.splitlines()[0] for each in said), page.name
        upstream += [told.upstream]
    assert len(pages) >= 50
    assert sum(upstream) >= 7


def test_a_case_of_an_option_is_no_finding_without_it() -> None:
    evidence = Evidence("ill-formed", "Var x is not defined.", details=Details(subject="a tensor of no function"))
    found = replace(FOUND, oracle="well-formed", culprit="LiftTransformParams", evidence=evidence)
    plain = "relax.transform.LiftTransformParams()"
    option = f'configured({plain}, {{"relax.lift_transform_params.consume_params": %s}})'
    for text, is_one in ((plain, False), (option % False, False), (option % True, True)):
        ran = Case("{}", (PassRef("LiftTransformParams", text),), 0)
        assert slugs(replace(found, case=ran), "lift-params-consume-shared") == ["lift-params-consume-shared"] * is_one


def test_a_cause_is_certain_only_of_the_program_that_was_read() -> None:
    """UpdateVDevice edits a parameter, or the module's list of devices: one identifier, two programs."""
    head = "UpdateVDevice modifies its input module: it changes"
    for what, same in (
        ("the device of x7", "the device of x"),
        ("the module's list of vdevices",) * 2,
        ("a constant", ""),
    ):
        parts = ScriptParts("x7", False, Words(f"{head} {what}", "a", "b"))
        (known,) = tell([replace(FOUND, id="0cb85ea080", culprit="UpdateVDevice", parts=parts)]).values()
        assert (known.certain, known.same_program) == (True, bool(same))
        assert ("perhaps the same cause: " in known.line) is not bool(same)
        assert known.cause is not None
        assert not same or known.cause.read == f"{head} {same}"


def test_a_cause_that_names_variables_is_told_of_a_program_that_has_them() -> None:
    judged = next(each for each in load_judgements() if each.verdict == "defect" and re.search(NAMES, each.reason))
    for module, same in (("", False), (judged.reason, True)):
        parts = ScriptParts(module, False, Words(judged.title, "a", "b"))
        (known,) = tell([replace(FOUND, id=judged.id, culprit=judged.blamed, parts=parts)]).values()
        assert known.same_program is same


def test_reports_of_one_id_and_title_have_one_cause() -> None:
    defects = [each for each in load_judgements() if each.verdict == "defect"]
    causes = {((each.id, each.blamed, without_numbers(each.title)), each.cause) for each in defects}
    assert [name for name, many in Counter(report for report, _ in causes).items() if many > 1] == []


def test_what_a_users_own_pass_does_is_no_case_of_the_corpus() -> None:
    own = Case("{}", (PassRef(FOUND.culprit, "user:mine.py:MergeCompositeFunctions"),), 0)
    mine = replace(FOUND, case=own, minimized=None)
    assert set(tell([FOUND, replace(mine, id="0123456789")])) == {FOUND.id}, "the same failure of another pass"
    (kept,) = compared([mine], {})
    assert kept.others == ""
    entry = KnownFinding(id=mine.id, reason="why")
    assert tell([mine], KnownFindings((entry,)))[mine.id].listed, "a list of the user's speaks of it"
    blamed = replace(mine, assessed=replace(mine.assessment, blame="type inference"))
    assert recognize([blamed]) == tell([blamed]) != {}, "what TVM does in it may be known"


def test_a_pull_request_that_was_never_merged_is_left_to_report() -> None:
    """Its rows hid findings of RewriteCUDAGraph from ``--unreported``."""
    causes = [each.told for each in load_judgements() if "/pull/15839" in each.upstream]
    assert len(causes) >= 10
    known = [KnownAs("x", "y", cause=each) for each in causes]
    assert {reported(FOUND, {FOUND.id: each}) for each in known} == {""}
    assert {each.reported for each in known} == {
        "https://github.com/apache/tvm/pull/15839 (closed without being merged)"
    }
