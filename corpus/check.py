"""Check cases of the corpus against their expectations, in isolated processes."""

from __future__ import annotations

import importlib.metadata
import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from corpus.case import ExpectedVerdict, KnownCase, load_module
from fuzzer.core.text import first_line
from fuzzer.worker.child import begin_case, breadcrumb
from fuzzer.worker.death import Death, Died
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Breadcrumb, Details, Evidence, Outcome, Verdict
from relaxkit.compat.known import RELEASES
from relaxkit.passes.contract import OracleName

# A case takes well under a second, a build included; a minute for one is a hang.
TIME_LIMIT = 60.0
RUN_CASE = "case"
RUN_REPLICA = "replica"
_LOAD = "load"
_OWN_STAGES = ("", _LOAD)
"""Before the first step of judging, what ends the process is no pass."""
_WORST_FIRST = (Outcome.FAIL, Outcome.INVALID, Outcome.REJECT, Outcome.PASS, Outcome.SKIP)

Run = tuple[KnownCase, str]
"""A case, and which of its passes are judged: ``RUN_CASE`` or ``RUN_REPLICA``."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One run of one case, compared.

    Attributes:
        case: The case.
        run: ``case`` or ``replica``.
        expectation: ``None`` when the case says nothing of this TVM version.
        verdict: The verdict of the case's oracle; ``FAIL`` by the crash oracle when the process died.
        died: The process died.
        problem: Why it is not as expected, one line; empty when it is.
        note: On a release other than the newest, of which the case says nothing: what was measured, or why the module
            cannot be had there. Empty otherwise.
    """

    case: KnownCase
    run: str
    expectation: ExpectedVerdict | None
    verdict: Verdict
    died: bool
    problem: str
    note: str = ""

    @property
    def ok(self) -> bool:
        """Say whether the run is as expected."""
        return not self.problem

    @property
    def text(self) -> str:
        """The verdict in one line, for people."""
        return text_of(self.verdict)


def text_of(verdict: Verdict) -> str:
    """Write a verdict in one line: ``fail (InternalError: Check failed)``."""
    kind, message = _evidence(verdict)
    lines = message.strip().splitlines()
    detail = verdict.reason or ": ".join(part for part in (kind, lines[0] if lines else "") if part)
    return f"{verdict.outcome} ({detail})" if detail else str(verdict.outcome)


def _evidence(verdict: Verdict) -> tuple[str, str]:
    return ("", "") if verdict.evidence is None else (verdict.evidence.kind, verdict.evidence.message)


def tvm_version() -> str:
    """Return the version of the installed TVM, without importing it."""
    return importlib.metadata.version("apache-tvm")


def check_cases(
    cases: Iterable[KnownCase], version: str | None = None, time_limit: float = TIME_LIMIT
) -> list[CheckResult]:
    """Run cases in isolated processes and compare with what they expect of ``version`` (default: the installed TVM).

    Cases share a process until one dies; those marked ``isolated`` get one each, because they are expected to die.
    ``time_limit`` is in seconds for one case.  The results come in the order of the cases.
    """
    cases = list(cases)
    version = version or tvm_version()
    runs: list[Run] = [(case, run) for case in cases for run in (RUN_CASE, *((RUN_REPLICA,) if case.replica else ()))]
    observed: dict[int, Verdict | Died] = {}
    shared = [at for at, (case, _) in enumerate(runs) if not case.isolated]
    with IsolatedWorker(time_limit=time_limit) as worker:
        for group in (shared, *([at] for at, (case, _) in enumerate(runs) if case.isolated)):
            worker.fresh()
            answers = list(worker.each(_judge_runs, [runs[at] for at in group]))
            for at, answer in zip(group, answers, strict=False):  # it may also die behind the last one
                observed[at] = answer
    return [compare(case, run, observed[at], version) for at, (case, run) in enumerate(runs)]


def compare(case: KnownCase, run: str, answer: Verdict | Died, version: str) -> CheckResult:
    """Compare the verdict on one run, or the death of its process, with the expectation for ``version``."""
    died = isinstance(answer, Died)
    verdict = _death(answer) if isinstance(answer, Died) else answer
    expectation = case.expectation_for(version)
    if expectation is None and version != RELEASES[0].tvm:
        return CheckResult(case, run, None, verdict, died, "", _note(verdict))
    if run == RUN_REPLICA and case.replica:
        expectation = ExpectedVerdict(case.replica.expected, case.replica.pattern)
    return CheckResult(case, run, expectation, verdict, died, _problem(case, expectation, verdict, version))


