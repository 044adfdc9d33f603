"""Chains of operators in dataflow blocks, as what a pattern of ``tvm.relax.dpl`` can be drawn from."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GenericConst

from strategies.scope.values import dims_of

DEEPEST = 4
"""Most expressions behind each other in a chain, tuples included."""
MOST = 16
"""Most chains that are kept of a module, the longest first."""
_CALLS = (
    "relax.call_", "relax.builtin.", "relax.memory.", "relax.vm.", "relax.invoke_", "relax.make_closure",
    "relax.shape_to_tensor",
)  # fmt: skip
"""Operators that a pattern over operators is not written for: some must name a function, which a group cannot take."""


class TermKind(enum.Enum):
    """The kinds of operands."""

    CALL = "call"
    CONSTANT = "constant"
    TUPLE = "tuple"
    ITEM = "item"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Term:
    """An expression, with what it is computed from in the same dataflow block.

    Attributes:
        kind: What it is.
        operator: Name of the operator of a call.
        parts: Operands of a call, fields of a tuple, the tuple of an item.
        index: Index of an item.
        dtype: Dtype of a tensor, empty otherwise.
        dims: Shape of a tensor of static shape, ``None`` otherwise.
        size: Number of calls in it, its own included.
    """

    kind: TermKind
    operator: str = ""
    parts: tuple[Term, ...] = ()
    index: int = 0
    dtype: str = ""
    dims: tuple[int, ...] | None = None
    size: int = 0


def chains_of(function: Any) -> Iterator[Term]:
    """List a term for each call of an operator in the dataflow blocks of a function's own body."""
    for block in function.body.blocks:
        if not isinstance(block, relax.DataflowBlock):
            continue
        values = {b.var: b.value for b in block.bindings if isinstance(b, relax.VarBinding)}
        for var, value in values.items():
            if _is_operator_call(value):
                yield _term(var, values, DEEPEST)


def longest(terms: list[Term]) -> tuple[Term, ...]:
    """Return different terms, those of most calls first, at most :data:`MOST`, with some of one call."""
    different = sorted(dict.fromkeys(terms), key=lambda term: -term.size)
    single = [term for term in different if term.size == 1][: MOST // 4]
    return (*different[: MOST - len(single)], *single) if len(different) > MOST else tuple(different)


def _is_operator_call(value: Any) -> bool:
    named = isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op)
    return named and bool(value.args) and not str(value.op.name).startswith(_CALLS)


def _term(expression: Any, values: dict[Any, Any], depth: int) -> Term:
    value = values.get(expression, expression) if isinstance(expression, relax.Var) else expression
    dtype, dims = _tensor(expression)
    if _is_operator_call(value):
        parts = tuple(_term(part, values, depth - 1) for part in value.args) if depth > 0 else ()
        size = 1 + sum(part.size for part in parts)
        kind = TermKind.CALL if depth > 0 else TermKind.OTHER
        return Term(kind, str(value.op.name), parts, 0, dtype, dims, size if depth > 0 else 0)
    if isinstance(value, GenericConst):
        return Term(TermKind.CONSTANT, dtype=dtype, dims=dims)
    if isinstance(value, relax.Tuple) and depth > 0:
        parts = tuple(_term(part, values, depth - 1) for part in value.fields)
        return Term(TermKind.TUPLE, parts=parts, size=sum(part.size for part in parts))
    if isinstance(value, relax.TupleGetItem) and depth > 0:
        inner = _term(value.tuple_value, values, depth - 1)
        return Term(TermKind.ITEM, parts=(inner,), index=int(value.index), dtype=dtype, dims=dims, size=inner.size)
    return Term(TermKind.OTHER, dtype=dtype, dims=dims)


def _tensor(expression: Any) -> tuple[str, tuple[int, ...] | None]:
    ty = getattr(expression, "ty", None)
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        return "", None
    if not isinstance(ty.shape, relax.ShapeExpr):
        return str(ty.dtype), None
    dims = dims_of(ty.shape)
    return str(ty.dtype), dims if all(isinstance(dim, int) for dim in dims) else None
