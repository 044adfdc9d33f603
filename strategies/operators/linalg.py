"""Matrix products, sums of products by an equation over letters, outer product and sums that undo a broadcast."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

from tvm import relax

from strategies.operators import intervals
from strategies.operators.adapt import adapted
from strategies.operators.drawing import ANY_FLOATS, FLOATS, INTEGERS, NUMBERS, product_sum
from strategies.operators.row import OperatorFamily, Rows
from strategies.scope.bounds import LOW_PRECISION, Bounds, default_bounds, dtype_bounds, holds
from strategies.scope.scope import Scope, Value
from strategies.scope.values import Dim, same_dim

ROWS = Rows(OperatorFamily.LINALG)

op = relax.op


def _collapsed(scope: Scope, operand: Value) -> tuple[tuple[Any, ...], int]:
    """Draw a shape that broadcasts to the operand's, and how many elements are summed into one."""
    dims = list(operand.shape)
    drop = scope.index(len(dims) + 1)
    kept = [1 if scope.index(2) else dim for dim in dims[drop:]]
    summed = dims[:drop] + [dim for dim, left in zip(dims[drop:], kept, strict=True) if dim is not left]
    return tuple(kept), max(scope.most_elements(summed), 1)


def _draw_collapse(scope: Scope, by_shape: bool) -> Value | None:
    # TVM defect: over no elements the result is not written at all, and there is no sum of booleans.
    where = scope.nonempty if scope.executable else None
    dtypes = NUMBERS if scope.executable else (*NUMBERS, "bool")
    operand = adapted(scope, dtypes=dtypes, ranks=(2, 3, 1, 4, 5), where=where)
    shape, elements = _collapsed(scope, operand)
    like = None
    if not by_shape:
        # Only the shape of the other operand counts.
        like = adapted(scope, dtypes=(operand.dtype, "float32", "int64"), shape=shape)
    limit, domain = dtype_bounds(operand.dtype), default_bounds(operand.dtype)
    if operand.dtype != "bool":
        if elements * operand.known.magnitude > limit.hi:
            operand = scope.keep(operand, domain.lo, domain.hi)
        known = operand.known.up_to(elements)
        if not holds(operand.dtype, known):
            return None
    else:
        known = limit
    if like is None:
        return scope.emit_rounded(op.collapse_sum_to(operand.expr, scope.shape_expr(shape)), known, operand.dtype)
    return scope.emit_rounded(op.collapse_sum_like(operand.expr, like.expr), known, operand.dtype)


@ROWS.row("matmul", bounds=intervals.matmul)
def _matmul(scope: Scope) -> Value | None:
    return draw_linear(scope) if scope.index(4) == 3 else draw_matmul(scope)


WIDER: dict[str, tuple[str, ...]] = {
    "float16": ("float32", "float64"),
    "float32": ("float64", "float16"),
    "float64": ("float32",),
    "bfloat16": ("float32",),
    "float8_e4m3fn": ("float32", "float16"),
    "float8_e5m2": ("float32", "float16"),
    "int8": ("int32", "int16", "float32"),
    "uint8": ("int32", "uint32"),
    "int16": ("int32", "int64"),
    "int32": ("int64", "float32"),
}
"""Output dtypes that a product is drawn with, other than that of its operands; the most usual first."""

NARROW = frozenset({"int8", "uint8", "int16", "uint16", *LOW_PRECISION})
"""Dtypes that hold few sums: their products nearly always have another output dtype."""


def product_dtypes(scope: Scope, left: str) -> tuple[str, str]:
    """Draw the dtypes of a second operand and of the result, for a product whose first operand has dtype ``left``."""
    wider = tuple(dtype for dtype in WIDER.get(left, ()) if scope.module.permits(dtype))
    if not wider or scope.index(8) >= (7 if left in NARROW else 2):
        return left, left
    out = scope.pick((wider[0], wider[0], *wider))
    # With an output dtype given, the operands may differ.
    mixed = {"int8": "uint8", "uint8": "int8", "float16": "float32"}.get(left)
    if mixed is not None and scope.module.permits(mixed) and out != "uint32" and scope.rarely():
        return mixed, out
    return left, out


