"""The inside of the process that runs one test: its body, and what it says of each module that is judged."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fuzzer.cases import Case
from fuzzer.isolation import begin_case, breadcrumb, die_if_out_of_memory
from oracles.check import OracleFailure, watched_by
from oracles.named import text_of_pass
from oracles.passref import GivenPass, PassRef, PassReferenceError
from oracles.verdict import OracleName, Outcome, Verdict
from relaxfuzz_pytest.drawing import drawn, draws

if TYPE_CHECKING:
    from oracles.subject import Subject


@dataclass(frozen=True, slots=True)
class Judged:
    """A module that a test had judged, as another process can judge it again.

    Attributes:
        case: Module and passes; where ``unknown`` says why nothing tells how to build them, they are names only.
        unknown: Why no other process can judge it so; empty when it can.
        verdicts: What the oracles said; empty before they did.
    """

    case: Case
    unknown: str = ""
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a body ended that did not die.

    Attributes:
        outcome: ``passed``, ``failed``, ``skipped`` or ``xfailed``.
        text: The reason, or the failure as pytest shows it.
        judged: The check that failed, where one did.
        error: The pickled exception, where it can be pickled.
        counts: What was judged.
    """

    outcome: str
    text: str = ""
    judged: Judged | None = None
    error: bytes = b""
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Body:
    """A test to be run.

    Attributes:
        item: pytest's.
        folder: Where the module that is being judged is left, should it kill the process.
        seconds: See :func:`relaxfuzz_pytest.drawing.drawn`.
        seed: The same.
        shrink: The same.
    """

    item: Any
    folder: Path
    seconds: float | None
    seed: int | None
    shrink: bool = False


LAST = "judged"
STDERR = "stderr"
_body: Body | None = None


def prepare(body: Body | None) -> None:
    """Say what :func:`run_body` will run; called before the process is forked, since a test cannot be sent to it."""
    global _body
    _body = body


def last_judged(folder: Path) -> Judged | None:
    """What was being judged when the process died."""
    try:
        found = pickle.loads((folder / LAST).read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return found if isinstance(found, Judged) else None


class _Watch:
    """Notes each check of the body."""

    def __init__(self, folder: Path, around: dict[str, Any]) -> None:
        self._file = folder / LAST
        self._around = around
        self._now: Judged | None = None
        self._subject: Subject | None = None
        self.failed: Judged | None = None
        self.counts: Counter[str] = Counter()

    def begin(self, subject: Subject, oracles: Iterable[OracleName] | None, *, own_contract: bool) -> None:
        refs, unknown = [], ""
        for ref in subject.passes:
            try:
                refs.append(text_of_pass(ref.given, self._around) if isinstance(ref, GivenPass) else ref)
            except PassReferenceError as error:
                refs.append(PassRef(ref.name, ref.expression))
                unknown = unknown or str(error)
        if own_contract and not unknown:
            unknown = (
                "a contract was given to check: make it the attribute `contract` of the function that builds the pass"
            )
        self._subject = subject
        self._now = Judged(Case(subject.given_facts.snapshot, tuple(refs), subject.input_seed), unknown)
        self._file.write_bytes(pickle.dumps(self._now))
        begin_case()

    def stage(self, stage: str) -> None:
        breadcrumb(stage)

    def end(self, verdicts: list[Verdict]) -> None:
        die_if_out_of_memory(verdicts)
        assert self._now is not None
        assert self._subject is not None
        self.counts["checks"] += 1
        self.counts["changed"] += bool(self._subject.ran and self._subject.changed)
        self.counts.update(str(verdict.outcome) for verdict in verdicts)
        if any(verdict.outcome is Outcome.FAIL for verdict in verdicts):
            self.failed = Judged(self._now.case, self._now.unknown, tuple(verdicts))
        self._file.unlink(missing_ok=True)
        breadcrumb("")

    def example(self) -> None:
        """An example begins."""
        self.counts["examples"] += 1
        begin_case()


def run_body(_: object) -> Iterator[Ended]:
    """Runs in the process: the test that :func:`prepare` was told."""
    assert _body is not None
    item = _body.item
    if item.config.getoption("capture", "no") == "fd":
        _native_messages_to(_body.folder / STDERR)
    watch = _Watch(_body.folder, dict(vars(item.module)) if getattr(item, "module", None) is not None else {})
    watched_by(watch)
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    outcome, text, error = "passed", "", b""
    failed: Judged | None = None
    try:
        _run(_body, watch, lambda: item.obj(**arguments))
    except pytest.skip.Exception as skipped:
        outcome, text = "skipped", str(skipped.msg)
    except pytest.xfail.Exception as expected:
        outcome, text = "xfailed", str(expected.msg)
    except BaseException as raised:
        outcome = "failed"
        text = str(item.repr_failure(pytest.ExceptionInfo.from_exception(raised)))
        error = _pickled(raised)
        failed = watch.failed if _by_check(raised) else None
    finally:
        watched_by(None)
    yield Ended(outcome, text, failed, error, dict(watch.counts))


def _native_messages_to(path: Path) -> None:
    """What TVM writes to the descriptor; with pytest's capture, Python's own ``sys.stderr`` is another."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _run(body: Body, watch: _Watch, run: Callable[[], Any]) -> None:
    if not draws(body.item.obj):
        watch.example()
        run()
        return
    drawn(body.item.obj, run, watch.example, seconds=body.seconds, seed=body.seed, shrink=body.shrink)


def _by_check(error: BaseException) -> bool:
    """Whether ``check`` raised it, perhaps in a group, as Hypothesis says of what did not come back."""
    return isinstance(error, OracleFailure) or any(map(_by_check, getattr(error, "exceptions", ())))


def _pickled(error: BaseException) -> bytes:
    """The exception, where the parent can have it; a failed check is told by its verdicts."""
    if isinstance(error, OracleFailure):
        return b""
    try:
        text = pickle.dumps(error)
        pickle.loads(text)
    except Exception:
        return b""
    return text
