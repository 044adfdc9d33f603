"""Values of the symbolic evaluation, and what their types say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import relax

from relaxkit.ir.types import dims_of
from relaxkit.proof.memory import Storage, Tensor
from relaxkit.proof.terms import Open, Term


@dataclass(frozen=True)
class Closure:
    """A function value.

    Attributes:
        bound: Arguments that ``make_closure`` bound; the call's own come first.
    """

    function: Any
    values: Mapping[Any, Value] = field(default_factory=dict)
    dims: Mapping[Any, Any] = field(default_factory=dict)
    bound: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class External:
    """A packed function, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Callback:
    """A function of the caller's, which the program is given or finds by its name."""

    call: Callable[[Sequence[Value]], Value]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A ``PrimFunc``.

    Attributes:
        stored: Places of the parameters that it writes into; ``None`` where it runs code that may write anywhere.
    """

    number: int
    stored: frozenset[int] | None
    function: Any = field(compare=False)


@dataclass(frozen=True, slots=True)
class ShapeHeap:
    """The heap in which a lowered function keeps its dims: its number, and how many slots it has."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class TupleValue:
    """A tuple that the program has built."""

    fields: tuple[Value, ...]


Value = Term | Closure | External | Callback | ShapeHeap | Kernel | TupleValue | Tensor | Storage


def all_dims(ty: Any) -> list[Any]:
    """Return the dims that a type names, fields of a tuple in order; raises ``Open`` where it names a whole shape."""
    if isinstance(ty, relax.TupleType):
        return [dim for each in ty.fields for dim in all_dims(each)]
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.Var):
        raise Open("a type of a computed shape")
    return list(dims_of(ty) or ())


def outline(ty: Any) -> str:
    """Write a type without the dims that it names, and without where its values lie."""
    if isinstance(ty, relax.TupleType):
        return f"({', '.join(outline(each) for each in ty.fields)})"
    if isinstance(ty, relax.TensorType):
        dims = dims_of(ty)
        return f"tensor {ty.dtype} {ty.ndim if dims is None else len(dims)}{'' if dims is not None else '?'}"
    return f"shape {ty.ndim}" if isinstance(ty, relax.ShapeType) else str(ty)


# Where values lie: two of one term may be in memory of their own, and two of other terms in the same.


class Placed(int):
    """A term, and where it lies: what two calls compute may be one term in memory of two allocations."""

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
