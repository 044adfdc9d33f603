"""Planned memory: storages and tensors of other sizes and places, destinations, and when a tensor is killed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax, tirx

from proof_mutations.draft import ALLOC_STORAGE, ALLOC_TENSOR, Draft, Mutant, callee, kind, same_type, with_item
from relaxkit.ir.walk import expressions

_KILLS = ("relax.vm.kill_object", "relax.memory.kill_tensor", "relax.memory.kill_storage")


@kind
def a_storage_is_reused_too_early(draft: Draft) -> Iterator[Mutant]:
    tensors = [(var, place) for var, place in draft.named(*ALLOC_TENSOR)]
    for (var, place), (its, other) in itertools.combinations(tensors, 2):
        call, earlier = other.binding.value, place.binding.value
        if var.same_as(its) and place.block.same_as(other.block) and not call.args[0].same_as(earlier.args[0]):
            yield draft.recalled(var, other, [earlier.args[0], *call.args[1:]])


@kind
def a_smaller_storage(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*ALLOC_STORAGE):
        call = place.binding.value
        if isinstance(call.args[0], relax.ShapeExpr):
            (size,) = call.args[0].values
            for smaller in (size - 1, tirx.floordiv(size, 2), tirx.IntImm("int64", 1)):
                yield draft.recalled(var, place, [relax.ShapeExpr([smaller]), *call.args[1:]])


@kind
def another_offset(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*ALLOC_TENSOR):
        args = list(place.binding.value.args)
        yield draft.recalled(var, place, with_item(args, 1, tirx.IntImm("int64", 64)))


@kind
def a_smaller_tensor(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*ALLOC_TENSOR, "relax.builtin.alloc_tensor"):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            if isinstance(each, relax.ShapeExpr) and len(each.values):
                first = tirx.max(each.values[0] - 1, 0)
                yield draft.recalled(var, place, with_item(args, at, relax.ShapeExpr([first, *each.values[1:]])))


def _kernel_calls(draft: Draft) -> Iterator[tuple[Any, Any]]:
    for var, place in draft.calls:
        op = place.binding.value.op
        if isinstance(op, relax.GlobalVar) and isinstance(draft.module[op], tirx.PrimFunc):
            yield var, place


@kind
def another_destination(draft: Draft) -> Iterator[Mutant]:
    allocated = [place.binding.var for _, place in draft.named(*ALLOC_TENSOR, "relax.builtin.alloc_tensor")]
    for var, place in _kernel_calls(draft):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            for other in allocated if any(each.same_as(its) for its in allocated) else ():
                if not other.same_as(each) and same_type(other, each):
                    yield draft.recalled(var, place, with_item(args, at, other))


@kind
def written_into_a_parameter(draft: Draft) -> Iterator[Mutant]:
    for var, place in _kernel_calls(draft):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            for other in draft.module[var].params:
                if not other.same_as(each) and same_type(other, each):
                    yield draft.recalled(var, place, with_item(args, at, other))


@kind
def killed_before_its_use(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*_KILLS):
        killed = place.binding.value.args[0]
        users = [
            each for each in place.block.bindings
            if any(part.same_as(killed) for part in expressions(each.value)) and not each.same_as(place.binding)
        ]  # fmt: skip
        for user in users[-1:]:
            yield functools.partial(draft.rebound, var, (user, [place.binding, user]), (place.binding, []))


@kind
def killed_in_a_branch(draft: Draft) -> Iterator[Mutant]:
    kills = {"relax.memory.alloc_tensor": "relax.memory.kill_tensor", "relax.vm.alloc_tensor": "relax.vm.kill_object",
             "relax.builtin.alloc_tensor": "relax.memory.kill_tensor"}  # fmt: skip
    for (var, place), (its, other) in itertools.combinations(draft.places, 2):
        killing = kills.get(callee(place.binding.value)) if isinstance(place.binding.value, relax.Call) else None
        branch = other.binding.value
        if killing and var.same_as(its) and not place.branches and isinstance(branch, relax.If):
            call = relax.Call(tvm.ir.Op.get(killing), [place.binding.var])
            kill = relax.BindingBlock([relax.VarBinding(relax.Var("_", relax.TupleType([])), call)])
            killed = relax.SeqExpr([*branch.true_branch.blocks, kill], branch.true_branch.body)
            made = relax.If(branch.cond, killed, branch.false_branch)
            yield functools.partial(draft.revalued, var, other, made)
