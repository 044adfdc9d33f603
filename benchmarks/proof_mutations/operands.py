"""Which function is called, and with what: other operands, operators, callees and parameters."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax

from proof_mutations.draft import Draft, Mutant, callee, exchanged, kind, operands, pairs_alike, with_item
from relaxkit.ir.functions import is_public


@kind
def operands_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for one, other in pairs_alike(values):
            yield draft.recalled(var, place, rebuilt(exchanged(values, one, other)))


@kind
def an_operand_twice(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for one, other in pairs_alike(values):
            yield draft.recalled(var, place, rebuilt(with_item(values, one, values[other])))


@kind
def another_operand(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for index, value in enumerate(values):
            for other in draft.alike(var, place, value) if isinstance(value, relax.Var) else ():
                yield draft.recalled(var, place, rebuilt(with_item(values, index, other)))


_RELATED = (
    "add subtract multiply divide maximum minimum power floor_divide",
    "exp tanh sin cos sqrt abs negative sigmoid erf ceil floor round",
    "less greater less_equal greater_equal equal not_equal",
    "sum max min mean prod",
    "argmax argmin",
    "logical_and logical_or logical_xor",
    "cumsum cumprod",
)


@kind
def another_operator(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        call = place.binding.value
        group = next((each.split() for each in _RELATED if callee(call).removeprefix("relax.") in each.split()), [])
        for name in group:
            if f"relax.{name}" != callee(call):
                op = tvm.ir.Op.get(f"relax.{name}")
                made = relax.Call(op, list(call.args), call.attrs, call.ty_args)
                yield functools.partial(draft.revalued, var, place, made)


@kind
def another_callee(draft: Draft) -> Iterator[Mutant]:
    everything = [var for var, _ in draft.module.functions_items()]
    for var, place in draft.calls:
        call = place.binding.value
        for at, old in enumerate((call.op, *call.args)):
            for other in everything if isinstance(old, relax.GlobalVar) else ():
                if not other.same_as(old) and not other.same_as(var) and _one_signature(draft.module, old, other):
                    new = with_item([call.op, *call.args], at, other)
                    made = relax.Call(new[0], new[1:], call.attrs, call.ty_args)
                    yield functools.partial(draft.revalued, var, place, made)


def _one_signature(module: Any, one: Any, other: Any) -> bool:
    first, second = module[one], module[other]
    return type(first) is type(second) and len(first.params) == len(second.params) and all(
        str(getattr(mine, "ty", "")) == str(getattr(its, "ty", ""))
        for mine, its in zip(first.params, second.params, strict=True)
    )  # fmt: skip


@kind
def parameters_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        for one, other in pairs_alike(function.params) if not is_public(function) else ():
            params = exchanged(function.params, one, other)
            made = relax.Function(params, function.body, function.ret_ty, function.is_pure, function.attrs)
            yield functools.partial(draft.with_function, var, made)


@kind
def parameters_of_a_public_function_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        for one, other in pairs_alike(function.params) if is_public(function) else ():
            params = exchanged(function.params, one, other)
            made = relax.Function(params, function.body, function.ret_ty, function.is_pure, function.attrs)
            yield functools.partial(draft.with_function, var, made)


@kind
def another_packed_function(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        call = place.binding.value
        for at, old in enumerate((call.op, *call.args)):
            if isinstance(old, relax.ExternFunc) and not str(old.global_symbol).startswith("vm."):
                for _, other in draft.calls:
                    for new in (other.binding.value.op, *other.binding.value.args):
                        symbol = str(getattr(new, "global_symbol", "vm."))
                        if not symbol.startswith("vm.") and symbol != str(old.global_symbol):
                            parts = with_item([call.op, *call.args], at, new)
                            made = relax.Call(parts[0], parts[1:], call.attrs, call.ty_args)
                            yield functools.partial(draft.revalued, var, place, made)
