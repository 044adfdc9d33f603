"""The standalone script of a failing case: rendered in a worker, written, and run to see that it shows the failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.core.verb import UsageError
from fuzzer.findings.assessment import Culprit
from fuzzer.findings.script_parts import Ending, Nearest, RenderedScript, ScriptParts, ShortForms
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import isolated_worker
from fuzzer.minimizer.judge.judge import Judge, judging_oracles
from fuzzer.repro.nearest.search import NEAREST_SECONDS, nearest_passing
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.run import ReproResult, check_text
from fuzzer.triage.seen import as_seen
from fuzzer.worker.child import Elsewhere
from relaxkit.files import make_directory, write_atomically

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.findings.assessment import Assessment
    from oracles.core.verdict import Verdict

_RENDER_SECONDS = 120.0
_RUNS = 5
"""Further runs of a script that may fail by chance: one that fails in every other process passes them once in 32."""
LONG = Elsewhere("fuzzer.repro.render", "render_repro")
SHORT = Elsewhere("fuzzer.repro.short.render", "short_forms")
"""The renderers of the two forms: both import TVM, which the verbs' error paths must not wait for."""


class NoScript(UsageError, RuntimeError):
    """A script that cannot be rendered; the message is one line for the user.

    Attributes:
        reason: Why it cannot.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the script cannot be rendered: {reason}")
        self.reason = reason


def blamed(verdict: Verdict, assessment: Assessment | None) -> str:
    """Say what is at fault; empty where it is the judged pass."""
    found = "" if assessment is None else assessment.blame
    return found if found != verdict.culprit else ""


def repro_script(
    case: Case,
    verdict: Verdict,
    *,
    nearest: bool | Nearest = True,
    full: bool = True,
    assessment: Assessment | None = None,
    minimized: bool = True,
) -> RenderedScript:
    """Return the repro script of a failing verdict on ``case``; raises ``NoScript`` when it cannot be rendered.

    Args:
        case: Module and passes.
        verdict: The verdict.
        nearest: The nearest module that passes; or whether it is searched for, which takes longer than all the rest.
        full: Whether the long form is wanted; else it is the short one, where that shows the failure.
        assessment: What is said of the weight of the finding in the head of the short form.
        minimized: Whether the case was made as small as it gets: else no nearest module is searched for.
    """
    name = signature(verdict)
    with isolated_worker() as worker:
        judge = Judge(worker, judging_oracles(verdict))
        last = judge.verdict(case, name.id) or verdict  # in the words of this case, where it still fails
        found = nearest if isinstance(nearest, Nearest) else None
        if nearest is True and minimized:
            found = nearest_passing(case, last, judge, NEAREST_SECONDS)
        script = _rendered(judge, case, last, name.text, found, blamed(last, assessment), minimized)
        return script if full else _shortened(judge, script, case, last, assessment, minimized=minimized)


def _rendered(judge: Judge, case: Case, verdict: Verdict, *how: Any) -> RenderedScript:
    """Render the long form in the worker of ``judge``; raises ``NoScript``."""
    patient = Judge(judge.worker, judge.oracles, _RENDER_SECONDS, judge.memory)
    script = patient.ask(LONG, case, verdict, *how)
    if not isinstance(script, RenderedScript):
        raise NoScript(patient.trouble or "the process died")
    return script


def _checked(
    text: str, ending: Ending | None, place: Path | None, verdict: Verdict, assessment: Assessment | None
) -> ReproResult:
    """Run a script; more often where it may read memory that nothing has written, and return a run that shows nothing.

    Copies of one process find the same in memory, so the further runs are processes of their own.
    """
    result = check_pristine(text, ending, place)
    kind = "" if verdict.evidence is None else verdict.evidence.kind
    by_chance = kind == "uninitialized-read" or blamed(verdict, assessment) == Culprit.REDUCTIONS
    for _ in range(_RUNS if by_chance else 0):
        result = check_text(text, ending, place) if result.confirmed else result
    return result


def _shortened(
    judge: Judge,
    script: RenderedScript,
    case: Case,
    verdict: Verdict,
    assessment: Assessment | None,
    place: Path | None = None,
    minimized: bool = True,
    seen: bool = False,
) -> RenderedScript:
    """Put the short form in the place of the long one, if it shows the failure in a fresh process below ``place``.

    Where that run shows it otherwise than it was found, both are written once more of what was ``seen`` there.
    """
    patient = Judge(judge.worker, judge.oracles, _RENDER_SECONDS, judge.memory)
    told, nearest = script.parts, script.parts.nearest
    forms = patient.ask(SHORT, case, verdict, assessment, told.words.title, nearest)
    if not isinstance(forms, ShortForms):
        return replace(script, why_long=patient.trouble or "the process died")
    said = ""
    for form in forms.scripts:
        result = _checked(form.text, form.ending, place, verdict, assessment)
        if result.confirmed:
            near = form.passing and replace(form.passing, what="" if nearest is None else nearest.what)
            if near is not None and check_pristine(near.applied(form.text), place=place).exit_code != 0:
                near = None
            parts = replace(told, ending=form.ending, change=form.change, passing=near)
            if seen or (own := as_seen(verdict, result)) == verdict:
                return RenderedScript(form.text, parts)
            script = _rendered(judge, case, own, signature(own).text, nearest, blamed(own, assessment), minimized)
            again = _shortened(judge, script, case, own, assessment, place, minimized, seen=True)
            return RenderedScript(form.text, parts) if again.parts.ending is None else again
        said = said or f"the one that was tried exited with {result.exit_code}, and did not show the failure"
    return replace(script, why_long=forms.why or said or "nothing shows it")


def write_repro(text: str, path: Path) -> None:
    """Write a script, and the directory that it lies in."""
    make_directory(path.parent, links=True)
    write_atomically(path, text)


def write_checked(
    judge: Judge,
    case: Case,
    verdict: Verdict,
    assessment: Assessment | None,
    signature_text: str,
    path: Path,
    nearest_seconds: float,
    place: Path | None,
) -> tuple[ReproResult, ScriptParts, str]:
    """Write the script of a case: the short form, where it and the long one, which is run first, show the failure.

    Both are run in directories of their own below ``place``.

    Returns:
        What the long one said, the parts of the script, and why it is the long one.

    Raises:
        NoScript: It cannot be rendered.
    """
    judge = replace(judge, oracles=judging_oracles(verdict))
    nearest = nearest_passing(case, verdict, judge, nearest_seconds)
    script = _rendered(judge, case, verdict, signature_text, nearest, blamed(verdict, assessment))
    result = _checked(script.text, None, place, verdict, assessment)
    if result.confirmed:
        script = _shortened(judge, script, case, verdict, assessment, place)
    write_repro(script.text, path)
    return result, script.parts, script.why_long
