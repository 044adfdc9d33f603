"""The user's own criterion in place of an oracle: ``FILE.py:FUNCTION``, which says whether a module still shows it.

Without passes the function is called with the module; with passes, with the module and the pipeline, which it may run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzzer.minimizer.judging import Judge
from fuzzer.minimizer.messages import Failing

if TYPE_CHECKING:
    from fuzzer.cases import Case


@dataclass(frozen=True, slots=True)
class Question:
    """What :func:`predicate_request` is to find out."""

    case: Case
    target: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Whether it holds, or why that could not be said, in one line."""

    holds: bool = False
    problem: str = ""


def predicate_request(question: Question) -> Reply:
    """Runs in a worker: ask the user's function."""
    from fuzzer.cases import load_module
    from fuzzer.isolation import breadcrumb
    from oracles.passref import PassReferenceError, load_factory

    try:
        function = load_factory(question.target)
    except PassReferenceError as error:
        return Reply(problem=" ".join(str(error).split()))
    arguments: list[Any] = [load_module(question.case)]
    if question.case.passes:
        import tvm

        arguments.append(tvm.transform.Sequential([ref.build() for ref in question.case.passes]))
    breadcrumb("predicate")
    try:
        answer = function(*arguments)
    except MemoryError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        return Reply(problem=f"'{question.target}' raised {type(error).__name__}{': ' if said else ''}{said}")
    if type(answer).__name__ not in ("bool", "bool_"):  # NumPy's own is as good
        return Reply(problem=f"'{question.target}' gave a {type(answer).__name__}, not True or False")
    return Reply(bool(answer))


class PredicateJudge(Judge):
    """Asks the user's function in a worker.

    Attributes:
        target: ``FILE.py:FUNCTION`` or ``package.module:FUNCTION``.
        problem: Why the last answer was no answer, in one line; empty when it was one.
    """

    target = ""
    problem = ""

    def failures(self, case: Case) -> tuple[Failing, ...]:
        """The criterion where it holds."""
        from fuzzer.isolation import Died

        answer = self.ask(predicate_request, Question(case, self.target))
        if isinstance(answer, Reply):
            self.problem = answer.problem
            return (Failing(predicate_id(self.target), f"{self.target} holds"),) if answer.holds else ()
        self.problem = (
            f"'{self.target}' ended the process: {answer.detail}" if isinstance(answer, Died) else self.trouble
        )
        return ()


def predicate_id(target: str) -> str:
    """Stands for a criterion where findings have the id of their signature."""
    return hashlib.sha256(target.encode()).hexdigest()[:10]
