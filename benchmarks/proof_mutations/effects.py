"""What calls do beside giving a result: effects that are lost, doubled or out of order, operands written into."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from proof_mutations.draft import Draft, Mutant, kind


def _effects(draft: Draft) -> Iterator[tuple[Any, Any]]:
    for var, place in draft.calls:
        if isinstance(place.binding.var.ty, relax.TupleType) and not place.binding.var.ty.fields:
            yield var, place


@kind
def an_effect_dropped(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        yield functools.partial(draft.rebound, var, (place.binding, []))


@kind
def an_effect_twice(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        again = relax.VarBinding(relax.Var("again", place.binding.var.ty), place.binding.value)
        yield functools.partial(draft.rebound, var, (place.binding, [place.binding, again]))


@kind
def effects_exchanged(draft: Draft) -> Iterator[Mutant]:
    for (var, place), (its, other) in itertools.pairwise(_effects(draft)):
        if var.same_as(its) and place.block.same_as(other.block):
            yield functools.partial(
                draft.rebound, var, (place.binding, []), (other.binding, [other.binding, place.binding])
            )


@kind
def an_effect_earlier(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        bindings = list(place.block.bindings)
        at = next(index for index, each in enumerate(bindings) if each.same_as(place.binding))
        for before in bindings[max(0, at - 4) : at]:
            yield functools.partial(draft.rebound, var, (before, [place.binding, before]), (place.binding, []))


@kind
def read_behind_a_call_in_place(draft: Draft) -> Iterator[Mutant]:
    """Kernels that write into their operands although these are needed, or are the caller's."""
    for var, place in draft.named("relax.call_tir"):
        call = place.binding.value
        for index, each in enumerate(call.args[1].fields if isinstance(call.args[1], relax.Tuple) else ()):
            (out,) = call.ty_args
            if isinstance(each, relax.Var) and tvm_ffi.structural_equal(each.ty, out):
                yield functools.partial(_in_place, draft, var, place, index)


def _in_place(draft: Draft, var: Any, place: Any, index: int) -> Any:
    call = place.binding.value
    kernel = draft.module[call.args[0]]
    # The kernel's output is its operand: the body with the one buffer in the place of the other.
    given, written = kernel.params[index], kernel.params[len(call.args[1].fields)]
    body = tvm_ffi.structural_map(kernel.body, (tirx.Var, lambda each: given if each.same_as(written) else each))
    params = [each for each in kernel.params if not each.same_as(written)]
    made = tirx.PrimFunc(params, body, kernel.ret_type)
    builder = relax.BlockBuilder(draft.module)
    new = builder.add_func(made, "in_place")
    module = builder.get()
    return Draft(module).revalued(
        var, place, relax.op.call_tir_inplace(new, call.args[1], [index], list(call.ty_args), *call.args[2:])
    )
