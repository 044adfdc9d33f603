"""The standalone script of a failing case: rendered in a worker, written, and run to see that it shows the failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fuzzer.core.files import write_atomically
from fuzzer.core.verb import UsageError
from fuzzer.findings.script_parts import Nearest, RenderedScript, ScriptParts, ShortForms
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import isolated_worker
from fuzzer.minimizer.judge.judge import Judge, judging_oracles
from fuzzer.repro.nearest.search import NEAREST_SECONDS, nearest_passing
from fuzzer.repro.run import ReproResult, check_text

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.core.case import Case
    from fuzzer.findings.assessment import Assessment
    from oracles.core.verdict import Verdict

_RENDER_SECONDS = 120.0


class NoScript(UsageError, RuntimeError):
    """A script that cannot be rendered; the message is one line for the user.

    Attributes:
        reason: Why it cannot.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the script cannot be rendered: {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """The question for :func:`render_request`: of the nearest module that passes, and of who else is at fault."""

    case: Case
    verdict: Verdict
    signature: str
    nearest: Nearest | None = None
    blame: str = ""
    minimized: bool = True


def render_request(request: RenderRequest) -> RenderedScript:
    """Render a repro script; runs in a worker."""
    from fuzzer.repro.render import render_repro  # imports TVM, which the verbs' error paths must not wait for

    return render_repro(
        request.case, request.verdict, request.signature, request.nearest, request.blame, request.minimized
    )


@dataclass(frozen=True, slots=True)
class ShortRequest:
    """The question for :func:`short_request`; ``title`` is that of the long form."""

    case: Case
    verdict: Verdict
    assessment: Assessment | None = None
    title: str = ""

    @property
    def blame(self) -> str:
        """What is at fault; empty where it is the judged pass."""
        found = "" if self.assessment is None else self.assessment.blame
        return found if found != self.verdict.culprit else ""


def short_request(request: ShortRequest) -> ShortForms:
    """Write the short scripts of a failure; runs in a worker."""
    from fuzzer.repro.short.render import short_forms

    return short_forms(request.case, request.verdict, request.assessment, request.title)


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
        wanted = ShortRequest(case, last, assessment)
        script = render(judge, RenderRequest(case, last, name.text, found, wanted.blame, minimized))
        return script if full else shortened(judge, script, wanted)[0]


def shortened(
    judge: Judge, script: RenderedScript, request: ShortRequest, place: Path | None = None
) -> tuple[RenderedScript, str]:
    """Put the short form in the place of the long one, if it shows the failure in a fresh process below ``place``.

    Returns:
        The script, and why it is the long one; empty where it is the short one.
    """
    patient = Judge(judge.worker, judge.oracles, _RENDER_SECONDS, judge.memory)
    forms = patient.ask(short_request, replace(request, title=script.parts.words.title))
    if not isinstance(forms, ShortForms):
        return script, patient.trouble or "the process died"
    parts = replace(script.parts, numbers=forms.numbers)
    said = ""
    for form in forms.scripts:
        result = check_text(form.text, form.ending, place)
        if result.confirmed:
            return RenderedScript(form.text, form.text, replace(parts, ending=form.ending, change=form.change)), ""
        said = said or f"it exited with {result.exit_code} and printed: {result.said}"
    return replace(script, parts=parts), forms.why or said or "nothing shows it"


def write_repro(text: str, path: Path) -> None:
    """Write a script, and the directory that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)


def write_checked(
    judge: Judge, wanted: ShortRequest, signature_text: str, path: Path, nearest_seconds: float
) -> tuple[ReproResult, ScriptParts, str]:
    """Write the script of a case: the short form, where it and the long one show the failure.

    The long one is run first, without the nearest module that passes where that is refuted.

    Returns:
        What the long one said, the parts of the script, and why it is the long one.

    Raises:
        NoScript: It cannot be rendered.
    """
    nearest = nearest_passing(wanted.case, wanted.verdict, judge, nearest_seconds)
    place = path.parent.parent
    request = RenderRequest(wanted.case, wanted.verdict, signature_text, nearest, wanted.blame)
    for each in (request, replace(request, nearest=None)):
        script = render(judge, each)
        write_repro(script.text, path)
        result = check_text(script.text, place=place)
        if not result.refutes_nearest:
            break
    if not result.confirmed:
        return result, script.parts, ""
    script, why = shortened(judge, script, wanted, place)
    write_repro(script.text, path)
    return result, script.parts, why


def render(judge: Judge, request: RenderRequest) -> RenderedScript:
    """Render a script in the worker of ``judge``; raises ``NoScript``."""
    patient = Judge(judge.worker, judge.oracles, _RENDER_SECONDS, judge.memory)
    script = patient.ask(render_request, request)
    if not isinstance(script, RenderedScript):
        raise NoScript(patient.trouble or "the process died")
    return script
