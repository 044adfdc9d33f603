"""The inside of the process that runs one test: its body, what Hypothesis draws in it, and each check of a module."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import pickle
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fuzzer.core.case import Case
from fuzzer.core.text import first_line, printable
from fuzzer.findings.signature import signature
from fuzzer.worker.child import begin_case, breadcrumb, die_if_out_of_memory
from oracles.check import KNOWN, OracleFailure, check, watched_by
from oracles.core.module_facts import equal
from oracles.core.verdict import Outcome, Verdict
from oracles.users_pass import own_calls, own_changes, without_dead_code
from relaxfuzz.pytest_plugin.accepted import AcceptedFailures
from relaxfuzz.pytest_plugin.options import how_to_aim
from relaxkit.ir.walk import operators_of
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.pass_ref import GivenPass, PassRef, PassReferenceError, PromisingPass
from relaxkit.passes.render import text_of_pass
from strategies.fragment import Fragment
from strategies.modules import Aim

if TYPE_CHECKING:
    from oracles.core.subject import Subject

_Context = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class JudgedModule:
    """A module that a test had judged, as another process can judge it again.

    Attributes:
        case: Module and passes; where ``unknown`` says why nothing tells how to build them, they are names only.
        unknown: Why no other process can judge it so; empty when it can.
        verdicts: What the oracles said; empty before they did.
    """

    case: Case
    unknown: str = ""
    verdicts: tuple[Verdict, ...] = ()

    @property
    def key(self) -> str:
        """What tells the module from others."""
        return hashlib.sha256(self.case.module_json.encode()).hexdigest()

    @property
    def failure(self) -> Verdict:
        """The first verdict that fails."""
        return next(verdict for verdict in self.verdicts if verdict.outcome is Outcome.FAIL)


TALLIES = ("counts", "notes", "uncompared", "removed", "added")


@dataclass(frozen=True, slots=True)
class BodyResult:
    """The end of a body that did not die.

    Attributes:
        outcome: ``passed``, ``failed``, ``skipped`` or ``xfailed``.
        text: The reason, or the failure as pytest shows it.
        judged: The checks that failed, one for each signature.
        error: The pickled exception, where it can be pickled.
        tallies: What was judged (``counts``), what a pass does that no contract speaks of (``notes``), why results of
            changed modules were not compared (``uncompared``), and calls that the pass ``removed`` and ``added``.
    """

    outcome: str
    text: str = ""
    judged: tuple[JudgedModule, ...] = ()
    error: bytes = b""
    tallies: dict[str, dict[str, int]] = field(default_factory=lambda: {kind: {} for kind in TALLIES})


@dataclass(frozen=True, slots=True)
class TestBody:
    """A test to be run.

    Attributes:
        item: pytest's.
        folder: Where the module that is being judged is left, should it kill the process.
        seconds: See :func:`run_hypothesis`.
        seed: The same.
        known: Failures that are accepted.
        least: Modules that the pass must change; ``None``: one, where :data:`ENOUGH` were judged.
        shrink: The same.
        passed_over: Modules that are not judged (:attr:`JudgedModule.key`).
    """

    item: pytest.Function
    folder: Path
    seconds: float | None
    seed: int | None
    known: AcceptedFailures
    least: int | None = None
    shrink: bool = False
    passed_over: frozenset[str] = frozenset()


ENOUGH = 20
"""Modules after which it means something that a pass changed none."""
MORE_ROUNDS = 3
"""Runs of Hypothesis after one in which the pass changed too few modules: only those that it changes are judged."""
LAST = "judged"
STDERR = "stderr"
MOST_FAILURES = 3
"""Signatures that one test reports."""
SECONDS_MORE = 5.0
"""For other failures, once there is one."""
ROUND = 50
"""Examples of one run of Hypothesis where time is the limit: the runs go on with other seeds until it is over."""
_SETTINGS = "_hypothesis_internal_use_settings"  # what Hypothesis's own plugin for pytest sets, too
_SEED = "_hypothesis_internal_use_seed"
_body: TestBody | None = None


def prepare(body: TestBody | None) -> None:
    """Say what :func:`run_body` will run; called before the process is forked, since a test cannot be sent to it."""
    global _body
    _body = body


def last_judged(folder: Path) -> JudgedModule | None:
    """Return what was being judged when the process died."""
    try:
        found = pickle.loads((folder / LAST).read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return found if isinstance(found, JudgedModule) else None


class _CheckRecorder:
    """Records each check of the body."""

    def __init__(self, body: TestBody, around: dict[str, Any]) -> None:
        self._file = body.folder / LAST
        self._body = body
        self._around = around
        self._operators: set[str] = set()
        self.seen: set[str] = set()
        self.counts, self.notes, self.uncompared, self.removed, self.added = (Counter[str]() for _ in range(5))
        self._now: JudgedModule | None = None
        self._subject: Subject | None = None
        self.failed: JudgedModule | None = None
        self._over = False
        self._seeking = False

    def lacks(self) -> bool:
        """Say whether the pass changed too few of the modules; of others, only those that it changes are judged now."""
        least = int(self.counts["checks"] >= ENOUGH) if self._body.least is None else self._body.least
        self._seeking = self.counts["checks"] > 0 and self.counts["changed"] < least
        return self._seeking

    def begin(self, subject: Subject, oracles: Iterable[OracleName] | None, *, contract: Contract | None) -> bool:
        refs: list[PassRef] = []
        unknown = ""
        for ref in subject.passes:
            try:
                built = text_of_pass(ref.given, self._around) if isinstance(ref, GivenPass) else ref
                refs.append(PassRef(ref.name, built.expression))  # verdicts name it so
            except PassReferenceError as error:
                refs.append(PassRef(ref.name, ref.expression))
                unknown = unknown or str(error)
        if contract is not None and _pickled(contract):
            refs = [PromisingPass(ref.name, ref.expression, contract) for ref in refs]
        elif contract is not None:
            unknown = unknown or (
                "the contract given to check cannot be pickled, perhaps because of a lambda: use functions at the top "
                "level of a file"
            )
        self._subject = subject
        self._now = JudgedModule(Case(subject.original_facts.snapshot, tuple(refs), subject.input_seed), unknown)
        if self._now.key in self._body.passed_over:
            return False
        if not self._over:
            self._operators.update(operators_of(subject.original))
        self._file.write_bytes(pickle.dumps(self._now))
        begin_case()
        if self._seeking and subject.output.module is not None and not own_changes(subject):
            self.counts["sought"] += 1
            self._file.unlink()
            return False
        return True

    def stage(self, stage: str) -> None:
        breadcrumb(stage)

    def end(self, verdicts: list[Verdict]) -> list[Verdict]:
        die_if_out_of_memory(verdicts)
        judged, verdicts = verdicts, [self._considered(verdict) for verdict in verdicts]
        assert self._now is not None
        assert self._subject is not None
        fails = any(verdict.outcome is Outcome.FAIL for verdict in verdicts)
        if not self._over:
            refused = any(verdict.outcome is Outcome.REJECT for verdict in verdicts)
            self.counts.update({"checks": 1, "failing": fails, "refused": refused})
            if changes := own_changes(self._subject):
                self.counts["changed"] += 1
                live = [tuple(without_dead_code(*pair)) for pair in changes]
                self._count_results(judged, dead=all(equal(*pair) for pair in live))
                removed, added = own_calls(self._subject, live)
                self.removed += removed
                self.added += added
            self.counts["operators"] = len(self._operators)
            self.counts.update(str(verdict.outcome) for verdict in verdicts)
            self.counts["known"] += sum(verdict.reason == KNOWN for verdict in verdicts)
            self.notes.update({verdict.note for verdict in verdicts if verdict.note})
        if fails:
            self.failed = JudgedModule(self._now.case, self._now.unknown, tuple(verdicts))
        self._file.unlink(missing_ok=True)
        breadcrumb("")
        return verdicts

    def _count_results(self, verdicts: list[Verdict], dead: bool) -> None:
        """Count in which way the results of a changed module were compared, or why they were not."""
        for verdict in verdicts:
            if verdict.oracle is OracleName.NUMERIC:
                if verdict.outcome in (Outcome.PASS, Outcome.FAIL):
                    self.counts["compared"] += 1
                    self.counts[verdict.reason or "differing"] += 1
                    self.counts["dead"] += dead
                else:
                    self.uncompared[verdict.reason] += 1

    def _considered(self, verdict: Verdict) -> Verdict:
        """Pass over a failure that is accepted, or was reported by this test."""
        if verdict.outcome is Outcome.FAIL:
            known = self._body.known.holds(verdict)
            if known or signature(verdict).id in self.seen:
                reason = KNOWN if known else "reported above"
                return replace(verdict, outcome=Outcome.SKIP, reason=reason, evidence=None)
        return verdict

    def report(self) -> JudgedModule | None:
        """Return the check that failed last, and pass over its failures from now on."""
        found, self.failed = self.failed, None
        for verdict in () if found is None else found.verdicts:
            if verdict.outcome is Outcome.FAIL:
                self.seen.add(signature(verdict).id)
        return found

    @contextlib.contextmanager
    def example(self) -> Iterator[None]:
        """Count an example, and what is judged in it; none after one that failed: they repeat it, or pass over it."""
        self.counts["examples"] += not self._over
        begin_case()
        try:
            yield
        except Exception as error:
            self._over |= not type(error).__module__.startswith("hypothesis.")  # an assumption that does not hold
            raise


def run_body(_: object) -> Iterator[BodyResult]:
    """Run, in the process, the test that was given to :func:`prepare`."""
    assert _body is not None
    item = _body.item
    if item.config.getoption("capture", "no") == "fd":
        # What TVM writes to the descriptor; with pytest's capture, Python's own ``sys.stderr`` is another.
        descriptor = os.open(_body.folder / STDERR, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 2)
        os.close(descriptor)
    watch = _CheckRecorder(_body, dict(vars(item.module)) if getattr(item, "module", None) is not None else {})
    watched_by(watch)
    judged: list[JudgedModule] = []

    def result() -> BodyResult:
        tallies = {kind: dict(getattr(watch, kind)) for kind in TALLIES}
        return BodyResult(first.outcome, first.text, tuple(judged), first.error, tallies)

    try:
        first = _end_of(_body, watch)
        failed = watch.report()
        if failed is not None and first.by_check:
            judged.append(failed)
            yield result()  # should the process die of what comes now
            several = uses_hypothesis(item.obj) and not _body.shrink and not failed.unknown
            until = time.monotonic() + SECONDS_MORE
            while several and len(judged) < MOST_FAILURES and (left := until - time.monotonic()) > 0:
                _end_of(replace(_body, seconds=left), watch)
                if (failed := watch.report()) is None:
                    break
                judged.append(failed)
    finally:
        watched_by(None)
    yield result()


@dataclass(frozen=True, slots=True)
class _End:
    """The end of one run of the body; ``by_check``: because a check failed."""

    outcome: str
    text: str = ""
    error: bytes = b""
    by_check: bool = False


def _end_of(body: TestBody, watch: _CheckRecorder) -> _End:
    item = body.item
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    try:
        _run(body, watch, lambda: item.obj(**arguments))
    except pytest.skip.Exception as skipped:
        return _End("skipped", str(skipped.msg))
    except pytest.xfail.Exception as expected:
        return _End("xfailed", str(expected.msg))
    except BaseException as raised:
        error = f"{type(raised).__name__}: {printable(str(raised))}"
        if isinstance(raised, PassReferenceError):
            text = "\n".join([error, *(f"    {frame}" for frame in _asked_at(raised))])
        else:
            text = f"{first_line(error)}\n\n{item.repr_failure(pytest.ExceptionInfo.from_exception(raised))}"
        return _End("failed", text, _pickled(raised), _by_check(raised))
    return _End("passed")


def _asked_at(error: BaseException) -> list[str]:
    """Return the line of the user's file that called ``check``."""
    frames = traceback.extract_tb(error.__traceback__)
    asked = [frame for frame, called in itertools.pairwise(frames) if called.filename == check.__code__.co_filename]
    return [f"{Path(at.filename).name}:{at.lineno} in {at.name}: {at.line}" for at in asked[:1]]


