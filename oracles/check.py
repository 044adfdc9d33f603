"""``check``: judge one module under one pass and raise when an oracle fails; for use in ordinary tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import tvm

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.judge import judge
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.pass_ref import HOW_TO_WRAP, GivenPass, PassRef, PassReferenceError, kind_of
from relaxkit.passes.render import HOW_TO_NAME, pass_named


class OracleFailure(AssertionError):
    """At least one oracle failed; ``verdicts`` are all, also those that passed."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        self.verdicts = verdicts
        super().__init__("\n".join(line(verdict) for verdict in verdicts if verdict.outcome in _BAD))


HOW_TO_GIVE = (
    "give a pass, MyPass(), or a class or function that makes one without arguments, or text: "
    f"{HOW_TO_NAME}; {HOW_TO_WRAP}"
)
"""What ``check`` takes for a pass."""
_BAD = (Outcome.FAIL, Outcome.INVALID)


KNOWN = "known"
"""Why a failure that is accepted is none."""


class Watch(Protocol):
    """Who is told of each call of :func:`check`: the plugin for pytest, which runs tests in processes that may die."""

    def begin(self, subject: Subject, oracles: Iterable[OracleName] | None, *, contract: Contract | None) -> bool:
        """Say whether a subject will be judged; ``contract``: what was given to the call."""

    def stage(self, stage: str) -> None:
        """A step that may kill the process will be taken."""

    def end(self, verdicts: list[Verdict]) -> list[Verdict]:
        """It was judged; gives the verdicts that count."""


_watch: Watch | None = None


def watched_by(watch: Watch | None) -> None:
    """Tell ``watch`` of each call of :func:`check` in this process from now on; ``None``: nobody."""
    global _watch
    _watch = watch


def check(
    module: tvm.IRModule,
    *passes: Any,
    oracles: Iterable[OracleName] | None = None,
    contract: Contract | None = None,
    input_seed: int = 0,
    known: Iterable[str] = (),
) -> list[Verdict]:
    """Judge ``passes`` on ``module`` and return the verdicts.

    Args:
        passes: ``tvm.ir.transform.Pass`` objects, classes or functions without arguments that make one, ``PassRef``,
            or text (:func:`relaxkit.passes.render.pass_named`); several make a pipeline.
        oracles: Which oracles to ask; all by default.
        contract: What each of the passes promises; by default the pass's own attribute ``contract``, the
            table's row for a pass of TVM's, or the conservative default.
        input_seed: Seed of the inputs of the numeric oracle.
        known: Failures that are accepted for now: each is the beginning of ``ORACLE: PASS: KIND: MESSAGE``, as the
            failure shows it.

    Raises:
        OracleFailure: An oracle said ``fail``, or the harness itself was wrong.
        ValueError: No pass was given, or (``PassReferenceError``) something that is none.
    """
    __tracebackhide__ = True  # in pytest the caller's line is shown
    try:
        refs = [_ref(each) for each in passes]
    except PassReferenceError as error:
        raise PassReferenceError(str(error)) from None
    contracts = None if contract is None else [contract] * len(refs)
    watch = _watch
    subject = Subject(module, refs, contracts, input_seed, stage=None if watch is None else watch.stage)
    if watch is not None and not watch.begin(subject, oracles, contract=contract):
        return []
    accepted = tuple(known)
    verdicts = [_known(verdict, accepted) for verdict in judge(subject, oracles)]
    if watch is not None:
        verdicts = watch.end(verdicts)
    if any(verdict.outcome in _BAD for verdict in verdicts):
        raise OracleFailure(verdicts)
    return verdicts


def title(verdict: Verdict) -> str:
    """Return the line of a failure that ``known`` is held against."""
    message = verdict.shown.message.strip().partition("\n")[0]
    return f"{verdict.oracle}: {verdict.culprit}: {verdict.shown.kind}: {message}"


def summary(verdict: Verdict) -> str:
    """Return a failure in one line for people: the values where it has some, else the title."""
    found = verdict.shown
    seen = f"{verdict.oracle}: {verdict.culprit}: expected: {found.expected}; observed: {found.observed}"
    return seen if found.details.numbers else _plain(title(verdict))


_PLAINLY = (
    ("a public function has another return type", "the return type of a public function changes"),
    ("a public function has another number of parameters", "the number of parameters of a public function changes"),
    ("a public function has other parameter types", "the parameter types of a public function change"),
)
"""Messages, which stay as they are since ids are built from them, and how people read them."""


def _plain(text: str) -> str:
    return next((text.replace(message, said) for message, said in _PLAINLY if text.endswith(message)), text)


def _known(verdict: Verdict, known: tuple[str, ...]) -> Verdict:
    if (
        verdict.outcome is Outcome.FAIL
        and known
        and any(each.startswith(known) for each in (title(verdict), summary(verdict)))
    ):
        return replace(verdict, outcome=Outcome.SKIP, reason=KNOWN, evidence=None)
    return verdict


def _ref(given: Any) -> PassRef:
    if isinstance(given, PassRef):
        return given
    return pass_named(given) if isinstance(given, str) else _given(given)


def _given(given: Any) -> GivenPass:
    """Return the reference to a pass, or to what a class or a function without arguments makes.

    Raises:
        PassReferenceError: It is neither.
    """
    called, built = "", given
    if callable(given) and not isinstance(given, tvm.ir.transform.Pass):
        called = f"{getattr(given, '__name__', type(given).__name__)}()"
        try:
            built = given()
        except Exception as error:
            raise PassReferenceError(f"{called} raised {type(error).__name__}: {error}; {HOW_TO_GIVE}") from None
    if not isinstance(built, tvm.ir.transform.Pass):
        what = f"{called} gives" if called else "check was given"
        raise PassReferenceError(f"{what} {kind_of(built)}, not a pass; {HOW_TO_GIVE}")
    name = str(built.info.name)
    return GivenPass(name.removeprefix("relax."), f"<{name}>", built)


def line(verdict: Verdict) -> str:
    """Return a verdict with what was seen, as the failure shows it."""
    text = f"{verdict.oracle} {verdict.outcome}: {verdict.culprit}"
    if verdict.reason:
        text += f" ({verdict.reason})"
    if verdict.evidence is not None:
        evidence = verdict.evidence
        text += f"\n  {evidence.kind}{'' if evidence.details.numbers else f': {evidence.message}'}"
        for label, value in (("expected", evidence.expected), ("observed", evidence.observed)):
            if value:
                text += f"\n  {label}: {value}"
        text += "".join(f"\n  at {frame}" for frame in evidence.details.raised_at[::-1] or evidence.frames)
    return text
