"""The bug report: in the sections of TVM's template, with a script that can be taken out again and run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import tvm
from sample_records import META

import fuzzer.cli.main as cli
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Blame, Severity, assess
from fuzzer.findings.releases import Bisected
from fuzzer.findings.script_parts import Ending, Nearest, RenderedScript, ScriptParts, Words
from fuzzer.findings.signature import signature
from fuzzer.repro.markdown import bug_report, cause_section, escaped, fenced
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import ReproResult, check_repro
from fuzzer.store.known import Cause, KnownAs
from fuzzer.store.records import CampaignInfo, CampaignState, FindingRecord, FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Death, Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2, 2), dtype="float32")) -> R.Tensor((1, 2, 2), dtype="float32"):
        lv: R.Tensor((1, 2, 2), dtype="float32") = R.nn.pixel_shuffle(x, upscale_factor=1)
        return lv
"""
EVIDENCE = Evidence(
    "AttributeError", "module 'tvm.topi.nn' has no attribute 'pixel_shuffle'", ("nn.py:_nn_pixel_shuffle",)
)
VERDICT = Verdict(OracleName.CRASH, Outcome.FAIL, "LegalizeOps", evidence=EVIDENCE)
NEAREST = Nearest(
    "another dtype", (('x: R.Tensor((1, 2, 2), dtype="float32")', 'x: R.Tensor(dtype="float32", ndim=3)'),)
)
INFO = CampaignInfo(
    1,
    "2026-01-01T00:00:00+00:00",
    60.0,
    12345,
    100,
    2,
    "0.27.0.post1",
    "0.1.14.post1",
    (),
    (),
    CampaignState.FINISHED,
    "1m",
)


def case() -> Case:
    passes = (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),)
    return Case(str(tvm.ir.save_json(load(MODULE))), passes, 1)


def finding() -> FindingRecord:
    name = signature(VERDICT)
    return FindingRecord(
        id=name.id, signature=name.text, oracle="crash", culprit="LegalizeOps", evidence=EVIDENCE, count=17,
        state=FindingState.CONFIRMED, first_seen_seconds=1.0, last_seen_seconds=2.0, minimized=case(),
        case=replace(case(), module_json=f"{case().module_json} "),
        bindings=1, repro=None, note="",
    )  # fmt: skip


def script() -> RenderedScript:
    return render_repro(case(), VERDICT, signature(VERDICT).text, NEAREST)


def test_the_report_has_the_sections_of_the_template_and_says_it_all() -> None:
    bisected = Bisected("present in all", (("0.26.0", "present: a | b"), ("0.27.0.post1", "present")))
    report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, bisected)
    assert report.splitlines()[0] == (
        "# [Bug][Relax] LegalizeOps fails on relax.nn.pixel_shuffle: "
        "module 'tvm.topi.nn' has no attribute 'pixel_shuffle'"
    )
    assert re.findall(r"^### (.*)$", report, re.MULTILINE) == [
        "Expected behavior", "Actual behavior", "Environment", "Steps to reproduce", "Nearest module that passes",
        "Releases", "Notes",
    ]  # fmt: skip
    for part in (
        "nn.py:_nn_pixel_shuffle", "TVM: 0.27.0.post1",
        "relax.transform.LegalizeOps()", "ndim=3",
        "Present in all.", r"present: a \| b", "* Pass: `LegalizeOps`\n",
    ):  # fmt: skip
        assert part in report


def test_an_edit_that_takes_away_what_fails_tells_nothing() -> None:
    parts = script().parts
    assert "### Nearest module" in bug_report(finding(), VERDICT, INFO, "", parts)
    for nearest in (
        replace(NEAREST, what="another result"),
        replace(NEAREST, edits=(("R.nn.pixel_shuffle(x, upscale_factor=1)", "R.nn.relu(x)"),)),
    ):
        gone = replace(parts, nearest=nearest)
        assert "### Nearest module" not in bug_report(finding(), VERDICT, INFO, "", gone)


