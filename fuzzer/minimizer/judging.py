"""Judging a case in an isolated worker: which signatures does it fail with?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.messages import Facts, Failing, Key, Proposal, Request

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker
    from oracles.verdict import OracleName, Verdict

DEFAULT_SECONDS = 20.0
DEFAULT_MEMORY = 3 << 30  # bytes
_MOST_DEATHS = 4  # of the worker while it builds the candidates of one proposal
_STAGE = "minimizer"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What :func:`judge_request` is to judge: a case by some oracles; all of them when none are named.

    With ``plain``, programs are built by plain ``relax.build``, where there is a C++ compiler.
    """

    case: Case
    oracles: tuple[OracleName, ...]
    plain: bool = False


def judge_request(request: Judgement) -> list[Verdict]:
    """Runs in the worker; leaves a breadcrumb before each risky step."""
    from fuzzer.cases import judge_case
    from fuzzer.isolation import breadcrumb
    from oracles.verdict import OracleName

    with _path(request.plain):
        return judge_case(request.case, request.oracles or tuple(OracleName), breadcrumb)


def _path(plain: bool) -> AbstractContextManager[None]:
    from oracles.execution import cxx_available, judge_of_record

    return judge_of_record() if plain and cxx_available() else nullcontext()


def propose_request(request: Request) -> Proposal:
    """Runs in the worker: the next candidates of a reduction; leaves the key of each edit as a breadcrumb."""
    from fuzzer.isolation import breadcrumb
    from fuzzer.minimizer.propose import propose

    def at(key: Key) -> None:
        breadcrumb(f"{_STAGE}: {' '.join(map(str, key))}")

    breadcrumb(_STAGE)
    return propose(request, at)


def _key_of(stage: str) -> Key | None:
    """The key in a breadcrumb."""
    head, _, key = stage.partition(": ")
    return tuple(int(part) for part in key.split()) if head == _STAGE and key else None


def facts_request(module_json: str) -> Facts:
    """Runs in the worker: facts of a module."""
    from fuzzer.minimizer.propose import facts

    return facts(module_json)


class Judge:
    """Judges cases in one worker.

    Args:
        worker: An entered ``IsolatedWorker``.
        oracles: Which oracles may judge: the finding's own suffices. Empty for all.
        seconds: Time limit of one case.
        memory: Memory limit of the worker in bytes.
        plain: Whether programs are built by plain ``relax.build``.
    """

    def __init__(
        self,
        worker: IsolatedWorker,
        oracles: tuple[OracleName, ...],
        seconds: float = DEFAULT_SECONDS,
        memory: int = DEFAULT_MEMORY,
        *,
        plain: bool = False,
    ) -> None:
        self.worker = worker
        self.oracles = oracles
        self.seconds = seconds
        self.memory = memory
        self.plain = plain
        self.trouble = ""  # the last line of the last error of our own code in the worker

    def verdicts(self, case: Case) -> list[Verdict]:
        """All failing verdicts on ``case``; the worker's death is one."""
        from fuzzer.isolation import Died
        from fuzzer.signatures import death_verdict
        from oracles.verdict import Outcome

        answer = self.ask(judge_request, Judgement(case, self.oracles, self.plain))
        if answer is None:
            return []
        if isinstance(answer, Died):
            return [death_verdict(answer, case.name)]
        return [verdict for verdict in answer if verdict.outcome is Outcome.FAIL]

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """All failures of ``case``, each with its signature."""
        from fuzzer.signatures import signature

        found = []
        for verdict in self.verdicts(case):
            name = signature(verdict)
            found.append(Failing(name.id, name.text, verdict))
        return tuple(found)

    def verdict(self, case: Case, signature_id: str) -> Verdict | None:
        """The failing verdict with this signature, if ``case`` has it."""
        from fuzzer.signatures import signature

        return next((item for item in self.verdicts(case) if signature(item).id == signature_id), None)

    def propose(self, request: Request) -> Proposal | None:
        """Candidates, or ``None`` when they cannot be had; an edit that kills the worker is passed over."""
        from fuzzer.isolation import Died

        for _ in range(_MOST_DEATHS):
            answer = self.ask(propose_request, request)
            if isinstance(answer, Proposal):
                return answer
            key = _key_of(answer.stage) if isinstance(answer, Died) else None
            if request.fold > 1:
                request = replace(request, fold=1)  # the key may be one of a smaller module
            elif key is None:
                return None
            else:
                request = replace(request, start=key, skip_start=True)
        return None

    def facts(self, case: Case) -> Facts | None:
        """Facts of the case's module, or ``None`` when they cannot be had."""
        answer = self.ask(facts_request, case.module_json)
        return answer if isinstance(answer, Facts) else None

    def ask(self, function: Callable[[Any], Any], argument: Any) -> Any:
        """Any module-level function in the worker: its result, ``Died``, or ``None`` when it raised."""
        from fuzzer.isolation import ChildError

        try:
            return self.worker.call(function, argument, self.seconds, self.memory)
        except ChildError as error:
            self.trouble = (str(error).strip().splitlines() or [""])[-1]
            return None


def values_matter(verdict: Verdict) -> bool:
    """Whether a failure is about values: then candidates must keep theirs inside the operators' domains.

    So is the death of a running program, which a division of integers by zero may be.
    """
    from oracles.verdict import OracleName

    kind = "" if verdict.evidence is None else verdict.evidence.kind
    return dies_running(verdict) or (verdict.oracle is OracleName.NUMERIC and kind != "does-not-build")


def dies_running(verdict: Verdict) -> bool:
    """Whether the process died of a program that it ran, and not of a pass or of building the program."""
    from fuzzer.repro_ends import is_death

    evidence = verdict.evidence
    return evidence is not None and is_death(evidence) and " during numeric run" in evidence.message


def judging_oracles(verdict: Verdict) -> tuple[OracleName, ...]:
    """The oracles that must run for a failure to show again: its own, or those up to where the process died."""
    from fuzzer.repro_ends import is_death, stage_of
    from oracles.verdict import OracleName

    evidence = verdict.evidence
    if evidence is None or not is_death(evidence):
        return (verdict.oracle,)
    stage = stage_of(evidence)
    return (OracleName.CRASH,) if stage in (None, OracleName.CRASH) else (OracleName.CRASH, stage)
