"""Which value goes where: fields of tuples, results of functions, branches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from tvm import relax

from proof_mutations.draft import MUTATIONS, Draft, Mutant, exchanged, kind, pairs_alike, same_type


@kind
def another_projection(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        item = place.binding.value
        if isinstance(item, relax.TupleGetItem) and isinstance(item.tuple_value.ty, relax.TupleType):
            for other in range(len(item.tuple_value.ty.fields)):
                if other != item.index:
                    made = relax.TupleGetItem(item.tuple_value, other)
                    yield functools.partial(draft.revalued, var, place, made)


@kind
def fields_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        value = place.binding.value
        if isinstance(value, relax.Tuple):
            for one, other in pairs_alike(value.fields):
                made = relax.Tuple(exchanged(value.fields, one, other))
                yield functools.partial(draft.revalued, var, place, made)


def _with_result(draft: Draft, var: Any, function: Any, result: Any) -> Any:
    body = relax.BlockBuilder(draft.module).normalize(relax.SeqExpr(function.body.blocks, result))
    return draft.with_function(var, relax.Function(function.params, body, None, function.is_pure, function.attrs))


@kind
def another_result(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        result = function.body.body
        outer = [binding.var for block in function.body.blocks for binding in block.bindings]
        for other in [*function.params, *(each for each in outer if not isinstance(each, relax.DataflowVar))]:
            if not other.same_as(result) and same_type(other, result):
                yield functools.partial(_with_result, draft, var, function, other)


@kind
def results_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        result = function.body.body
        if isinstance(result, relax.Tuple):
            for one, other in pairs_alike(result.fields):
                made = relax.Tuple(exchanged(result.fields, one, other))
                yield functools.partial(_with_result, draft, var, function, made)


def _branch(name: str, edit: Callable[[Any], Any]) -> None:
    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, place in draft.places:
            if isinstance(place.binding.value, relax.If):
                yield functools.partial(_with_branches, draft, var, place, edit)

    MUTATIONS[name] = mutation


def _with_branches(draft: Draft, var: Any, place: Any, edit: Callable[[Any], Any]) -> Any:
    return draft.revalued(var, place, edit(place.binding.value))


_branch("branches exchanged", lambda each: relax.If(each.cond, each.false_branch, each.true_branch))
_branch(
    "condition negated", lambda each: relax.If(relax.op.logical_not(each.cond), each.true_branch, each.false_branch)
)
_branch("one branch twice", lambda each: relax.If(each.cond, each.true_branch, relax.utils.copy_with_new_vars(
    relax.Function([], each.true_branch)).body))  # fmt: skip