@pytest.mark.parametrize(
    ("old", "new", "tells"),
    [
        ("lv = cls.f1(x)", "lv = R.abs(x)", False),
        ("lv1 = lv(x)", "lv1 = R.abs(x)", False),
        ("lv = R.call_tir(cls.k, (x,))", "lv = R.call_tir(cls.other, (x,))", False),
        ("if c:\n    y = R.abs(x)\nelse:\n    y = R.abs(x)", "y = R.abs(x)\nz = R.abs(x)", False),
        ("n = T.int64()\nlv = R.abs(x)", "lv = R.abs(x)", True),
        ("with R.dataflow():\n    lv = R.abs(x)\n    R.output(lv)", "lv = R.abs(x)", True),
        ('lv = R.abs(R.const(1.0, "float32"))', "lv = R.abs(x)", True),
    ],
)
def test_a_near_module_still_calls_all_that_the_failing_one_does(old: str, new: str, tells: bool) -> None:
    assert Nearest("an edit", ((old, new),)).tells is tells


@pytest.mark.parametrize(
    ("culprit", "blame", "line"),
    [
        ("LegalizeOps", "LegalizeOps", "* Pass: `LegalizeOps`"),
        (
            "LegalizeOps",
            "EliminateCommonSubexpr",
            "* Pass: `EliminateCommonSubexpr` (found while testing `LegalizeOps`)",
        ),
        ("build:cpu", "LLVM code generator", "* Component: `LLVM code generator` (found while testing `build:cpu`)"),
        ("TVMScript", "TVMScript", "* Component: `TVMScript`"),
        ("JSON", "JSON", "* Component: `JSON`"),
        ("rewrite_call", "rewrite_call", "* Component: `rewrite_call`"),
    ],
)
def test_the_notes_name_what_is_at_fault_and_what_was_tested(culprit: str, blame: str, line: str) -> None:
    assessed = replace(finding().assessment, blame=blame)
    report = bug_report(replace(finding(), culprit=culprit, assessed=assessed), VERDICT, INFO, "", script().parts)
    assert f"\n{line}\n" in report


def test_where_what_happens_is_the_title_the_changed_lines_stand_behind_it() -> None:
    parts = script().parts
    parts = replace(parts, change="-lv\n+lv1", words=replace(parts.words, observed=f"{parts.words.title}."))
    mutated = replace(VERDICT, oracle=OracleName.MUTATION, evidence=replace(EVIDENCE, kind="mutated", frames=()))
    report = bug_report(replace(finding(), oracle="mutation"), mutated, INFO, "", parts)
    assert ".\n\nThe input before and after the run:\n\n```diff\n-lv\n+lv1\n```\n\n### Environment" in report
    assert "### Before and after" not in report


def test_what_a_pass_changes_stands_apart_from_what_it_should_not_have_done() -> None:
    parts = replace(script().parts, change="-lv\n+lv1")
    parts = replace(parts, words=replace(parts.words, observed=parts.words.title))
    assert "### Before and after\n\n```diff" in bug_report(finding(), VERDICT, INFO, "", parts)


def test_of_two_runs_that_must_agree_the_lines_are_not_called_those_of_a_pass() -> None:
    two = "### What differs\n\nWhat a run gives, and what the next one gives:\n\n```diff"
    one = "### Before and after\n\n```diff"
    for oracle, kind, headed in (("environment", "not-equal", two), ("environment", "ValueError", one)):
        verdict = replace(VERDICT, oracle=OracleName(oracle), evidence=replace(EVIDENCE, kind=kind))
        parts = replace(script().parts, change="-lv\n+lv1")
        assert headed in bug_report(replace(finding(), oracle=oracle), verdict, INFO, "", parts)


def test_a_script_that_knows_no_right_module_says_what_its_end_means() -> None:
    ending = Ending(gone="the pass no longer gives the module `Wrong`")
    report = bug_report(finding(), VERDICT, INFO, "", replace(script().parts, ending=ending))
    assert "exits with 0 once the pass no longer gives the module `Wrong`." in report
    assert "fixed" not in report


