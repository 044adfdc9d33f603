"""Which features a module really has, read from its IR (and not from how it was drawn)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.edits import dead_bindings
from relaxkit.ir.functions import is_composite, is_public, mentioned_names, relax_items
from relaxkit.ir.lowered import ALLOCATIONS
from relaxkit.ir.walk import operands_of, operator_calls, operator_of
from strategies.constructs.composites import EXTERNAL
from strategies.detect.calls import call_features
from strategies.detect.shapes import shape_features
from strategies.kernels.drawn import PREFIX
from strategies.operators import OPERATORS
from strategies.scope.features import Feature, is_prim_type, type_features

NON_EXECUTABLE_OPS = frozenset({"relax.call_tir_with_grad", *(row.name for row in OPERATORS if not row.executable)})
"""Operators that type-check, but that no pass lowers and CodeGenVM refuses."""

_IN_PLACE = "relax.call_tir_inplace"
_WITH_OUTPUTS = frozenset({"relax.call_tir", _IN_PLACE})
_BY_OP = {
    "relax.hint_on_device": Feature.DEVICE_HINTS,
    "relax.to_vdevice": Feature.DEVICE_HINTS,
    "relax.builtin.stop_lift_params": Feature.STOP_LIFT,
    **dict.fromkeys(NON_EXECUTABLE_OPS, Feature.NON_EXECUTABLE),
}

_BY_ATTR = {
    "num_input": Feature.WEIGHTS,
    "tir_var_upper_bound": Feature.UPPER_BOUNDS,
    "Composite": Feature.COMPOSITE,
    "Codegen": Feature.CODEGEN,
}


def features_of(module: tvm.IRModule) -> frozenset[Feature]:
    """Return the features that a module has.

    A feature counts by what can be seen: ``TUPLES`` when a tuple is built, taken or returned; ``CONSTANTS`` for
    constants with at least one dim; ``DEAD_CODE`` for a binding that nothing uses or a private function that nothing
    calls; ``DUPLICATE_CODE`` for two equal calls in one function; ``INTEGERS`` and the like for a value
    of that dtype, scalar constants excepted; ``SYMBOLIC_KERNELS`` for a PrimFunc with a symbolic buffer or a scalar
    parameter; ``DRAWN_KERNELS`` for one whose name says that it was drawn; ``LOWERED`` for a Relax function that
    allocates.
    """
    found: set[Feature] = set(call_features(module) | shape_features(module))
    for var, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            _kernel(var.name_hint, function, found)
    functions = dict(relax_items(module))
    if len(functions) < len(module.functions):
        found.add(Feature.KERNELS)
    if "vdevice" in module.global_infos and len(module.global_infos["vdevice"]):
        found.add(Feature.VDEVICE)
    plain = [f for f in functions.values() if not is_composite(f)]
    if len(plain) > 1:
        found.add(Feature.MULTIPLE_FUNCTIONS)
    private = {var.name_hint for var, f in functions.items() if not is_public(f)}
    called: set[str] = set()
    for function in functions.values():
        _function(function, found)
        if str((function.attrs or {}).get("Codegen", "")) == EXTERNAL:
            found.add(Feature.EXTERNAL_CODEGEN)
        _calls(function, found)
        names = mentioned_names(function)
        called |= names
        if any(name in private and not is_composite(module[name]) for name in names & private):
            found.add(Feature.PRIVATE_CALLS)
    if private - called:
        found.add(Feature.DEAD_CODE)
    return frozenset(found)


def _function(function: Any, found: set[Feature]) -> None:
    attrs = function.attrs
    for key, feature in _BY_ATTR.items():
        if attrs is not None and key in attrs:
            found.add(feature)
    for parameter in function.params:
        _type(parameter.ty, found)
        if isinstance(parameter.ty, relax.ShapeType):
            found.add(Feature.SHAPE_PARAMS)
        if is_prim_type(parameter.ty):
            found.add(Feature.PRIM_PARAMS)
        if isinstance(parameter.ty, relax.TupleType):
            found.add(Feature.TUPLES)
    if isinstance(function.ret_ty, relax.TupleType):
        found.add(Feature.TUPLES)
        _type(function.body.body.ty, found)
    inside_codegen = attrs is not None and "Codegen" in attrs
    seen: set[int] = set()
    _sequence(function.body, found, seen, inside_codegen)


def _type(ty: Any, found: set[Feature]) -> None:
    found |= type_features(ty)


def _sequence(sequence: Any, found: set[Feature], seen: set[int], inside_codegen: bool) -> None:
    if not inside_codegen and dead_bindings(sequence):
        found.add(Feature.DEAD_CODE)
    for block in sequence.blocks:
        if not isinstance(block, relax.DataflowBlock) and not inside_codegen:
            found.add(Feature.ORDINARY_BLOCKS)
        for binding in block.bindings:
            _type(binding.var.ty, found)
            _binding(binding, found, seen, inside_codegen)
    for leaf in _leaves(sequence.body):
        _constant(leaf, found)


def _binding(binding: Any, found: set[Feature], seen: set[int], inside_codegen: bool) -> None:
    value = binding.value
    if isinstance(binding, relax.MatchCast):
        found.add(Feature.MATCH_CAST)
    elif isinstance(value, relax.Function):
        _function(value, found)
        if not inside_codegen:
            found.add(Feature.LOCAL_FUNCTIONS)
    elif isinstance(value, relax.If):
        found.add(Feature.IF)
        for branch in (value.true_branch, value.false_branch):
            _sequence(branch, found, set(), inside_codegen)
    elif isinstance(value, relax.Tuple):
        found.add(Feature.TUPLES)
    elif isinstance(value, (relax.Var, tvm.ir.GenericConst)):
        found.add(Feature.ALIASES)
    elif isinstance(value, relax.Call):
        name = operator_of(value)
        if name in _BY_OP:
            found.add(_BY_OP[name])
        mark = tvm_ffi.structural_hash(value)
        if mark in seen:
            found.add(Feature.DUPLICATE_CODE)
        seen.add(mark)
    for leaf in _leaves(value):
        _constant(leaf, found)


def _leaves(value: Any) -> Iterator[Any]:
    yield value
    for part in operands_of(value):
        yield from _leaves(part)


def _constant(leaf: Any, found: set[Feature]) -> None:
    if isinstance(leaf, tvm.ir.GenericConst) and isinstance(leaf.ty, relax.TensorType) and leaf.ty.ndim > 0:
        _type(leaf.ty, found)
        found.add(Feature.CONSTANTS)


def _kernel(name: str, function: Any, found: set[Feature]) -> None:
    if name.startswith(PREFIX):
        found.add(Feature.DRAWN_KERNELS)
    for parameter in function.params:
        shape = getattr(parameter.ty, "shape", None)
        if is_prim_type(parameter.ty) or any(not isinstance(dim, tirx.IntImm) for dim in shape or ()):
            found.add(Feature.SYMBOLIC_KERNELS)


def _calls(function: Any, found: set[Feature]) -> None:
    for name, call in operator_calls(function):
        if name == _IN_PLACE:
            found.add(Feature.INPLACE_KERNELS)
        elif name in ALLOCATIONS:
            found.add(Feature.LOWERED)
        if name in _WITH_OUTPUTS and isinstance(call.ty, relax.TupleType):
            found.add(Feature.KERNEL_OUTPUTS)
