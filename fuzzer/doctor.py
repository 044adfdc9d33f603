"""What works on this machine: checks that try the thing itself, each of which ends in one line."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

CAMPAIGN_NEEDS_IT = 1
"""Exit code when something that a campaign needs does not work."""


class Health(enum.Enum):
    """How a check ended."""

    OK = "ok"
    WARN = "warn"  # works without it; the line says at what price
    FAIL = "fail"  # a campaign needs it


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried.

    Attributes:
        name: What.
        health: How it ended.
        found: What was seen, in a few words.
        remedy: What it costs, or what mends it; empty when nothing is amiss.
    """

    name: str
    health: Health
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.found, self.remedy)))


def ok(name: str, found: str) -> Check:
    """A check that ended well."""
    return Check(name, Health.OK, found)


def examine(out: Path) -> list[Check]:
    """All checks, in the order of the layers that they stand on; takes some ten seconds of one core.

    TVM is imported in child processes only, since it may be the thing that is broken.

    Args:
        out: Directory that campaigns are to be written to; need not be there, and is not made.
    """
    from fuzzer import doctor_machine as machine
    from fuzzer import doctor_tvm

    return [
        machine.platform(),
        *doctor_tvm.checks(),
        machine.cxx(),
        machine.processors(),
        machine.memory(),
        machine.out_directory(out),
        machine.temporary_directory(),
        *machine.extras(),
    ]


def worst(checks: list[Check]) -> Health:
    """The verdict over all of them."""
    order = list(Health)
    return max((check.health for check in checks), key=order.index, default=Health.OK)
