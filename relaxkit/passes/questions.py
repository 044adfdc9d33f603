"""Questions that are asked of TVM, as Python: a claim asks them, and a script that shows a wrong answer does so, too.

A repro script copies these definitions, so they use nothing but TVM and the standard library.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

KNOWN = {"tvm": tvm, "tvm_ffi": tvm_ffi, "relax": relax, "contextlib": contextlib}
"""What questions may mention besides."""
_code_of = functools.cache(compile)


@dataclass(frozen=True)
class Question:
    """A question, and what a right answer is.

    Attributes:
        wrong: What another answer means, without names of the module.
        said: The same of this module, as what the function does that is asked; with what is in ``of``, and
            ``answer``, in braces.
        asks: The expression that asks, a call of a function of TVM's.
        right: The expression that is true of a right ``answer``; empty where it is right to raise a ``TypeError`` or
            ``ValueError``.
        of: What the expressions mention, by name: parts of the module, types, texts, and lists of these.
        first: Statements that are executed before.
    """

    wrong: str
    said: str
    asks: str
    right: str
    of: dict[str, Any] = field(default_factory=dict)
    first: str = ""

    @property
    def asked(self) -> str:
        """The function that is asked."""
        return self.asks.partition("(")[0]

    def contradiction(self) -> str:
        """Ask; return what is wrong with the answer, or which error came instead; empty for a right one."""
        known = {**KNOWN, **self.of}
        try:
            exec(_code_of(self.first, "<question>", "exec"), known)
            known["answer"] = eval(_code_of(self.asks, "<question>", "eval"), known)
        except (AttributeError, NameError, SyntaxError):  # the question is wrong, and not the answer
            raise
        except Exception as error:
            if not self.right and isinstance(error, TypeError | ValueError):
                return ""
            said = f"{self.asked} raises {type(error).__name__}"
            return f"{said}\n{said}: {error}"
        with contextlib.suppress(tvm.error.InternalError):  # of an answer with which no function can do anything
            if self.right and eval(_code_of(self.right, "<question>", "eval"), known):
                return ""
        said = self.said
        for name in re.findall(r"\{(\w+)\}", said):
            said = said.replace(f"{{{name}}}", str(known.get(name, name)))
        return f"{self.wrong}\n{self.asked} {said}"


def asking(claim: Callable[[Any], Iterator[Question]]) -> Callable[[Any], str]:
    """Make a claim of a function that yields questions: the first that is not answered rightly contradicts it."""

    @functools.wraps(claim)
    def ask(ran: Any) -> str:
        return next(filter(None, (question.contradiction() for question in claim(ran))), "")

    return ask
