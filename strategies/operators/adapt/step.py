"""Shared by adapters: the single operator that one proposes, and draws of attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.scope.bounds import LOW_PRECISION, Bounds
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

op = relax.op


MOST = 1024
"""Adapters make no tensor of more elements."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One operator, not emitted yet: the shape and bounds of its result, and what makes the call."""

    dims: tuple[Dim, ...]
    build: Callable[[], Any]
    bounds: Bounds


Ranker = Callable[["Scope", Value, int], "Proposal | None"]
"""Brings a value to a rank."""


Shaper = Callable[["Scope", Value, "tuple[Dim, ...]"], "Proposal | None"]
"""Brings a value to a shape."""


Typer = Callable[["Scope", Value, str], "Value | None"]
"""Brings a value to a dtype: emits what it takes."""


def keeping(value: Value, dims: Sequence[Dim], build: Callable[[], Any]) -> Proposal:
    """Propose a step whose result holds elements of ``value`` and nothing else."""
    return Proposal(tuple(dims), build, value.known)


def replaced(dims: Sequence[Dim], place: int, *new: Dim) -> list[Dim]:
    """Return dims with others in the place of one."""
    return [*dims[:place], *new, *dims[place + 1 :]]


def index_constant(scope: Scope, least: int, shape: Sequence[int], dtype: str = "int64") -> Any:
    """Draw a constant of indices below the least extent they may meet."""
    return scope.constant(shape, dtype, Bounds(0, least - 1, True)).expr


def drawn_places(scope: Scope, count: int, chosen: int) -> list[int]:
    """Draw ``chosen`` of ``count`` places, in their order."""
    rest = list(range(count))
    while len(rest) > chosen:
        del rest[scope.index(len(rest))]
    return rest


def reshaped(scope: Scope, value: Value, dims: list[Dim]) -> Proposal | None:
    """Propose ``reshape`` to ``dims``, ``None`` where that cannot be said."""
    # In a target, 0 means "as in the operand at this place".
    if any(isinstance(dim, int) and dim == 0 for dim in dims):
        return None
    return keeping(value, dims, lambda: op.reshape(value.expr, scope.shape_expr(dims)))


def product(dims: Sequence[Dim]) -> Dim:
    """Return product of dims; 0 where one of them is."""
    if any(isinstance(dim, int) and dim == 0 for dim in dims):
        return 0
    total: Dim = 1
    for dim in dims:
        total = dim if isinstance(total, int) and total == 1 else total * dim
    return total


def can_pad(value: Value) -> bool:
    """Say whether TVM pads tensors of this dtype."""
    return value.dtype != "bool" and value.dtype not in LOW_PRECISION
