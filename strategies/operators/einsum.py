"""Einsum: a table of equations over letters, and the extents that they are drawn with."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.drawing import NUMBERS
from strategies.scope.bounds import Bounds, default_bounds, holds
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value, same_dim

EQUATIONS: tuple[str, ...] = (
    "ij,jk->ik", "ij->ji", "ij,kj->ik", "ij,ij->ij", "ij,ij->", "ij->i", "ij->j", "ij->", "bij,bjk->bik", "i,j->ij",
    "i,i->", "ij,jk", "ba", "ii->i", "ii->", "ii", "ijk->kji", "ijk->j", "ijj->i", "iij->ij", "ij,j->i",
    "ij,jk,kl->il", "i,j,k->ijk", "ij,ij,ij->ij", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "bhwc,hkc->bhwk",
    "ab,cd->abcd", "ij , jk -> ik", "i,->i", ",->", "...ij,...jk->...ik", "...ij,jk->...ik", "b...->...b", "...i->...",
)  # fmt: skip
"""Subscripts; letters that repeat within an operand take its diagonal, an ellipsis stands for ``xy``, ``y`` or none."""

_ELLIPSIS = ("", "y", "xy")


def _operands(equation: str, dots: str) -> tuple[list[str], str]:
    """Return letters of each operand and of the result, the ellipsis written out."""
    given, arrow, result = equation.replace(" ", "").replace("...", dots).partition("->")
    if not arrow:  # implicit: the letters that occur once, in alphabetic order
        letters = given.replace(",", "")
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    return given.split(","), result


def draw_einsum(scope: Scope) -> Value | None:
    """Draw ``einsum`` of one to three operands, static or symbolic."""
    equation = scope.pick(EQUATIONS)
    letters, result = _operands(equation, scope.pick(_ELLIPSIS))
    sizes: dict[str, Dim] = {}
    values: list[Value] = []
    for names in letters:
        value = _operand(scope, names, sizes, values[0].dtype if values else None)
        if value is None:
            return None
        values.append(value)
    summed = [size for letter, size in sizes.items() if letter not in result]
    terms = max(scope.most_elements(summed), 1)
    if scope.most_elements([size for letter, size in sizes.items()]) > 4096:
        return None
    guarded = _guarded(scope, values, terms)
    if guarded is None:
        return None
    values, known = guarded
    call = relax.op.einsum([value.expr for value in values], equation)
    return scope.emit_rounded(call, known, values[0].dtype)


def _operand(scope: Scope, names: str, sizes: dict[str, Dim], dtype: str | None) -> Value | None:
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


def _guarded(scope: Scope, values: list[Value], terms: int) -> tuple[list[Value], Bounds] | None:
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
