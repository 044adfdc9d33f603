"""How isolated processes end without an answer."""

from __future__ import annotations

import enum
import signal
from dataclasses import dataclass, field
from typing import Any


class Death(enum.Enum):
    """How an isolated process ended."""

    SIGNAL = "signal"
    HANG = "hang"
    MEMORY = "memory"
    EXIT = "exit"


UNKNOWN_EXIT = 255
"""The exit code of a process whose fork server was gone before it."""
_FROM_OUTSIDE = frozenset(
    [f"exit {UNKNOWN_EXIT}"]
    + [f"signal {int(number)}" for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGIO)]
)


@dataclass(frozen=True, slots=True)
class Died:
    """An isolated process that did not answer.

    Attributes:
        death: How it ended.
        detail: For people: ``signal 11 (SIGSEGV)``, ``no answer within 20 s``.
        stage: The last breadcrumb, ``oracle: pass``.
        left: What it had jotted down (``fuzzer.journal``) and not told.
    """

    death: Death
    detail: str
    stage: str
    left: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @property
    def kind(self) -> str:
        """Class of the failure, as evidence names it: ``signal 11``, ``hang``, ``memory``, ``exit 3``."""
        if self.death in (Death.SIGNAL, Death.EXIT):
            return " ".join(self.detail.split()[:2])
        return str(self.death.value)

    @property
    def doubtful(self) -> bool:
        """Whether somebody else may have ended it, as a person or the system does when memory is short.

        What it was doing is then no evidence: only a case that ends processes again and again is to blame.
        """
        return self.kind in _FROM_OUTSIDE


def buried(code: int | None, stage: str) -> Died:
    """The death that an exit code tells of."""
    if code is not None and code < 0:
        return Died(Death.SIGNAL, f"signal {-code} ({_name(-code)})", stage)
    return Died(Death.EXIT, f"exit {code}", stage)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