def test_a_function_whose_file_tvm_does_not_tell_is_named() -> None:
    raised = replace(EVIDENCE, frames=(), details=replace(EVIDENCE.details, functions=("relax::RewriteCall",)))
    report = bug_report(finding(), replace(VERDICT, evidence=raised), INFO, "", script().parts)
    assert "relax::RewriteCall (source file unknown)" in report


def test_functions_without_a_file_are_left_out_beside_frames_with_one() -> None:
    details = replace(EVIDENCE.details, functions=("ffi::Optional::value [T = PrimType]", "relax::RewriteCall"))
    raised = replace(EVIDENCE, frames=("src/relax/a.cc:f",), details=details)
    report = bug_report(finding(), replace(VERDICT, evidence=raised), INFO, "", script().parts)
    assert "```\nffi::Optional::value [T = PrimType]\nsrc/relax/a.cc:f\n```" in report


def test_a_module_that_only_the_script_holds_is_not_said_to_be_above() -> None:
    parts = replace(script().parts, ending=None, module="")
    report = bug_report(finding(), VERDICT, INFO, "import tvm\n", parts)
    assert "the module in the script" in report
    assert "the module above" not in report


def test_a_pass_of_the_users_own_is_no_bug_of_tvms_and_needs_its_file() -> None:
    mine = replace(case(), passes=(PassRef("make", "user:/home/me/mine.py:make"),))
    for parts in (script().parts, replace(script().parts, ending=Ending("AttributeError"))):
        report = bug_report(replace(finding(), case=mine), VERDICT, INFO, "import tvm\n", parts)
        assert report.startswith("# LegalizeOps fails on")
        assert "It needs the file of the pass, next to it or in the working directory." in report
        assert "only TVM" not in report


def test_the_script_in_it_is_the_script(tmp_path: Path) -> None:
    report = bug_report(finding(), VERDICT, INFO, script().text, script().parts)
    taken = re.search(r"<summary>repro.py</summary>\n\n(`{3,})python\n(.*?)\n\1\n", report, re.DOTALL)
    assert taken is not None
    path = tmp_path / "repro.py"
    path.write_text(taken.group(2) + "\n")
    assert path.read_text() == script().text
    assert check_repro(path).confirmed


def test_a_fence_is_longer_than_those_inside() -> None:
    assert fenced("a\n```\nb\n````") == "`````\na\n```\nb\n````\n`````\n"


def test_a_script_comes_with_its_parts_and_they_survive_the_store() -> None:
    parts = script().parts
    assert parts.module == MODULE.strip("\n")
    assert parts.nearest == NEAREST
    assert parts.words.observed.endswith("(at nn.py:_nn_pixel_shuffle)")
    assert msgspec.json.decode(msgspec.json.encode(parts), type=ScriptParts) == parts


