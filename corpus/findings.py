"""Findings of campaigns and the corpus: which cases look like a finding, and a case made of one."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomlkit

from corpus.case import CaseError, KnownCase, load, load_module
from corpus.check import CheckResult, check_cases, tvm_version
from corpus.earlier import audit_rows, said_before
from corpus.judgements import without_case
from fuzzer.core.text import shell
from fuzzer.findings.family import symptom_of_verdict
from fuzzer.store.known import KnownAs
from fuzzer.store.records import FindingRecord
from oracles.core.verdict import Evidence, Outcome
from relaxkit.files import make_directory
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.same_code import same_code

if TYPE_CHECKING:
    import tvm

_WORD = re.compile(r"\b[a-z]{5,}\b")
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CONSTRUCTS = (("match_cast", "R.match_cast(", '"relax.expr.MatchCast"'), ("`If`", "if ", '"relax.expr.If"'))
"""What a failure may hang on: as an explanation names it, in TVMScript, and in JSON."""
_MOST_OTHERS = 4
_all_cases = functools.cache(load)
_HEADER = """# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

"""


@dataclass(frozen=True, slots=True)
class Match:
    """A finding and the cases that look like it.

    Attributes:
        finding: The finding.
        cases: Cases of its oracle and pass whose pattern is found in what it says.
        possible: Cases of its oracle and pass that have no pattern, so that nothing but oracle and pass agree.
    """

    finding: FindingRecord
    cases: tuple[KnownCase, ...]
    possible: tuple[KnownCase, ...]


def match(findings: Sequence[FindingRecord], cases: Sequence[KnownCase]) -> list[Match]:
    """Find the cases that look like each finding, by what their failure says wherever they are known to fail.

    Those come first whose module has its operators, and that the audit names for it.  A finding that is
    blamed on none of the passes of a case is matched by what triage found to be at fault, or else by those that ran,
    and by all cases where the failing function of TVM is of no pass.
    """
    matches, there = [], _by_place(cases)
    for finding in findings:
        own, shown = {finding.failure.culprit}, {finding.assessment.blame}
        ran = shown if shown != own else {ref.name for ref in (finding.minimized or finding.case).passes}
        shared = {name for _, name in there} if _is_shared(finding) else set[str]()
        for blamed in filter(None, (own, ran - own, {*same_code(finding.failure.culprit)}, shared)):
            placed = {at for name in blamed for at in there.get((str(finding.oracle), name), ())}
            near = [(case, _failing_pattern(case)) for at in sorted(placed) if _may_be(case := cases[at], finding)]
            fitting = [case for case, pattern in near if pattern and case.shows_in(finding.evidence)]
            fitting += [case for case, pattern in near if pattern == "" and _named(case, finding)]
            if fitting:
                break
        fitting.sort(key=lambda case: _rank(case, finding), reverse=True)
        possible = [case for case, pattern in near if pattern == "" and case not in fitting]
        matches.append(Match(finding, tuple(fitting), tuple(possible) if blamed == own else ()))
    return matches


def recognize(findings: Sequence[FindingRecord], others: bool = False) -> dict[str, KnownAs]:
    """Give what is known of each finding: what was said of this very one first, then what only fails like it.

    With ``others``, give the known defects of its pass instead: one cause shows in several ways.
    """
    if others:
        return {each.id: told for each in findings if (told := _others(each)) is not None}
    known = {}
    for each in match(findings, _all_cases()):
        case, own, family = _likeliest(each), *said_before(each.finding)
        like = [] if case is None else [case.known(certain=_named(case, each.finding))]
        said = sorted([*own, *like, *family], key=lambda one: not one.certain)
        if said:
            known[each.finding.id] = said[0]
    return known


def _others(finding: FindingRecord) -> KnownAs | None:
    """Tell of the known defects of a finding's pass, those first whose modules have its operators."""
    blamed = finding.assessment.blame
    told = defects_of(blamed, finding)
    rest = f"and {len(told) - _MOST_OTHERS} more: {shell('relaxfuzz')} corpus list --pass {blamed}"
    told[_MOST_OTHERS:] = [rest] if len(told) > _MOST_OTHERS else []
    return KnownAs(blamed, f"other known defects of {blamed}: {'; '.join(told)}") if told else None


def defects_of(blamed: str, finding: FindingRecord | None = None) -> list[str]:
    """Return the known defects of a pass, a line each; first those that are likest to a finding."""
    cases, judged = _blaming(blamed)
    ranked = cases if finding is None else sorted(cases, key=lambda case: _rank(case, finding), reverse=True)
    return [f"{case.title} ({case.slug})" for case in ranked] + judged