def _run(body: TestBody, watch: _CheckRecorder, run: Callable[[], Any]) -> None:
    if not uses_hypothesis(body.item.obj):
        with watch.example():
            run()
        return
    run_hypothesis(
        body.item.obj, run, watch.example, watch.lacks, seconds=body.seconds, seed=body.seed, shrink=body.shrink
    )


def _by_check(error: BaseException) -> bool:
    """Say whether ``check`` raised it, perhaps in a group, as Hypothesis says of what did not come back."""
    return isinstance(error, OracleFailure) or any(map(_by_check, getattr(error, "exceptions", ())))


def _pickled(thing: BaseException | Contract) -> bytes:
    """Pickle it, where another process can have it; of a failed check that has the verdicts."""
    if isinstance(thing, OracleFailure):
        return b""
    try:
        text = pickle.dumps(thing)
        pickle.loads(text)
    except Exception:
        return b""
    return text


class OutOfTime(BaseException):
    """Ends a run of Hypothesis, which lets what is no ``Exception`` pass."""


def uses_hypothesis(test: Any) -> bool:
    """Say whether Hypothesis draws the arguments of a test function."""
    return bool(getattr(test, "is_hypothesis_test", False))


def advice(test: Any) -> str:
    """Say how a test generates more modules that its pass acts on than it does already."""
    aims = [each for each in _given(test) if isinstance(each, Aim)]
    names = dict.fromkeys(row.name for aim in aims for row, _ in aim.rows)
    return how_to_aim([*names], any(aim.elsewhere for aim in aims))