def test_the_verb_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "campaign"
    name = signature(VERDICT)
    with Store.create(directory, {**META, "seed": "1"}) as store:
        store.record_shard(
            ShardResult(0, 0, 8, 8, 8, hits={name.id: SignatureHits.of(name, VERDICT, case(), 0, 3)}), 1.0
        )
        (directory / "repros").mkdir()
        (directory / "repros" / f"{name.id}.py").write_text(script().text)
        store.save_triage(name.id, FindingState.CONFIRMED, case(), 1, f"repros/{name.id}.py", "", parts=script().parts)
        store.save_bisection(name.id, Bisected("\x1b\n# x", (("0.26.0", "present: it fails"),)))
    assert cli.main(["repro", str(directory), name.id[:6], "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "| 0.26.0 | present: it fails |" in printed
    assert "\n? \\# x.\n" in printed
    assert cli.main(["repro", str(directory), name.id, "--check", "--json", "--output", str(tmp_path / "it.py")]) == 1
    capsys.readouterr()
    assert cli.main(["repro", str(directory), name.id, "--check", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["finding"], said["text"], said["output"]) == (name.id, script().text, None)
    assert (said["check"]["confirmed"], said["check"]["exit_code"]) == (
        True,
        1,
    )  # the script's own: 1 when the defect is there
    assert (tmp_path / "it.py").read_text() == script().text


def test_passes_are_told_by_the_script_alone() -> None:
    """Where another pass is at fault, the script shows that one without those of the case."""
    passes = (PassRef("FoldConstant", "relax.transform.FoldConstant()"), *case().passes)
    moved = assess(VERDICT, (), Blame("RealizeVDevice", "why"), stock=False)
    row = replace(finding(), minimized=replace(case(), passes=passes), assessed=moved)
    notes = bug_report(row, VERDICT, INFO, script().text, script().parts).partition("### Notes")[2]
    assert "* Pass: `RealizeVDevice` (found while testing `LegalizeOps`)\n* Found by" in notes
    assert "FoldConstant" not in notes


def test_names_in_a_cause_are_code_without_escapes() -> None:
    cause = Cause(
        "name", "_f passes a->b and ffi::Any to `c_d`, a plain word * and x <= 2",
        'src/relax/a_b.cc: C::Visit_, no register("relax.e_f")', "Return op->args of @T.prim_func, not a@b_c.",
    )  # fmt: skip
    told = cause_section(cause, "0.27.0")
    assert "`_f` passes `a->b` and `ffi::Any` to `c_d`, a plain word \\* and x &lt;= 2" in told
    assert "[src/relax/a_b.cc](https://github.com/apache/tvm/blob/v0.27.0/src/relax/a_b.cc): `C::Visit_`, no" in told
    assert ' no register("relax.e_f")' in told
    assert "Return `op->args` of `@T.prim_func`, not a@&#8203;b_c." in told


def test_a_short_script_stands_in_it_with_what_changes() -> None:
    parts = replace(script().parts, ending=Ending("AttributeError"), change="-lv = R.nn.pixel_shuffle(x)")
    report = bug_report(finding(), VERDICT, INFO, "import tvm\n", parts)
    assert "```python\nimport tvm\n```" in report
    assert "### Before and after\n\n```diff\n-lv = R.nn.pixel_shuffle(x)\n```" in report
    assert "minimized to the module above" in report
    stopped = replace(finding(), note="minimization stopped at its limit after 108 queries")
    report = bug_report(stopped, VERDICT, INFO, "import tvm\n", parts)
    assert (
        "minimized to the module above, but not to the end: minimization stopped at its limit. To go on, run " in report
    )
    kept = bug_report(replace(finding(), case=case()), VERDICT, INFO, "import tvm\n", parts)
    assert "the module above is as it was generated: no reduction was accepted." in kept
    report = bug_report(replace(finding(), minimized=None), VERDICT, INFO, "import tvm\n", parts)
    assert "not minimized: the module above is as it was generated" in report
    assert "BUG:" not in report
    assert "<details>" not in report


def test_issues_that_a_cause_names_are_linked() -> None:
    cause = replace(CAUSE, reason="The same as #17205 was fixed in PR #17213.")
    known = KnownAs("some-case", "It fails.", cause=cause, same_program=True)
    report = bug_report(finding(), VERDICT, INFO, "", script().parts, known=known)
    address = "https://github.com/apache/tvm/"
    assert f"as [#17205]({address}issues/17205) was fixed in PR [#17213]({address}pull/17213)." in report


def test_what_was_not_made_smaller_says_so_and_how_to() -> None:
    begun = replace(finding(), state=FindingState.NEW)
    for each, left in ((begun, "what an unfinished minimization left"), (replace(begun, minimized=None), "generated")):
        report = bug_report(each, VERDICT, INFO, script().text, script().parts, directory=Path("my night"))
        assert f"not minimized: the module above is {left}" in report.replace("as it was generated", "generated")
        assert (
            f"To minimize it, run `relaxfuzz minimize 'my night' {begun.id}`, then generate this report again."
            in report
        )
        assert "minimized to" not in report
        assert "Severity: S3, a crash (estimated).\n" in report


CAUSE = Cause("c", "It reads x.", "src/relax/a.cc: A::B; python/tvm/relax/op/_op_gradient.py: where_grad", "Read y.")


def test_a_known_cause_stands_in_it_with_links_to_the_release() -> None:
    known = KnownAs("some-case", "It fails.", "https://github.com/apache/tvm/issues/1", cause=CAUSE, same_program=True)
    report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=known)
    blob = "https://github.com/apache/tvm/blob/v0.27.0.post1"
    assert "### Cause\n\nIt reads x.\n\nWhere: " in report
    assert f"[src/relax/a.cc]({blob}/src/relax/a.cc): `A::B`; " in report
    assert f"[python/tvm/relax/op/_op_gradient.py]({blob}/python/tvm/relax/op/_op_gradient.py): `where_grad`" in report
    assert "\nPossible fix: Read y.\n" in report
    assert "\nUpstream: https://github.com/apache/tvm/issues/1\n" in report
    assert "some-case" not in report
    assert "_op_gradient.py](" in bug_report(
        finding(), VERDICT, replace(INFO, tvm_version="0.26.0"), script().text, script().parts, known=known
    ), "lines are those of the release that is installed"


def test_a_cause_that_was_read_of_another_program_is_told_as_such() -> None:
    """Lists said that the cause is perhaps the same, and issues said nothing."""
    url = "https://github.com/apache/tvm/issues/1"
    for same, said in ((True, "\nAlready reported: "), (False, "\nPerhaps already reported: ")):
        known = KnownAs("judged c", "It fails.", url, cause=CAUSE, same_program=same)
        report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=known)
        heading = "### Cause\n" if same else "### Perhaps the cause (read of another program)\n"
        assert re.findall("###.*ause.*\n", report) == [heading]
        assert f"{heading}\nIt reads x." in report
        assert said in report
    known = replace(known, certain=False)
    assert "It reads x." not in bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=known)


