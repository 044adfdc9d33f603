"""Values of the symbolic evaluation, and what their types say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.lowered import stored_parameters
from relaxkit.ir.types import dims_of
from relaxkit.proof.memory import Storage, Tensor
from relaxkit.proof.terms import Open, Term, Terms


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


def kernel_of(terms: Terms, function: Any) -> Kernel:
    """Return a kernel by its body; its name and its attributes say nothing of what it computes.

    One that is known by its address is looked at again only where its hash is another: a pass may have modified it.
    """
    digest = int(tvm_ffi.structural_hash(function))
    known = terms.kernels.get(address := function.__chandle__())
    if known is None or known[0] != digest:
        bare = function
        for key in [] if function.attrs is None else list(function.attrs.keys()):
            bare = bare.without_attr(key)
        kernel = Kernel(terms.objects.number(bare), stored_parameters(bare), bare)
        known = terms.kernels[address] = digest, function, kernel
    return known[2]


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


@dataclass(frozen=True, slots=True)
class Outline:
    """What is read of a type.

    Attributes:
        text: The type without the dims that it names, and without where its values lie.
        dims: The dims that a tensor or a shape spells out, numbers as such; ``None`` for every other type.
    """

    text: str
    dims: list[Any] | None


_MOST_OUTLINES = 1 << 14
_outlines: dict[int, tuple[Any, Outline]] = {}
"""Outlines by the address of the type, which is kept with it: most types of a module are read again for each pass."""


def outlined(ty: Any) -> Outline:
    """Read a type."""
    known = _outlines.get(address := ty.__chandle__())
    if known is None:
        dims = dims_of(ty)
        plain = None if dims is None else [int(dim) if is_int64(dim) else dim for dim in dims]
        if len(_outlines) >= _MOST_OUTLINES:
            _outlines.clear()
        known = _outlines[address] = ty, Outline(_text(ty, dims), plain)
    return known[1]


def is_int64(dim: Any) -> bool:
    """Say whether a dim is a number of the dtype that dims have."""
    return isinstance(dim, tirx.IntImm) and str(dim.ty) == "int64"


def all_dims(ty: Any) -> list[Any]:
    """Return the dims that a type names, fields of a tuple in order; raises ``Open`` where it names a whole shape."""
    if isinstance(ty, relax.TupleType):
        return [dim for each in ty.fields for dim in all_dims(each)]
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.Var):
        raise Open("a type of a computed shape")
    return outlined(ty).dims or []


def outline(ty: Any) -> str:
    """Write a type without the dims that it names, and without where its values lie."""
    return outlined(ty).text


def _text(ty: Any, dims: list[Any] | None) -> str:
    if isinstance(ty, relax.TupleType):
        return f"({', '.join(outline(each) for each in ty.fields)})"
    if isinstance(ty, relax.TensorType):
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