def planted(test: Any) -> list[Fragment]:
    """Return the code that the strategies of a test plant, as far as they tell."""
    return [each for group in _given(test) if isinstance(group, tuple) for each in group if isinstance(each, Fragment)]


def _given(test: Any) -> Iterator[Any]:
    """Yield the arguments of the strategies of a test, as far as they tell."""
    for strategy in getattr(getattr(test, "hypothesis", None), "_given_kwargs", {}).values():
        inner = getattr(strategy, "wrapped_strategy", strategy)
        yield from getattr(getattr(inner, "mapped_strategy", inner), "args", ())


def run_hypothesis(
    test: Any,
    run: Callable[[], Any],
    each: _Context,
    lacks: Callable[[], bool],
    *,
    seconds: float | None,
    seed: int | None,
    shrink: bool,
) -> None:
    """Run a test whose arguments Hypothesis draws; raises what it raises.

    Args:
        test: The function under ``@given``.
        run: Calls it with its fixtures.
        each: Gives the context of each example.
        lacks: Says whether the examples showed too little, and more are to be drawn.
        seconds: Draw for so long; ``None``: as many examples as are set.
        seed: Decides what is drawn; ``None``: Hypothesis does.
        shrink: Whether Hypothesis shrinks what fails.
    """
    from hypothesis import core

    deadline = None if seconds is None else time.monotonic() + seconds
    rounds = 0
    fixed = (seed, getattr(test, _SEED, None), core.global_force_seed)
    repeatable = _settings(test).derandomize or any(each is not None for each in fixed)
    while True:
        # Where the first round is repeatable, the same again would find nothing new, and others could not be repeated.
        varied = random.Random(f"{fixed} {rounds}").getrandbits(63) if rounds and repeatable else seed
        with _prepared(test, each, deadline, varied, shrink):
            try:
                run()
            except OutOfTime:
                return
        rounds += 1
        if (rounds > MORE_ROUNDS or not lacks()) if deadline is None else time.monotonic() > deadline:
            return