def test_where_a_users_pass_raised_is_told_and_no_frame_of_tvm() -> None:
    raised = replace(EVIDENCE, details=Details(raised_at=("/home/me/mine.py:6 in helper: raise ValueError()",)))
    verdict = replace(VERDICT, evidence=raised)
    words = render_repro(case(), verdict, "s", NEAREST).parts.words
    assert words.observed == "AttributeError: module 'tvm.topi.nn' has no attribute 'pixel_shuffle'"
    report = bug_report(finding(), verdict, INFO, script().text, script().parts)
    assert "Raised at, innermost last:\n\n```\n/home/me/mine.py:6 in helper: raise ValueError()\n```" in report
    assert "inside TVM" not in report


def test_frames_of_tvm_have_the_lines_that_were_recorded() -> None:
    for lines, shown in (((613,), "nn.py:613 in _nn_pixel_shuffle"), ((), "nn.py:_nn_pixel_shuffle")):
        verdict = replace(VERDICT, evidence=replace(EVIDENCE, details=Details(lines=lines)))
        report = bug_report(finding(), verdict, INFO, script().text, script().parts)
        assert f"Innermost frames inside TVM:\n\n```\n{shown}\n```" in report


def test_frames_that_all_passes_share_are_left_out() -> None:
    frames = ("ir/transform.py:__call__", "nn.py:_nn_pixel_shuffle", "relax/transform/transform.py:_pass_func")
    for lines in ((171, 613, 3), ()):
        verdict = replace(VERDICT, evidence=replace(EVIDENCE, frames=frames, details=Details(lines=lines)))
        report = bug_report(finding(), verdict, INFO, script().text, script().parts)
        assert re.search(r"inside TVM:\n\n```\nnn.py:(613 in )?_nn_pixel_shuffle\n```", report)
        alone = replace(verdict, evidence=replace(verdict.evidence, frames=frames[:1]))
        assert "inside TVM" not in bug_report(finding(), alone, INFO, script().text, script().parts)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("main returns 1.0", "`main` returns 1.0"),
        ("the module builds", "The module builds"),
        ("relax.nn.x gives 0.0", "`relax.nn.x` gives 0.0"),
    ],
)
def test_names_stay_as_they_are(text: str, shown: str) -> None:
    parts = script().parts
    report = bug_report(finding(), VERDICT, INFO, "", replace(parts, words=replace(parts.words, expected=text)))
    assert f"### Expected behavior\n\n{shown}\n" in report