@functools.cache
def _blaming(blamed: str) -> tuple[list[KnownCase], list[str]]:
    """Return the cases that blame a pass and fail, and what is told of its defects that no case shows."""
    cases = [case for case in _all_cases() if case.blamed == blamed and _failing_pattern(case) is not None]
    judged = [each for each in without_case() if each.blamed == blamed]
    return cases, [f"{each.better or each.title} (reviewed as {each.id})" for each in judged]


def _likeliest(found: Match) -> KnownCase | None:
    """Return the case that is likelier than the others; ``None`` where several are as likely."""
    ranks = [_rank(case, found.finding) for case in found.cases]
    silent = not found.finding.traits.skeleton.operators
    told = len(ranks) == 1 or (ranks and (ranks[0][0] or (silent and ranks[0] > ranks[1])))
    return found.cases[0] if told else None


def _by_place(cases: Sequence[KnownCase]) -> dict[tuple[str, str], list[int]]:
    """Return the numbers of cases by oracle and by each pass, or other culprit, that they may be blamed on."""
    found: dict[tuple[str, str], list[int]] = {}
    for at, case in enumerate(cases):
        for name in [case.culprit] if case.culprit else [ref.name for ref in case.passes]:
            found.setdefault((str(case.oracle), name), []).append(at)
    return found


def _is_shared(finding: FindingRecord) -> bool:
    """Say whether what fails is a function of TVM that several passes call, whatever these have made of the module."""
    frames = finding.evidence.frames[:1] if finding.oracle == OracleName.CRASH else ()
    return any("transform" not in each and not symptom_of_verdict(finding.verdict).refused for each in frames)


def _may_be(case: KnownCase, finding: FindingRecord) -> bool:
    if not _named(case, finding) and symptom_of_verdict(finding.verdict).mute:  # it tells no cause without operators
        mine, others = {*finding.traits.skeleton.operators}, _operators_of(case.directory)
        if not (mine >= others or mine <= others):
            return False
    configured = all(_configured(ref, finding) for ref in case.passes)
    return configured and (finding.minimized is None or _has_constructs(case, finding.minimized.module_json))


def _configured(mine: PassRef, finding: FindingRecord) -> bool:
    """Say whether a finding's pass, if the case has it, runs with the options of the case: other code runs without."""
    theirs = [ref for ref in (finding.minimized or finding.case).passes if ref.name == mine.name]
    return not theirs or any(ref.options >= mine.options for ref in theirs)


def _has_constructs(case: KnownCase, module_json: str) -> bool:
    """Say whether a minimized module has what a case's explanation and module name."""
    told, text = case.explanation, _text_of(case.directory)
    return all(node in module_json for word, written, node in _CONSTRUCTS if word in told and written in text)


def _rank(case: KnownCase, finding: FindingRecord) -> tuple[float, bool]:
    """Return the share of the finding's operators that the case's module has, and whether the audit names the case."""
    operators = set(finding.traits.skeleton.operators)
    return len(operators & _operators_of(case.directory)) / max(1, len(operators)), _named(case, finding)


@functools.cache
def _operators_of(directory: Path) -> frozenset[str]:
    found = re.findall(r'R\.([\w.]+)\(|"relax\.([\w.]+)"', _text_of(directory))
    return frozenset(script or json for script, json in found)


def _named(case: KnownCase, finding: FindingRecord) -> bool:
    return any(case.slug in _audited().get(name, ()) for name in (finding.id, finding.former))


@functools.cache
def _text_of(directory: Path) -> str:
    files = [path for path in (directory / "module.py", directory / "module.json") if path.is_file()]
    return files[0].read_text(encoding="utf-8") if files else ""


@functools.cache
def _audited() -> dict[str, set[str]]:
    """Return the cases that the audit names for a finding, by the id that the finding had then."""
    found: dict[str, set[str]] = {}
    for row in audit_rows():
        found.setdefault(str(row["id"]), set()).update(str(row[key]) for key in ("case", "like") if key in row)
    return found


def _failing_pattern(case: KnownCase) -> str | None:
    """Return the pattern of a case's failure; ``None`` when the case fails nowhere."""
    return case.pattern if Outcome.FAIL in case.expected.values() else None