def _settings(test: Any) -> Any:
    from hypothesis import settings

    return getattr(test, _SETTINGS, None) or settings.default


@contextlib.contextmanager
def _prepared(test: Any, each: _Context, deadline: float | None, seed: int | None, shrink: bool) -> Iterator[None]:
    from hypothesis import HealthCheck, Phase, settings

    inner = test.hypothesis.inner_test
    begun = False

    @functools.wraps(inner)  # by its source and name Hypothesis tells tests apart, also in its database of examples
    def example(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        nonlocal begun
        if begun and deadline is not None and time.monotonic() > deadline:
            raise OutOfTime
        begun = True
        with each():
            return inner(*arguments, **named)

    before = _settings(test)
    seed_before = getattr(test, _SEED, None)
    quiet = {HealthCheck.too_slow, HealthCheck.data_too_large}
    changes: dict[str, Any] = {"deadline": None, "suppress_health_check": {*before.suppress_health_check, *quiet}}
    # What a seed draws must not depend on what earlier runs have saved.
    omitted = {Phase.reuse} if seed is not None else set()
    if not shrink:
        omitted |= {Phase.shrink, Phase.explain}
        changes["report_multiple_bugs"] = False
    changes["phases"] = [phase for phase in before.phases if phase not in omitted]
    if deadline is not None:
        changes["max_examples"] = ROUND
    setattr(test, _SETTINGS, settings(before, **changes))
    if seed is not None:
        setattr(test, _SEED, seed)
    test.hypothesis.inner_test = example
    try:
        yield
    finally:
        test.hypothesis.inner_test = inner
        setattr(test, _SETTINGS, before)
        setattr(test, _SEED, seed_before)
