"""The user's own criterion in place of an oracle: ``FILE.py:FUNCTION``, which says whether a module still shows it.

Without passes the function is called with the module; with passes, with the module and the pipeline, which it may run.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.judge.criterion import Confirmation, Criterion
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.messages import Failing
from fuzzer.worker.child import breadcrumb
from fuzzer.worker.death import Died

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.worker.worker import IsolatedWorker
    from oracles.core.verdict import Verdict


def predicate_request(case: Case, target: str) -> bool | str:
    """Ask the user's function, in a worker: whether it holds, or why that cannot be said, in one line."""
    from fuzzer.core.case import load_module
    from relaxkit.passes.pass_ref import PassReferenceError, load_factory

    try:
        function = load_factory(target)
    except PassReferenceError as error:
        return " ".join(str(error).split())
    arguments: list[Any] = [load_module(case)]
    if case.passes:
        import tvm

        arguments.append(tvm.transform.Sequential([ref.build() for ref in case.passes]))
    breadcrumb("predicate")
    try:
        answer = function(*arguments)
    except MemoryError:
        raise
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        return f"'{target}' raised {type(error).__name__}{': ' if message else ''}{message}"
    if type(answer).__name__ not in ("bool", "bool_"):  # NumPy's own is as good
        return f"'{target}' returned a {type(answer).__name__}, not True or False"
    return bool(answer)


class PredicateJudge(Judge):
    """Asks the user's function in a worker.

    Attributes:
        criterion: The function.
        problem: Why the last answer was no answer, in one line; empty when it was one.
    """

    def __init__(self, worker: IsolatedWorker, criterion: PredicateCriterion) -> None:
        super().__init__(worker, (), criterion.seconds, criterion.memory)
        self.criterion = criterion
        self.problem = ""

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """Return the criterion where it holds."""
        target = self.criterion.target
        answer = self.ask(predicate_request, case, target)
        if isinstance(answer, bool):
            self.problem = ""
            return (Failing(self.criterion.id, self.criterion.text),) if answer else ()
        ended = f"'{target}' ended the process: {answer.detail}" if isinstance(answer, Died) else self.trouble
        self.problem = answer if isinstance(answer, str) else ended
        return ()


@dataclass(frozen=True)
class PredicateCriterion(Criterion):
    """The user's own criterion.

    Attributes:
        target: ``FILE.py:FUNCTION`` or ``package.module:FUNCTION``.
    """

    target: str

    @property
    def id(self) -> str:
        """Stands for the criterion where findings have the id of their signature."""
        return hashlib.sha256(self.target.encode()).hexdigest()[:10]

    @property
    def text(self) -> str:
        """The criterion in one line."""
        return f"{self.target} holds"

    def judge(self, worker: IsolatedWorker) -> PredicateJudge:
        """Return a judge that asks the function."""
        return PredicateJudge(worker, self)

    def _run(self, case: Case, seen: Verdict | None, *, last: bool) -> Confirmation:
        with self.workers() as worker:
            judge = self.judge(worker)
            judge.facts(case)  # so that starting the process is not timed
            began = time.monotonic()
            holds = bool(judge.failures(case))
        return Confirmation(int(holds), 1, None, time.monotonic() - began, judge.problem)