def add_case(new: KnownCase, module_json: str) -> list[CheckResult]:
    """Write a case, measure its verdict in an isolated process and record that as expected of the installed TVM.

    The module is kept as TVMScript when that reads back structurally equal, else as JSON.  A process that dies makes
    the case ``isolated``.

    Args:
        new: The case; its directory is made, and what it expects is measured.
        module_json: The module, as ``tvm.ir.save_json`` gives it.

    Raises:
        CaseError: For a bad or taken slug, an unreadable module, or a verdict that is neither pass nor fail; then
            nothing is left behind.
    """
    import tvm

    if not _SLUG.fullmatch(new.slug):
        raise CaseError(f"'{new.slug}' is not a name for a case: use lower-case words joined by hyphens")
    if new.directory.exists():
        raise CaseError(f"the corpus already has a case '{new.slug}'")
    for name, text in (("title", new.title), ("explanation", new.explanation), ("upstream", new.upstream)):
        if "\n" in text or (not text.strip() and name != "upstream"):
            raise CaseError(f"the {name} must be one line of text")
    try:
        module = tvm.ir.load_json(module_json)
    except Exception as error:
        raise CaseError(f"the module does not load: {type(error).__name__}") from error
    make_directory(new.directory)
    try:
        return _write(new, module)
    except BaseException:
        shutil.rmtree(new.directory, ignore_errors=True)
        raise


def _write(new: KnownCase, module: tvm.IRModule) -> list[CheckResult]:
    directory, version = new.directory, tvm_version()
    toml = directory / "case.toml"
    toml.write_text(_case_toml(new, version, Outcome.FAIL, isolated=False), encoding="utf-8")
    _write_module(directory, module)
    seen = _check(directory)[0]
    if seen.died and new.oracle is not OracleName.CRASH:
        raise CaseError(f"the process died, so the oracle is crash, not {new.oracle}: {seen.text}")
    if not seen.died and new.oracle is OracleName.CRASH and seen.verdict.outcome is not Outcome.FAIL:
        # The death may come from running the executable, which only an isolated case does.
        toml.write_text(_case_toml(new, version, Outcome.FAIL, isolated=True), encoding="utf-8")
        isolated = _check(directory)[0]
        seen = isolated if isolated.verdict.outcome is Outcome.FAIL else seen
    outcome = seen.verdict.outcome
    if outcome not in (Outcome.PASS, Outcome.FAIL):
        raise CaseError(f"{new.oracle} gives no verdict: {seen.text}")
    toml.write_text(_case_toml(new, version, outcome, seen.died, seen.verdict.evidence), encoding="utf-8")
    return _check(directory)


def _check(directory: Path) -> list[CheckResult]:
    (case,) = load([directory.name], directory.parent)
    return check_cases([case])


def _write_module(directory: Path, module: tvm.IRModule) -> None:
    import tvm
    import tvm_ffi

    path = directory / "module.py"
    try:
        path.write_text(_HEADER + _code(str(module.script(show_meta=True))), encoding="utf-8")
        (case,) = load([directory.name], directory.parent)
        if tvm_ffi.structural_equal(load_module(case), module):
            return
    except Exception:  # TVM's printer or parser cannot hold it: JSON can
        pass
    path.unlink(missing_ok=True)
    (directory / "module.json").write_text(str(tvm.ir.save_json(module)), encoding="utf-8")


def _code(script: str) -> str:
    """Drop from TVM's script the imports that it only hints at in comments."""
    lines = [line for line in script.splitlines() if not line.startswith("# from tvm")]
    return "\n".join(lines).strip() + "\n"


def _case_toml(new: KnownCase, version: str, outcome: Outcome, isolated: bool, evidence: Evidence | None = None) -> str:
    shown = evidence if outcome is Outcome.FAIL else None
    optional = {
        "culprit": new.culprit,
        "input_seed": new.input_seed,
        "isolated": isolated,
        "pattern": "" if shown is None else _pattern(shown),
        "subject": "" if shown is None else shown.details.subject,
    }
    return tomlkit.dumps(
        {
            "title": new.title,
            "explanation": new.explanation,
            "oracle": str(new.oracle),
            "upstream": new.upstream,
            **{key: value for key, value in optional.items() if value},
            "passes": [{"name": ref.name, "expression": ref.expression} for ref in new.passes],
            "expected": {version: str(outcome)},
        }
    )


def _pattern(evidence: Evidence) -> str:
    """Make a pattern of the evidence that does not hang on names and numbers of the module."""
    line = next((line.strip() for line in evidence.message.splitlines() if line.strip()), "")
    words = re.split(r"[\"'].*?[\"']|\S*\d\S*", line)
    longest = max(words, key=len).strip()
    return re.escape(evidence.kind) + (".*" + re.escape(longest[:80].strip()) if len(longest) >= 8 else "")


def make_slug(pass_name: str, title: str) -> str:
    """Make a directory name of the pass and the first words of the title."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", pass_name) + re.findall(r"[A-Za-z0-9]+", title)
    seen: list[str] = []
    for word in (word.lower() for word in words):
        if word not in seen:
            seen.append(word)
    return "-".join(seen)[:60].strip("-")
