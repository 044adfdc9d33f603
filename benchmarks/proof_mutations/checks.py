"""What is checked of values: casts that fail, in branches too, and parameters that admit fewer shapes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tvm_ffi
from tvm import relax

from proof_mutations.draft import Draft, Mutant, kind


def _grown(ty: Any) -> Iterator[Any]:
    """Yield the type of a tensor whose last dim is another one: no tensor of the first type passes its check."""
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and len(ty.shape.values):
        *others, last = ty.shape.values
        yield relax.TensorType(relax.ShapeExpr([*others, last + 1]), ty.dtype)


def _check(value: Any, claim: Any) -> Any:
    return relax.MatchCast(relax.Var("checked", claim), value, claim)


@kind
def a_check_that_fails(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        for param in draft.module[var].params:
            for claim in _grown(param.ty):
                yield functools.partial(draft.rebound, var, (place.binding, [_check(param, claim), place.binding]))


@kind
def a_check_that_fails_twice_in_a_branch(draft: Draft) -> Iterator[Mutant]:
    """What a check says holds where it stands; the second one says nothing new."""
    for var, place in draft.places:
        for param in draft.module[var].params if place.branches else ():
            for claim in _grown(param.ty):
                checks = [_check(param, claim), _check(param, claim)]
                yield functools.partial(draft.rebound, var, (place.binding, [*checks, place.binding]))


@kind
def a_parameter_of_another_shape(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        for param in function.params:
            for claim in _grown(param.ty):
                yield functools.partial(_with_parameter, draft, var, param, relax.Var(param.name, claim))


def _with_parameter(draft: Draft, var: Any, old: Any, new: Any) -> Any:
    function = draft.module[var]
    # The body keeps the types that it had: what is asked is whether the check of the parameter is seen.
    body = tvm_ffi.structural_map(function.body, (relax.Var, lambda each: new if each.same_as(old) else each))
    params = [new if each.same_as(old) else each for each in function.params]
    made = relax.Function(params, body, function.ret_ty, function.is_pure, function.attrs)
    return draft.with_function(var, made)
