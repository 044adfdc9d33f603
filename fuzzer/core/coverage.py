"""Coverage: counts of what a campaign generated and of what its passes did with it, which add up over shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

MOST_NAMED = 3
"""So many kinds are named on each side of a rewrite; more are ``many``.  It bounds what a campaign stores of passes
that rewrite everything, whose exact differences are as many as there are modules."""
MANY_TIMES = 3
REWRITTEN_IN_PLACE = "same operators"
"""A rewrite that changed attributes, types, names of functions or the order, and no operator."""
UNREADABLE = "unreadable"
"""A rewrite whose output has not the form of a Relax module."""


@dataclass(slots=True)
class Coverage:
    """Counts of modules by what they had, and of subjects by what a pass did.

    Attributes:
        bindings: Bindings of all modules together.
        features: Modules by feature.
        idioms: Modules by planted idiom.
        operators: Modules by operator that they call.
        operands: Modules by operator, dtype and rank of an operand.
        pairs: Modules by pair of operators (``strategies.detect.profile``).
        judged: Subjects by pass, ``pipeline`` for several passes.
        changed: Of these, subjects whose module another one came out of.
        rewrites: Subjects by pass and rewrite (:func:`rewrite`).
    """

    bindings: int = 0
    features: Counter[str] = field(default_factory=Counter)
    idioms: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    operands: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    rewrites: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, more: Coverage) -> None:
        """Count what another one has counted as well."""
        for name in _NAMES:
            mine, others = getattr(self, name), getattr(more, name)
            if isinstance(mine, int):
                setattr(self, name, mine + others)
            else:
                add_counts(mine, others)


_NAMES = tuple(each.name for each in fields(Coverage))


def add_counts(counts: dict[Any, Any], more: Mapping[Any, Any]) -> None:
    """Add counts to others, in place; at a third of what ``Counter.update`` takes for it."""
    if not counts:
        dict.update(counts, more)
        return
    there = counts.get
    for key, count in more.items():
        counts[key] = there(key, 0) + count


def rewrite(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Describe what a pass did by the operators that vanished and appeared: ``-relax.matmul x2 +relax.linear``.

    Args:
        before: Operators and other parts of the module that went in (``strategies.detect.profile.Profile.counts``).
        after: Those of the module that came out.
    """
    gone, come = [], []
    for name in before.keys() | after.keys():
        difference = after.get(name, 0) - before.get(name, 0)
        if difference < 0:
            gone.append((name, -difference))
        elif difference > 0:
            come.append((name, difference))
    return " ".join(_side("-", gone) + _side("+", come)) or REWRITTEN_IN_PLACE


def _side(sign: str, counts: list[tuple[str, int]]) -> list[str]:
    if len(counts) > MOST_NAMED:
        return [f"{sign}many"]
    times = {1: "", **{many: f" x{many}" for many in range(2, MANY_TIMES)}}
    return [f"{sign}{name}{times.get(count, f' x{MANY_TIMES}+')}" for name, count in sorted(counts)]
