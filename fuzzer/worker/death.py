"""The ways in which isolated processes end without an answer."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from oracles.core.verdict import Death

__all__ = ["UNKNOWN_EXIT", "Death", "Died"]

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
        detail: For readers: ``signal 11 (SIGSEGV)``, ``no answer within 20 s``.
        stage: The last step that it recorded, ``oracle: pass``.
        code: The number of the signal, or the exit code.
        early: Whether it was ended before the time limit, for a step that takes far longer than others of its kind.
        unsent: Items that it had recorded (``fuzzer.worker.flight_recorder``) and not sent.
    """

    death: Death
    detail: str
    stage: str
    code: int | None = None
    early: bool = field(default=False, compare=False)
    unsent: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def by_exit_code(cls, code: int | None, stage: str) -> Died:
        """Return the death that an exit code of ``multiprocessing`` or ``subprocess`` tells of."""
        if code is not None and code < 0:
            return cls(Death.SIGNAL, f"signal {-code} ({_name(-code)})", stage, -code)
        return cls(Death.EXIT, f"exit {code}", stage, code)

    @property
    def kind(self) -> str:
        """Class of the failure, as evidence names it: ``signal 11``, ``hang``, ``memory``, ``exit 3``."""
        if self.death in (Death.SIGNAL, Death.EXIT):
            return f"{self.death.value} {self.code}"
        return str(self.death.value)

    @property
    def doubtful(self) -> bool:
        """Say whether somebody else may have ended it, as a person or the system does when memory is short.

        What it was doing is then no evidence: only a case that ends processes again and again is to blame.
        """
        return self.kind in _FROM_OUTSIDE


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
