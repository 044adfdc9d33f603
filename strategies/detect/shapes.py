"""Features around shapes, blocks, unused parts, devices and vague types, read from the IR."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.functions import is_composite, is_public, private_relax_functions, relax_functions
from relaxkit.ir.types import dims_in, flat
from relaxkit.ir.walk import expressions, inner_sequences, operands_of, operator_of, places, sequences
from relaxkit.passes.claims.restructure import projected_fields
from strategies.constructs.unused import unused_outputs, unused_parameters
from strategies.operators import OPERATORS
from strategies.scope.features import Feature
from strategies.scope.vague import call_operands, says_less

DATA_DEPENDENT_OPS = frozenset(row.name for row in OPERATORS if row.feature is Feature.DATA_DEPENDENT)
"""Operators whose result has, or is, a shape that data decides."""


def shape_features(module: tvm.IRModule) -> frozenset[Feature]:
    """Return the features of this file's theme that a module has; composite functions and their insides do not count.

    ``UNUSED_PARAMETERS`` counts a parameter that a function would be well formed without, or a field of a private
    function's tuple parameter that is only ever taken apart, never taking this one. ``UNUSED_OUTPUTS`` counts an output
    of a dataflow block that only its block uses, or a field of a private function's result that no caller takes.
    ``SEVERAL_VDEVICES`` counts a table of two entries or more with values on two of them. ``VAGUE_TYPES`` counts a call
    bound to a variable whose type says less than is inferred, ``VAGUE_OPERANDS`` an operator that takes what a cast has
    made less known, or a parameter of unknown shape.
    """
    found: set[Feature] = set()
    functions = {name: f for name, f in relax_functions(module) if not is_composite(f)}
    for function in functions.values():
        _function(function, not is_public(function), found)
        _symbols(function, found)
        _vague(function, found)
    _outputs(module, found)
    infos = module.global_infos
    if "vdevice" in infos and len(infos["vdevice"]) > 1 and len(set(_devices(functions.values()))) > 1:
        found.add(Feature.SEVERAL_VDEVICES)
    return frozenset(found)


def _function(function: Any, private: bool, found: set[Feature]) -> None:
    if unused_parameters(function):
        found.add(Feature.UNUSED_PARAMETERS)
    for parameter in function.params:
        fields = parameter.ty.fields if private and isinstance(parameter.ty, relax.TupleType) else ()
        if len(fields) and (taken := _taken(function.body, parameter)) is not None and len(taken) < len(fields):
            found.add(Feature.UNUSED_PARAMETERS)
    for sequence in sequences(function):
        if unused_outputs(sequence):
            found.add(Feature.UNUSED_OUTPUTS)
        if sum(isinstance(block, relax.DataflowBlock) for block in sequence.blocks) > 1:
            found.add(Feature.SEVERAL_BLOCKS)
    ifs = [place for place in places(function) if isinstance(place.value, relax.If)]
    branches = {branch for place in ifs for branch in inner_sequences(place.value)}
    if any(place.scope[-1] in branches for place in ifs):
        found.add(Feature.NESTED_IF)
    if any(operator_of(place.value) in DATA_DEPENDENT_OPS for place in places(function)):
        found.add(Feature.DATA_DEPENDENT)


def _symbols(function: Any, found: set[Feature]) -> None:
    """Find symbols that a cast or a Shape parameter alone defines, and that something later uses."""
    tensors: set[Any] = set()
    shapes: set[Any] = set()
    for parameter in function.params:
        for ty in flat(parameter.ty):
            (shapes if isinstance(ty, relax.ShapeType) else tensors).update(_symbols_of(ty))
        tensors.add(parameter)  # a primitive parameter is a symbol itself
    shapes -= tensors
    casts: set[Any] = set()
    used: set[Any] = set()
    for place in places(function):
        if isinstance(place.binding, relax.MatchCast):
            symbols = set(_symbols_of(place.binding.ty))
            used |= symbols & (casts | shapes)
            casts |= symbols - tensors - shapes
        else:
            used.update(_symbols_of(place.var.ty))
            used.update(_in_arguments(place.value))
    if casts & used:
        found.add(Feature.CAST_SYMBOLS)
    if shapes & used:
        found.add(Feature.SHAPE_SYMBOLS)


def _symbols_of(ty: Any) -> Iterator[Any]:
    """Yield the symbols in a type, through tuples; not those in the types of functions."""
    for dim in dims_in(ty):
        yield from symbols_of(dim)


def _in_arguments(value: Any) -> Iterator[Any]:
    """List the symbols in shapes and primitive expressions that a binding holds or a call takes."""
    for part in value.values if isinstance(value, relax.ShapeExpr) else operands_of(value):
        yield from _in_arguments(part)
    yield from symbols_of(value)


def _taken(body: Any, var: Any) -> set[int] | None:
    """Say which fields of a tuple a body takes; ``None`` when it uses the tuple as a whole."""
    taken: set[int] = set()
    whole = False

    for expr in expressions(body):
        if isinstance(expr, relax.TupleGetItem) and expr.tuple_value.same_as(var):
            taken.add(int(expr.index))
        elif isinstance(expr, relax.Call):
            whole = whole or any(_mentions(argument, var) for argument in expr.args)
        elif isinstance(expr, relax.Tuple):
            whole = whole or _mentions(expr, var)
        elif isinstance(expr, relax.SeqExpr):
            bound = (binding.value for block in expr.blocks for binding in block.bindings)
            whole = whole or any(_mentions(each, var) for each in (expr.body, *bound))
    return None if whole else taken


def _mentions(expr: Any, var: Any) -> bool:
    if isinstance(expr, relax.Tuple):
        return any(_mentions(field, var) for field in expr.fields)
    return isinstance(expr, relax.Var) and bool(expr.same_as(var))


def _vague(function: Any, found: set[Feature]) -> None:
    """Find types that say less than is inferred, and operators that take what a cast has made less known."""
    forgotten = {
        param for param in function.params if isinstance(param.ty, relax.TensorType) and param.ty.shape is None
    }
    for place in places(function):
        value, vague = place.value, says_less(place.var.ty, place.value.ty)
        if isinstance(place.binding, relax.MatchCast):
            forgotten.update([place.var] * vague)
        elif isinstance(value, relax.Call):
            if vague:
                found.add(Feature.VAGUE_TYPES)
            if operator_of(value) and any(arg in forgotten for arg in call_operands(value)):
                found.add(Feature.VAGUE_OPERANDS)


def _outputs(module: tvm.IRModule, found: set[Feature]) -> None:
    """Find fields of a private function's result that no caller takes."""
    for var, function in private_relax_functions(module):
        if isinstance(function.ret_ty, relax.TupleType) and not is_composite(function):
            taken = projected_fields(module, var)
            if taken is not None and len(taken) < len(function.ret_ty.fields):
                found.add(Feature.UNUSED_OUTPUTS)


def _devices(functions: Iterable[Any]) -> Iterator[str]:
    """Yield the entries of the vdevice table on which there are values."""
    for function in functions:
        for var in (*function.params, *(place.var for place in places(function))):
            for ty in flat(var.ty):
                if isinstance(ty, relax.TensorType) and (device := ty.vdevice) is not None:
                    yield f"{device.target} {device.vdevice_id} {device.memory_scope}"
