"""Check cases of the corpus against their expectations, in child processes."""

from __future__ import annotations

import importlib.metadata
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpus.case import Expectation, KnownCase
from corpus.loader import CASES
from corpus.runner import RUN_CASE, RUN_REPLICA, runs
from oracles.verdict import OracleName, Outcome
from releases.known import RELEASES

# A case takes well under a second, a build included; a minute without a line is a hang.
TIME_LIMIT = 60.0
_OWN_STAGES = ("start", "load")
"""Before the first step of judging, what ends the child is no pass."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run of a case gave.

    Attributes:
        outcome: The oracle's word; ``FAIL`` by the crash oracle when the process died.
        oracle: Who said it.
        reason: Of a skip, reject or invalid.
        kind: Of the evidence (``InternalError``, ``signal 11``, ``exit 3``, ``hang``).
        message: Of the evidence.
        frames: Of the evidence.
    """

    outcome: Outcome
    oracle: OracleName
    reason: str = ""
    kind: str = ""
    message: str = ""
    frames: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """One line for people."""
        lines = self.message.strip().splitlines()
        detail = self.reason or ": ".join(part for part in (self.kind, lines[0] if lines else "") if part)
        return f"{self.outcome} ({detail})" if detail else str(self.outcome)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One run of one case, compared.

    Attributes:
        case: The case.
        run: ``case`` or ``replica``.
        expectation: ``None`` when the case says nothing of this TVM version.
        observation: What was seen.
        problem: Why it is not as expected, one line; empty when it is.
        note: On a release other than the newest, of which the case says nothing: what was measured, or why the module
            cannot be had there. Empty otherwise.
    """

    case: KnownCase
    run: str
    expectation: Expectation | None
    observation: Observation
    problem: str
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the run is as expected."""
        return not self.problem


def tvm_version() -> str:
    """Version of the installed TVM, without importing it."""
    return importlib.metadata.version("apache-tvm")


def check_case(case: KnownCase, version: str | None = None, time_limit: float = TIME_LIMIT) -> list[CheckResult]:
    """Run one case, and its replica, in a child process; see :func:`check_cases`."""
    return check_cases([case], version, time_limit)


def check_cases(
    cases: Iterable[KnownCase], version: str | None = None, time_limit: float = TIME_LIMIT
) -> list[CheckResult]:
    """Run cases in child processes and compare with what they expect of ``version`` (default: the installed TVM).

    Cases share one child until one dies; those marked ``isolated`` get one each, because they are expected to die.
    ``time_limit`` is in seconds without a line from the child.  The results come in the order of the cases.
    """
    cases = list(cases)
    version = version or tvm_version()
    observed: dict[tuple[str, str], Observation] = {}
    for group in _groups(cases):
        pending = [(case, run) for case in group for run in runs(case)]
        while pending:
            seen = _run_child(pending, time_limit)
            observed.update(seen)
            if not seen:  # cannot happen: a child that dies names at least its first run
                raise RuntimeError(f"the child process said nothing of {pending[0][0].slug}")
            pending = [(case, run) for case, run in pending if (case.slug, run) not in observed]
    return [compare(case, run, observed[case.slug, run], version) for case in cases for run in runs(case)]


def compare(case: KnownCase, run: str, observation: Observation, version: str) -> CheckResult:
    """Compare one observation with the expectation for ``version``."""
    expectation = case.expectation_for(version)
    if expectation is None and version != RELEASES[0].tvm:
        return CheckResult(case, run, None, observation, "", _note(observation))
    if run == RUN_REPLICA and case.replica:
        expectation = case.replica.expectation
    return CheckResult(case, run, expectation, observation, _problem(case, expectation, observation, version))


def _note(observation: Observation) -> str:
    if observation.outcome is not Outcome.INVALID:
        return f"measured: {observation.text}"
    # The module is TVMScript or JSON of the newest release; another one may not know what is in it.
    said = [line.strip() for line in observation.message.splitlines() if line.strip()]
    return f"cannot be had on this release: {observation.kind}: {said[0] if said else observation.reason}"