TOLD = 'Traceback (most recent call last):\n  File "repro.py", line 9, in <module>\n    check(After)\n'


@pytest.mark.parametrize(
    ("ending", "code", "errors", "shows"),
    [
        (Ending("ValueError", ("not defined",), 9), 1, f"{TOLD}ValueError: x is not defined\n", True),
        (Ending("ValueError", ("not defined",), 9), 0, "", False),
        (Ending("ValueError", ("not defined",), 10), 1, f"{TOLD}ValueError: x is not defined\n", False),
        (Ending("ValueError", ("not defined",), 9), 1, f"{TOLD}ValueError: x is another\n", False),
        (Ending("ValueError", (), 9), 1, f"{TOLD}KeyError: ValueError\n", False),
        (Ending("", ("defined",), 9), 1, f"{TOLD}    run(After)  # is not defined\n    ^^^\nKeyError: no\n", False),
        (Ending("InternalError", (), 9), 1, f"{TOLD}tvm.error.InternalError: no\n", True),
        (Ending("", ("no",), 9), 1, f"{TOLD}tvm.error.InternalError: no\n", True),
        (Ending(signal=11), -11, "", True),
        (Ending(signal=11), 1, f"{TOLD}ValueError: no\n", False),
        (Ending(), 3, "", True),
        (Ending("ValueError"), None, "", False),
    ],
)
def test_a_short_script_shows_the_defect_by_how_it_ends(
    ending: Ending, code: int | None, errors: str, shows: bool
) -> None:
    assert ReproResult(code, "", errors, ending).confirmed is shows


NUMPY = """Traceback (most recent call last):
  File "repro.py", line 9, in <module>
    np.testing.assert_allclose(run(After, args), expected)
AssertionError:\x20
Not equal to tolerance rtol=0, atol=1e-06

Mismatched elements: 1 / 1 (100%)
 ACTUAL: array([1.], dtype=float32)
 DESIRED: array([0.], dtype=float32)
"""
BARE = """Traceback (most recent call last):
  File "repro.py", line 9, in <module>
    assert left == right  # expected 1, got 2
           ^^^^^^^^^^^^^
AssertionError
"""


def test_an_error_without_a_message_is_told_with_its_values() -> None:
    said = ReproResult(1, "", NUMPY, Ending("AssertionError", (), 9)).said
    assert said == (
        "BUG: AssertionError: Not equal to tolerance rtol=0, atol=1e-06; Mismatched elements: 1 / 1 (100%); "
        "ACTUAL: array([1.], dtype=float32); DESIRED: array([0.], dtype=float32)"
    )
    said = ReproResult(1, "", BARE, Ending("AssertionError", (), 9)).said
    assert said == "BUG: AssertionError: assert left == right  # expected 1, got 2"


def test_a_death_is_told_by_its_signal_and_another_outcome_as_that() -> None:
    assert ReproResult(-11, "", "", Ending(signal=11)).said == "BUG: the script is killed by SIGSEGV"
    said = ReproResult(3, "", "", Ending(signal=11)).said
    assert said == "ENVIRONMENT: this differs from the finding: the script exits with 3"


