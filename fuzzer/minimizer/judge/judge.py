"""Judging a case in an isolated worker: which signatures does it fail with?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fuzzer.findings.signature import death_verdict, signature
from fuzzer.minimizer.search.messages import STAGE, Failing, Key, ProposalRequest, ProposedModules, StartFacts
from fuzzer.worker.child import Elsewhere, breadcrumb
from fuzzer.worker.death import Died
from fuzzer.worker.worker import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, ChildError
from oracles.core.verdict import Outcome, Phase
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.worker.worker import IsolatedWorker
    from oracles.core.verdict import Verdict

HANG = "hang"
_MOST_DEATHS = 4  # of the worker while it builds the candidates of one proposal


def judge_request(case: Case, oracles: tuple[OracleName, ...], plain: bool = False) -> list[Verdict]:
    """Judge a case by some oracles, all of them when none are named, in the worker; leaves breadcrumbs.

    With ``plain``, programs are built by plain ``relax.build``, where there is a C++ compiler.
    """
    from fuzzer.core.case import judge_case
    from relaxkit.runtime import cxx_available, judge_of_record

    with judge_of_record() if plain and cxx_available() else nullcontext():
        return judge_case(case, oracles or tuple(OracleName), breadcrumb)


def answered(question: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    """Answer, in the worker, a function that is called with several arguments."""
    function, arguments = question
    return function(*arguments)


def _key_of(stage: str) -> Key | None:
    """Return the key in a breadcrumb."""
    head, _, key = stage.partition(": ")
    return tuple(int(part) for part in key.split()) if head == STAGE and key else None


@dataclass(eq=False)
class Judge:
    """Judges cases in one worker.

    Attributes:
        worker: An entered ``IsolatedWorker``.
        oracles: Which oracles may judge: the finding's own suffices. Empty for all.
        seconds: Time limit of one case.
        memory: Memory limit of the worker in bytes.
        plain: Whether programs are built by plain ``relax.build``.
        trouble: The last line of the last error of our own code in the worker.
    """

    worker: IsolatedWorker
    oracles: tuple[OracleName, ...]
    seconds: float = DEFAULT_TIME_LIMIT
    memory: int = DEFAULT_MEMORY_LIMIT
    plain: bool = field(default=False, kw_only=True)
    trouble: str = field(default="", init=False)

    def verdicts(self, case: Case) -> list[Verdict]:
        """Return all failing verdicts on ``case``; the worker's death is one."""
        answer = self.ask(judge_request, case, self.oracles, self.plain)
        if answer is None:
            return []
        if isinstance(answer, Died):
            return [death_verdict(answer, case.name)]
        return [verdict for verdict in answer if verdict.outcome is Outcome.FAIL]

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """Return all failures of ``case``, each with its signature."""
        found = []
        for verdict in self.verdicts(case):
            name = signature(verdict)
            found.append(Failing(name.id, name.text, verdict))
        return tuple(found)

    def verdict(self, case: Case, signature_id: str) -> Verdict | None:
        """Return the failing verdict with this signature, if ``case`` has it."""
        return next((item for item in self.verdicts(case) if signature(item).id == signature_id), None)

    def propose(self, request: ProposalRequest) -> ProposedModules | None:
        """Return candidates, or ``None`` when they cannot be had; an edit that kills the worker is passed over."""
        for _ in range(_MOST_DEATHS):
            answer = self.ask(Elsewhere("fuzzer.minimizer.propose", "propose"), request)
            if isinstance(answer, ProposedModules):
                return answer
            key = _key_of(answer.stage) if isinstance(answer, Died) else None
            if request.fold > 1:
                request = replace(request, fold=1)  # the key may be one of a smaller module
            elif key is None:
                return None
            else:
                request = replace(request, start=key, skip_start=True)
        return None

    def facts(self, case: Case) -> StartFacts | None:
        """Return facts of the case's module, or ``None`` when they cannot be had."""
        answer = self.ask(Elsewhere("fuzzer.minimizer.propose", "facts"), case.module_json)
        return answer if isinstance(answer, StartFacts) else None

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call any module-level function in the worker; return its result, ``Died``, or ``None`` when it raised."""
        try:
            return self.worker.call(answered, (function, arguments), self.seconds, self.memory)
        except ChildError as error:
            self.trouble = (str(error).strip().splitlines() or [""])[-1]
            return None


def is_hang(verdict: Verdict) -> bool:
    """Say whether the failure is that a case did not end."""
    return verdict.evidence is not None and verdict.evidence.kind == HANG


def values_matter(verdict: Verdict) -> bool:
    """Say whether a failure is about values: then candidates must keep theirs inside the operators' domains.

    So is the death of a running program, which a division of integers by zero may be.
    """
    kind = "" if verdict.evidence is None else verdict.evidence.kind
    return dies_running(verdict) or (verdict.oracle is OracleName.NUMERIC and kind != "does-not-build")


def dies_running(verdict: Verdict) -> bool:
    """Say whether the process died of a program that it ran, and not of a pass or of building the program."""
    evidence = verdict.evidence
    return evidence is not None and evidence.is_death and evidence.details.stage in (Phase.RUN, Phase.RUN_ORIGINAL)


def judging_oracles(verdict: Verdict) -> tuple[OracleName, ...]:
    """Return the oracles that must run for a failure to show again: its own, or those up to where the process died."""
    evidence = verdict.evidence
    if evidence is None or not evidence.is_death:
        return (verdict.oracle,)
    at_work = evidence.details.oracle
    return (OracleName.CRASH,) if at_work in (None, OracleName.CRASH) else (OracleName.CRASH, at_work)
