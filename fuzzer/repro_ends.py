"""How a process ended: what its parent saw, and where it was then."""

from __future__ import annotations

import re

from oracles.verdict import Evidence, OracleName


def is_death(evidence: Evidence) -> bool:
    """Whether the process died, ended itself, hung or ran out of memory, which only its parent can see."""
    return evidence.kind in ("hang", "memory") or evidence.kind.startswith(("signal ", "exit "))


def stage_of(evidence: Evidence) -> OracleName | None:
    """The oracle at work when the process died, from the breadcrumb in the message."""
    found = re.search(r"during ([\w-]+)", evidence.message)
    return next((name for name in OracleName if found is not None and name.value == found.group(1)), None)