def test_a_long_script_is_attached_and_not_in_the_issue() -> None:
    long = script().text + "".join(f"# {number}\n" for number in range(20_000))
    scripted = replace(finding(), repro="repros/x.py")
    for parts in (script().parts, replace(script().parts, ending=Ending("AttributeError"))):
        grown = replace(parts, module=long, change="+ x\n" * 20_000)
        report = bug_report(scripted, VERDICT, INFO, long, grown)
        assert len(report) < 20_000
        assert "The script, `repros/x.py` of the campaign, is attached" in report
        where = "the module above" if "The module" in report else "the module in the attached script"
        assert f"minimized to {where}." in report
        assert f"({len(long.splitlines()):,} lines)" in report
        command = "pip install 'apache-tvm==0.27.0.post1' 'apache-tvm-ffi>=0.1.14.post0,<0.1.15' numpy"
        assert f"needs only TVM and NumPy (`{command}`, the releases with which it was tested)" in report


def test_the_words_of_a_campaign_are_no_markup_and_tell_nobody() -> None:
    evil = (
        "![p](http://evil/p.png) [click](http://evil) @apache/tvm-committers #1 GH-2 <b>\nheading\n===\nmore\n---\n"
        "- item\n+ item\n1. item\n# head\n> said\n***\n___\n| a | b |\n``` \n~~~\n[a]: http://evil\n"
        "$x$ \\* &lt; *b* _c_"
    )
    words = Words(evil, evil, evil, "x](http://evil)")
    parts = replace(script().parts, words=words)
    bad = replace(finding(), culprit="a` ![p](http://evil/p.png)")
    report = bug_report(bad, VERDICT, INFO, "import tvm\n", parts, Bisected(evil, ((evil, evil),)))
    prose = re.sub(r"^(`{3,}).*?^\1$", "", report, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"(?<![\\`])(`+)[^\n]*?[^`\n]\1(?!`)", "", prose)  # in code nothing is markup
    assert not re.search(r"(?<!\\)\]\(|@\w|(?<!&)#\d|GH-\d|<b>", prose)
    for line in prose.splitlines():
        assert not line.startswith("#") or re.match(r"# \[Bug\]|### [A-Z]", line), line
        assert not re.match(r"\s*(={2,}|-{3}|\+ |- |\d+\. |>|\*\*\*|___|~~~|\[a\])", line), line
    assert "\\_c\\_" in prose
    assert escaped(":-: a") == r"\:-: a"
    assert escaped("a_b.c_d [e](f) @g") == r"a_b.c_d \[e\](f) @&#8203;g"


def test_a_title_is_what_one_types_into_the_field_for_it() -> None:
    for text in (
        "computes relax.nn.layer_norm wrongly: 1.0 instead of 0.0 at index [0, 1]", "fails: Call->op must be a < b | c",
        "makes `a[0](b) * *args` of *args and _op_x", "costs 5 $ & 3",
    ):  # fmt: skip
        assert titled(text) == f"# [Bug][Relax] {text}"
    for text, safe in (
        ("![p](http://evil)", r"![p\](http://evil)"), ("*a* __b__ ~~c~~ $d$", r"\*a\* \_\_b\_\_ \~\~c\~\~ \$d\$"),
        ("@team #1 GH-2", "@ team # 1 GH- 2"), ("<b> &lt; \\[x]", r"&lt;b> &amp;lt; \\[x]"), ("a\n# b", "a # b"),
        ("\\`x` @team` ``", r"\\`x` @ team\` \`\`"), ("\x1b[2J ##[error]", "?[2J ## [error]"),
    ):  # fmt: skip
        assert titled(text) == f"# [Bug][Relax] {safe}"


@pytest.mark.parametrize(
    ("reason", "hedged"),
    [
        ("R.nn.pixel_shuffle of main loses x.", False),
        ("relax.op.nn.pixel_shuffle is documented otherwise.", False),
        ("So R.full(R.shape([m])) is left before it.", True),
        ("The call_packed keeps the old device.", True),
        ("It drops `return (a, x)`.", True),
        ("main still calls cls.f1(x).", True),
    ],
)
def test_a_sentence_that_names_what_the_module_has_not_speaks_of_another(reason: str, hedged: bool) -> None:
    assert script().parts.fits(reason) is not hedged


