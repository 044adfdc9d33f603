"""Where values lie: two of one term may be in memory of their own, and two of other terms in the same."""

from __future__ import annotations

from collections.abc import Sequence

from relaxkit.proof.terms import Term
from relaxkit.proof.values import TupleValue, Value


class Placed(int):
    """A term, and where it lies: what two calls compute may be one term in memory of two allocations.

    Attributes:
        memory: The allocations that it may lie in; a parameter or a constant is its term.
    """

    memory: frozenset[object]

    @classmethod
    def of(cls, term: Term, memory: frozenset[object]) -> Placed:
        """Place a term."""
        placed = cls(term)
        placed.memory = memory
        return placed


def memory_of(*values: Value) -> frozenset[object]:
    """Return the allocations that values may lie in."""
    found: set[object] = set()
    for value in values:
        if isinstance(value, TupleValue):
            found |= memory_of(*value.fields)
        elif isinstance(value, int):
            found |= value.memory if isinstance(value, Placed) else {value}
    return frozenset(found)


def placed(value: Value, others: Sequence[Value] = ()) -> Value:
    """Place what a call has made: each tensor in an allocation of its own, or where others may lie."""
    if isinstance(value, TupleValue):
        return TupleValue(tuple(placed(each, others) for each in value.fields))
    return Placed.of(value, memory_of(*others) | {object()}) if isinstance(value, int) else value