def _note(verdict: Verdict) -> str:
    if verdict.outcome is not Outcome.INVALID:
        return f"measured: {text_of(verdict)}"
    # The module is TVMScript or JSON of the newest release; another one may not know what is in it.
    kind, message = _evidence(verdict)
    return f"not available on this release: {kind}: {first_line(message, verdict.reason)}"


def _problem(case: KnownCase, expectation: ExpectedVerdict | None, verdict: Verdict, version: str) -> str:
    measured = text_of(verdict)
    if expectation is None:
        return f"no expectation for TVM {version}; measured: {measured}"
    if verdict.outcome is not expectation.outcome or verdict.oracle is not case.oracle:
        return f"expected {expectation.outcome} of {case.oracle}, measured {verdict.oracle} {measured}"
    if expectation.outcome is Outcome.FAIL and expectation.pattern:
        frames = verdict.evidence.frames if verdict.evidence else ()
        if not re.search(expectation.pattern, "\n".join([": ".join(_evidence(verdict)), *frames])):
            return f"fails differently than expected: /{expectation.pattern}/ is not in {measured}"
        if case.subject and verdict.evidence and verdict.evidence.details.subject != case.subject:
            return f"fails differently than expected: about {verdict.evidence.details.subject}, not {case.subject}"
    return ""


def _judge_runs(runs: Sequence[Run]) -> Iterator[Verdict]:
    """Judge, inside the isolated process, one run after the other."""
    for case, run in runs:
        begin_case()
        breadcrumb(_LOAD)
        try:
            yield _verdict(case, run)
        except Exception as error:  # one broken case must not hide the others
            evidence = Evidence(type(error).__name__, str(error))
            yield Verdict(case.oracle, Outcome.INVALID, case.blamed, "the case could not be judged", evidence)


def _verdict(case: KnownCase, run: str) -> Verdict:
    """Return the verdict of the case's oracle on one run.

    An isolated case is judged by every oracle, the numeric one too: whichever kills the process, it is the crash
    oracle's verdict, which only the parent can give.  If nothing dies, the verdict of the case's own oracle stands.

    Raises:
        CaseError: When the module does not load.
    """
    from oracles.core.subject import Subject
    from oracles.judge import judge
    from relaxkit.passes.contracts import contract_for

    passes = case.replica_passes if run == RUN_REPLICA else case.passes
    contracts = [contract_for(ref) for ref in passes]
    subject = Subject(load_module(case), passes, contracts, input_seed=case.input_seed, stage=breadcrumb)
    oracles = None if case.isolated else [case.oracle]
    verdicts = [verdict for verdict in judge(subject, oracles) if verdict.oracle is case.oracle]
    if case.culprit and run == RUN_CASE:  # what the oracle says of the passes is not what the case is about
        verdicts = [verdict for verdict in verdicts if verdict.culprit == case.culprit] or verdicts
    # A pipeline may be judged in several parts: the worst verdict counts.
    return min(verdicts, key=lambda verdict: _WORST_FIRST.index(verdict.outcome))


def _death(died: Died) -> Verdict:
    """Take the death of the process as the crash oracle's failure of the run that it came in."""
    if died.stage in _OWN_STAGES and died.death is Death.EXIT:  # no exception leaves the loop: it was not judged
        evidence = Evidence("", died.detail)
        return Verdict(OracleName.CRASH, Outcome.INVALID, "", "the process stopped", evidence)
    happened = died.kind
    if died.death is Death.SIGNAL and died.code is not None:
        happened = f"{signal.Signals(died.code).name} killed the process"
    elif died.death is Death.HANG:
        happened = "no end within the limit"
    where = Breadcrumb.read(died.stage).title
    evidence = Evidence(died.kind, f"{happened} in {where}", details=Details(death=died.death, code=died.code or 0))
    return Verdict(OracleName.CRASH, Outcome.FAIL, "", evidence=evidence)