def test_the_sentence_of_a_case_is_no_cause_of_another_program() -> None:
    known = KnownAs("some-case", "It fails.")
    report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=known)
    assert "It fails." not in report


def titled(text: str) -> str:
    parts = replace(script().parts, words=replace(script().parts.words, title=text))
    return bug_report(finding(), VERDICT, INFO, script().text, parts).partition("\n")[0]


def test_a_listed_finding_is_told_without_the_list_and_its_cause_once() -> None:
    known = KnownAs("row", "It reads x.", "", listed=True, file="findings.toml", cause=CAUSE, same_program=True)
    case_too = replace(known, cause=None, also=KnownAs("some-case", "It fails."))
    for each, shown in ((known, 1), (replace(known, cause=None), 0), (case_too, 0)):
        report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=each)
        assert report.count("It reads x.") == shown
        assert "your list" not in report
        assert "some-case" not in report, "a name that nobody but we knows"
        assert "eported: " not in report


def test_what_only_fails_like_something_is_not_said_to_be_reported() -> None:
    known = KnownAs("some-case", "It fails.", "https://github.com/apache/tvm/issues/1", certain=False)
    assert known.told_upstream == ""
    assert replace(known, listed=True, also=known, reference="").told_upstream == ""
    assert "already reported" not in bug_report(finding(), VERDICT, INFO, "", script().parts, known=known)


def test_where_it_is_reported_stands_first(tmp_path: Path) -> None:
    url = "https://github.com/apache/tvm/issues/1"
    case_of = KnownAs("some-case", "It fails.", url)
    listed = KnownAs("row", "It reads x.", "https://example.org", listed=True, also=case_of)
    read = KnownAs("judged c", "It reads x.", cause=replace(CAUSE, upstream=url), same_program=True)
    for each, said in ((case_of, "Perhaps already"), (listed, "Already"), (read, "Already")):
        report = bug_report(finding(), VERDICT, INFO, script().text, script().parts, known=each)
        assert report.splitlines()[2] == f"{said} reported: {url}"


def test_the_severity_stands_below_the_title_in_words_and_no_id_of_ours() -> None:
    report = bug_report(finding(), VERDICT, INFO, script().text, script().parts)
    assert report.splitlines()[2] == "Severity: S3, a crash (estimated)."
    assert finding().id not in report
    for grade, oracle, kind, said in (
        ("S1", "crash", "", "silently wrong results on ordinary inputs"),
        ("S4", "mutation", "", "a modified input that needs a rare construct or order of passes"),
        ("S3", "numeric", "does-not-build", "a failed build"),
        ("S3", "well-formed", "ill-formed", "an ill-formed module"),
        ("S3", "locality", "InternalError", "a crash"),
        ("S5", "roundtrip", "", "a minor defect: a failed round trip"),
        ("S5", "environment", "", "a minor defect"),
        ("S3", "postcondition", "not-done", "a broken promise"),
    ):  # fmt: skip
        verdict = replace(VERDICT, oracle=OracleName(oracle), evidence=Evidence(kind, ""))
        assert Severity(grade).words(verdict) == said
    for kind, death, said in (("hang", Death.HANG, "a hang"), ("SIGSEGV", Death.SIGNAL, "a crash")):
        died = replace(VERDICT, oracle=OracleName.NUMERIC, evidence=Evidence(kind, "", details=Details(death=death)))
        assert Severity.S3.words(died) == f"{said}"
    assert "Found by fuzzing with relaxfuzz; minimized to " in report


def test_a_number_that_begins_a_line_is_a_link() -> None:
    section = cause_section(Cause("a-cause", "It fails.", upstream="#16841 did not cover it"), "0.27.0")
    assert "Upstream: [#16841](https://github.com/apache/tvm/issues/16841) did not cover it" in section