def _batch(scope: Scope, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Draw the batch of a second operand: it broadcasts with that of the first, in either direction."""
    way = scope.index(6)
    if way < 2:
        return ()
    if way == 2:
        return dims
    if way == 3 and dims:
        return dims[scope.integer(1, len(dims)) :]
    mask = scope.index(2 ** len(dims))
    same = tuple(1 if mask >> place & 1 else dim for place, dim in enumerate(dims))
    if way == 4 or len(dims) >= 3:
        return same
    stretched = tuple(
        scope.small_dim() if isinstance(old, int) and old == 1 else dim for old, dim in zip(dims, same, strict=True)
    )
    return (scope.integer(1, 3), *stretched)


def draw_matmul(scope: Scope) -> Value | None:
    """Draw ``matmul`` of vectors, matrices and batches that broadcast either way, in the same or another dtype."""
    # Sums of booleans have no kernel.
    left = adapted(scope, dtypes=(*ANY_FLOATS, *INTEGERS), ranks=(2, 3, 2, 1, 4, 5), where=partial(_contracts, scope))
    dims = left.shape
    *batch, inner = dims[:-2] + dims[-1:]
    columns = dims[0] if scope.rarely() else scope.small_dim()
    shape: tuple[Any, ...] = (inner,) if scope.rarely() else (*_batch(scope, tuple(batch)), inner, columns)
    right_dtype, out = product_dtypes(scope, left.dtype)
    if not scope.affordable([*batch, *shape, *dims[-2:-1]]):
        shape = (inner, 2)
    right = adapted(scope, dtypes=(right_dtype,), shape=shape)
    terms = scope.most_elements([inner])
    left, right, known = product_sum(scope, left, right, terms, out)
    given = out if out != left.dtype or left.dtype != right.dtype or scope.rarely() else None
    return scope.emit_rounded(op.matmul(left.expr, right.expr, given), known, out, steps=terms + 4)


def _contracts(scope: Scope, value: Value) -> bool:
    """Say whether the last extent is a number or never 0; TVM writes no sum over a symbolic extent that is 0."""
    return isinstance(value.shape[-1], int) or scope.dim_range(value.shape[-1])[0] > 0


def draw_linear(scope: Scope) -> Value | None:
    """Draw ``x @ permute_dims(w)``, as ``op.linear`` writes it: of a matrix or a vector, with or without a bias."""
    left = adapted(scope, dtypes=FLOATS, ranks=(2, 3, 1, 4), where=partial(_contracts, scope))
    inner = left.shape[-1]
    shape = (inner,) if scope.rarely() else (scope.small_dim(), inner)
    weight = scope.tensor(dtypes=(left.dtype,), shape=shape)
    left, weight, known = product_sum(scope, left, weight, scope.most_elements([inner]), left.dtype)
    turned = scope.emit(op.permute_dims(weight.expr), weight.known)
    out = "float32" if left.dtype == "float16" and scope.flip() else None
    product = scope.emit_rounded(op.matmul(left.expr, turned.expr, out), known, out or left.dtype)
    if not scope.flip():
        return product
    bias = adapted(scope, dtypes=(product.dtype,), shape=shape[:-1])
    return scope.emit_rounded(op.add(product.expr, bias.expr), product.known + bias.known, product.dtype)


EQUATIONS: tuple[str, ...] = (
    "ij,jk->ik", "ij->ji", "ij,kj->ik", "ij,ij->ij", "ij,ij->", "ij->i", "ij->j", "ij->", "bij,bjk->bik", "i,j->ij",
    "i,i->", "ij,jk", "ba", "ii->i", "ii->", "ii", "ijk->kji", "ijk->j", "ijj->i", "iij->ij", "ij,j->i",
    "ij,jk,kl->il", "i,j,k->ijk", "ij,ij,ij->ij", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "bhwc,hkc->bhwk",
    "ab,cd->abcd", "ij , jk -> ik", "i,->i", ",->", "...ij,...jk->...ik", "...ij,jk->...ik", "b...->...b", "...i->...",
)  # fmt: skip
"""Subscripts; letters that repeat within an operand take its diagonal, an ellipsis stands for ``xy``, ``y`` or none."""

_ELLIPSIS = ("", "y", "xy")


def _letters(equation: str, dots: str) -> tuple[list[str], str]:
    """Return letters of each operand and of the result, the ellipsis written out."""
    given, arrow, result = equation.replace(" ", "").replace("...", dots).partition("->")
    if not arrow:  # implicit: the letters that occur once, in alphabetic order
        letters = given.replace(",", "")
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return given.split(","), result


@ROWS.row("einsum")
def draw_einsum(scope: Scope) -> Value | None:
    """Draw ``einsum`` of one to three operands, static or symbolic."""
    equation = scope.pick(EQUATIONS)
    letters, result = _letters(equation, scope.pick(_ELLIPSIS))
    sizes: dict[str, Dim] = {}
    values: list[Value] = []
    for names in letters:
        value = _einsum_operand(scope, names, sizes, values[0].dtype if values else None)
        if value is None:
            return None
        values.append(value)
    summed = [size for letter, size in sizes.items() if letter not in result]
    terms = max(scope.most_elements(summed), 1)
    if scope.most_elements([size for letter, size in sizes.items()]) > 4096:
        return None
    guarded = _within_dtype(scope, values, terms)
    if guarded is None:
        return None
    values, known = guarded
    call = op.einsum([value.expr for value in values], equation)
    return scope.emit_rounded(call, known, values[0].dtype)


def _einsum_operand(scope: Scope, names: str, sizes: dict[str, Dim], dtype: str | None) -> Value | None:
    """Draw an operand whose extents agree with those known by letter; it adds those of its new letters."""
    # TVM defect: a sum over no elements is not written at all.
    filled = scope.nonempty
    dtypes = NUMBERS if dtype is None else (dtype,)
    if not any(letter in sizes for letter in names) and len(set(names)) == len(names):
        value = adapted(scope, dtypes=dtypes, ranks=(len(names),), where=filled)
        sizes.update(zip(names, value.shape, strict=True))
        return value
    diagonal = len(set(names)) < len(names) and not any(letter in sizes for letter in names)
    if diagonal:
        square = [
            v
            for v in scope.tensors(lambda v: v.rank == len(names) and v.dtype in dtypes and filled(v))
            if v.device is None and _agrees(names, v.shape)
        ]
        if square and scope.index(4):
            value = square[-1]
            sizes.update(zip(names, value.shape, strict=True))
            return value
    # An extent of 1 stands for any, as in a broadcast: but in TVM only where the letter is not summed alone.
    shape: tuple[Any, ...] = tuple(sizes.setdefault(letter, scope.integer(1, 4)) for letter in names)
    return adapted(scope, dtypes=dtypes, shape=shape)


def _agrees(names: str, dims: tuple[Dim, ...]) -> bool:
    """Say whether letters that repeat stand for the same extent."""
    seen: dict[str, Dim] = {}
    return all(same_dim(seen.setdefault(letter, dim), dim) for letter, dim in zip(names, dims, strict=True))


def _within_dtype(scope: Scope, values: list[Value], terms: int) -> tuple[list[Value], Bounds] | None:
    """Return the operands such that a sum of products of them stays within their dtype."""
    dtype, domain = values[0].dtype, default_bounds(values[0].dtype)
    for attempt in range(2):
        products = list(accumulate((value.known for value in values), Bounds.__mul__))
        known = products[-1].up_to(terms)
        if all(holds(dtype, each) for each in (*products[1:], known)):
            return values, known
        if attempt == 0:
            values = [scope.keep(value, domain.lo, domain.hi) for value in values]
    return None


@ROWS.row("outer")
def draw_outer(scope: Scope) -> Value | None:
    """Draw ``outer`` of two vectors of one dtype."""
    left = adapted(scope, dtypes=NUMBERS, ranks=(1,), share=56)
    right = adapted(scope, dtypes=(left.dtype,), ranks=(1,))
    if not scope.affordable([*left.shape, *right.shape]):
        return None
    left, right, known = product_sum(scope, left, right, 1, left.dtype)
    return scope.emit_rounded(op.outer(left.expr, right.expr), known, left.dtype)


ROWS.row("collapse_sum_to")(partial(_draw_collapse, by_shape=True))
ROWS.row("collapse_sum_like")(partial(_draw_collapse, by_shape=False))