def _problem(case: KnownCase, expectation: Expectation | None, observation: Observation, version: str) -> str:
    if expectation is None:
        return f"no expectation for TVM {version}; measured: {observation.text}"
    if observation.outcome is not expectation.outcome or observation.oracle is not case.oracle:
        return f"expected {expectation.outcome} of {case.oracle}, measured {observation.oracle} {observation.text}"
    if expectation.outcome is Outcome.FAIL and expectation.pattern:
        seen = "\n".join([f"{observation.kind}: {observation.message}", *observation.frames])
        if not re.search(expectation.pattern, seen):
            return f"fails otherwise than expected: /{expectation.pattern}/ is not in {observation.text}"
    return ""


def _groups(cases: Sequence[KnownCase]) -> list[list[KnownCase]]:
    # One root a child: its cases are named by slug alone.
    shared: dict[Path, list[KnownCase]] = {}
    alone: list[list[KnownCase]] = []
    for case in cases:
        if case.isolated:
            alone.append([case])
        else:
            shared.setdefault(case.directory.parent, []).append(case)
    return [*shared.values(), *alone]


def _run_child(pending: Sequence[tuple[KnownCase, str]], time_limit: float) -> dict[tuple[str, str], Observation]:
    """Judge in one child until the end or its death; a death is the crash oracle's failure of the run it came in."""
    root = pending[0][0].directory.parent
    targets = [f"{case.slug}:{run}" for case, run in pending]
    command = [sys.executable, "-m", "corpus.runner", "--root", str(root if root.is_dir() else CASES), *targets]
    observed: dict[tuple[str, str], Observation] = {}
    current, stage, hung = (pending[0][0].slug, RUN_CASE), "start", threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        errors: list[str] = []
        drain = threading.Thread(target=lambda: errors.extend(child.stderr or ()), daemon=True)
        drain.start()

        def expire() -> None:
            hung.set()
            child.kill()

        assert child.stdout is not None
        timer = threading.Timer(time_limit, expire)
        timer.start()
        for line in child.stdout:
            timer.cancel()
            values = _parse(line)
            if values is not None:
                current = (values["slug"], values["run"])
                stage = values.get("stage", stage)
                if "outcome" in values:
                    observed[current] = _observation(values)
            timer = threading.Timer(time_limit, expire)
            timer.start()
        child.wait()
        timer.cancel()
        drain.join(timeout=5)
    if current not in observed:  # a pass may end the process by any exit code, 0 too
        observed[current] = _death(child.returncode, hung.is_set(), stage, "".join(errors))
    return observed


def _parse(line: str) -> dict[str, Any] | None:
    try:
        values = json.loads(line)
    except ValueError:
        return None  # something that TVM printed
    return values if isinstance(values, dict) and "slug" in values and "run" in values else None


def _observation(values: dict[str, Any]) -> Observation:
    return Observation(
        Outcome(values["outcome"]), OracleName(values["oracle"]), values["reason"], values["kind"], values["message"],
        tuple(values["frames"]),
    )  # fmt: skip


def _death(code: int, hung: bool, stage: str, errors: str) -> Observation:
    if hung:
        return Observation(Outcome.FAIL, OracleName.CRASH, kind="hang", message=f"no end within the limit in {stage}")
    if code < 0:
        name = signal.Signals(-code).name
        message = f"{name} killed the process in {stage}"
        return Observation(Outcome.FAIL, OracleName.CRASH, kind=f"signal {-code}", message=message)
    if stage not in _OWN_STAGES:  # no exception leaves the runner: it was the pass that ended the process
        return Observation(Outcome.FAIL, OracleName.CRASH, kind=f"exit {code}", message=f"exit {code} in {stage}")
    last = errors.strip().splitlines()[-1:] or [f"exit code {code}"]
    return Observation(Outcome.INVALID, OracleName.CRASH, reason="the runner stopped", message=last[0])
