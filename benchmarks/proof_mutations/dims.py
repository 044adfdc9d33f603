"""Symbolic dims: of the shapes that calls are given, and of casts."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tvm import relax, tirx

from proof_mutations.draft import Draft, Mutant, exchanged, kind, with_item


def _shapes(draft: Draft) -> Iterator[tuple[Any, Any, Any, Callable[[Any], Any]]]:
    """Yield the shapes that calls are given, each with what makes the call of another one."""
    for var, place in draft.calls:
        call = place.binding.value
        for at, each in enumerate(call.args):
            if isinstance(each, relax.ShapeExpr):
                yield (
                    var, place, each,
                    lambda new, call=call, at=at: relax.Call(
                        call.op, with_item(list(call.args), at, relax.ShapeExpr(new)), call.attrs, call.ty_args
                    ),
                )  # fmt: skip
        for each in call.ty_args:
            if isinstance(each, relax.TensorType) and isinstance(each.shape, relax.ShapeExpr):
                yield (
                    var, place, each.shape,
                    lambda new, call=call, each=each: relax.Call(
                        call.op, list(call.args), call.attrs,
                        [relax.TensorType(relax.ShapeExpr(new), each.dtype) if its.same_as(each) else its
                         for its in call.ty_args],
                    ),
                )  # fmt: skip


@kind
def dims_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        for one, other in itertools.combinations(range(len(shape.values)), 2):
            made = rebuilt(exchanged(shape.values, one, other))
            yield functools.partial(draft.revalued, var, place, made)


@kind
def another_dim(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        known = relax.analysis.defined_symbolic_vars(draft.module[var])
        for at, dim in enumerate(shape.values):
            for other in (each for each in known if str(each.ty) == str(dim.ty)):
                if not isinstance(dim, tirx.IntImm) and not other.same_as(dim):
                    yield functools.partial(draft.revalued, var, place, rebuilt(with_item(shape.values, at, other)))


@kind
def another_expression_of_dims(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        for at, dim in enumerate(shape.values):
            for other in (dim + 1, dim * 2, tirx.max(dim - 1, 0)):
                yield functools.partial(draft.revalued, var, place, rebuilt(with_item(shape.values, at, other)))


@kind
def another_match_cast(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        binding = place.binding
        if isinstance(binding, relax.MatchCast):
            values = _dims(binding.ty)
            known = list(relax.analysis.defined_symbolic_vars(draft.module[var]))
            for at, dim in enumerate(values):
                number = isinstance(dim, tirx.IntImm)
                for other in [dim + 1] if number else [each for each in known if not each.same_as(dim)]:
                    yield functools.partial(_recast, draft, var, binding, with_item(values, at, other))
            for one, other in itertools.combinations(range(len(values)), 2):
                yield functools.partial(_recast, draft, var, binding, exchanged(values, one, other))


def _dims(ty: Any) -> list[Any]:
    if isinstance(ty, relax.ShapeType):
        return list(ty.values or ())
    return list(ty.shape.values) if isinstance(getattr(ty, "shape", None), relax.ShapeExpr) else []


def _recast(draft: Draft, var: Any, binding: Any, dims: list[Any]) -> Any:
    tensor = isinstance(binding.ty, relax.TensorType)
    ty = relax.TensorType(relax.ShapeExpr(dims), binding.ty.dtype) if tensor else relax.ShapeType(dims)
    new = type(binding.var)(binding.var.name, ty)
    return draft.rebound(var, (binding, [relax.MatchCast(new, binding.value, ty), relax.VarBinding(binding.var, new)]))
