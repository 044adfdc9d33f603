"""Which features a module really has, read from its IR (and not from how it was drawn)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GenericConst

from relaxkit.ir.edits import dead_bindings
from relaxkit.ir.functions import (
    attributes,
    closed,
    has_attribute,
    is_composite,
    is_public,
    mentioned_names,
    relax_items,
)
from relaxkit.ir.lowered import ALLOCATIONS
from relaxkit.ir.walk import expressions, operator_of
from strategies.constructs.composites import EXTERNAL
from strategies.detect.shapes import shape_features
from strategies.kernels.drawn import PREFIX
from strategies.operators import OPERATORS
from strategies.scope.features import Feature, is_prim_type, type_features

DEEP = 3
"""Private functions in a chain below a public one that make it deep."""

_IN_PLACE = "relax.call_tir_inplace"
_WITH_OUTPUTS = frozenset({"relax.call_tir", _IN_PLACE})
_BY_OPERATOR = {
    "relax.hint_on_device": Feature.DEVICE_HINTS,
    "relax.to_vdevice": Feature.DEVICE_HINTS,
    "relax.builtin.stop_lift_params": Feature.STOP_LIFT,
    "relax.make_closure": Feature.MADE_CLOSURES,
    _IN_PLACE: Feature.INPLACE_KERNELS,
    **dict.fromkeys(ALLOCATIONS, Feature.LOWERED),
    **dict.fromkeys(("relax.call_pure_packed", "relax.call_dps_packed"), Feature.PACKED_CALLS),
    **dict.fromkeys(("relax.print", "relax.assert_op", "relax.invoke_closure"), Feature.IMPURE_CALLS),
    # What type-checks, but no pass lowers and CodeGenVM refuses.
    **dict.fromkeys(
        (
            "relax.call_tir_with_grad",
            "relax.ccl.allgather",
            "relax.ccl.allreduce",
            "relax.ccl.broadcast_from_worker0",
            "relax.ccl.scatter_from_worker0",
        ),
        Feature.NON_EXECUTABLE,
    ),
    **{row.name: Feature.NON_EXECUTABLE for row in OPERATORS if not row.executable},
}
_BY_KIND = {
    relax.If: Feature.IF,
    relax.Tuple: Feature.TUPLES,
    **dict.fromkeys((relax.Var, relax.DataflowVar, GenericConst), Feature.ALIASES),
}
_OF_PARAMETERS = (
    (relax.ShapeType, Feature.SHAPE_PARAMS),
    (tvm.ir.PrimType, Feature.PRIM_PARAMS),
    (relax.TupleType, Feature.TUPLES),
)
_BY_ATTR = {
    "num_input": Feature.WEIGHTS,
    "tir_var_upper_bound": Feature.UPPER_BOUNDS,
    "Composite": Feature.COMPOSITE,
    "Codegen": Feature.CODEGEN,
}
_KNOWN_ATTRS = frozenset(
    {*_BY_ATTR, "global_symbol", "Primitive", "WorkspaceSize", "relax.force_pure", "operator_name", "op_pattern"}
)
"""Attributes of functions that other features stand for, or that passes set."""
_KNOWN_MODULE_ATTRS = frozenset({"const_name_to_constant"})


def features_of(module: tvm.IRModule) -> frozenset[Feature]:
    """Return the features that a module has.

    A feature counts by what can be seen: ``TUPLES`` when a tuple is built, taken or returned; ``CONSTANTS`` for
    constants with at least one dim; ``DEAD_CODE`` for a binding that nothing uses or a private function that nothing
    calls; ``DUPLICATE_CODE`` for two equal calls in one function; ``INTEGERS`` and the like for a value of that dtype,
    scalar constants excepted; ``SYMBOLIC_KERNELS`` for a PrimFunc with a symbolic buffer or a scalar parameter;
    ``DRAWN_KERNELS`` for one whose name says that it was drawn; ``LOWERED`` for a Relax function that allocates;
    ``CAPTURES`` for a local function with free variables, symbolic dims among them; ``RETURNED_CLOSURES`` for a
    function whose type says that it returns one; ``PACKED_CALLS`` for packed calls declared pure; ``IMPURE_CALLS`` for
    calls with an effect; ``RECURSION`` for a function that calls itself, directly or through others.
    """
    found: set[Feature] = set(shape_features(module))
    for var, function in module.functions_items():
        if isinstance(function, tirx.PrimFunc):
            _kernel(var.name_hint, function, found)
    functions = {str(var.name_hint): function for var, function in relax_items(module)}
    if len(functions) < len(module.functions):
        found.add(Feature.KERNELS)
    tables = (("vdevice", Feature.VDEVICE), ("mesh", Feature.DISTRIBUTED))
    found |= {feature for table, feature in tables if len(module.global_infos.get(table, ()))}
    if attributes(module).keys() - _KNOWN_MODULE_ATTRS:
        found.add(Feature.MODULE_ATTRS)
    composites = {name for name, function in functions.items() if is_composite(function)}
    if len(functions) - len(composites) > 1:
        found.add(Feature.MULTIPLE_FUNCTIONS)
    private = {name for name, function in functions.items() if not is_public(function)}
    calls = {name: mentioned_names(function) & functions.keys() for name, function in functions.items()}
    for name, function in functions.items():
        _function(function, found, 0)
        _expressions(function, found)
        attrs = attributes(function)
        if attrs.keys() - _KNOWN_ATTRS:
            found.add(Feature.FUNCTION_ATTRS)
        if str(attrs.get("Codegen", "")) == EXTERNAL:
            found.add(Feature.EXTERNAL_CODEGEN)
        if calls[name] & private - composites:
            found.add(Feature.PRIVATE_CALLS)
    if private - set().union(*calls.values()):
        found.add(Feature.DEAD_CODE)
    if any(calls.values()):
        _call_graph(calls, private - composites, found)
    return frozenset(found)


def _function(function: Any, found: set[Feature], depth: int) -> None:
    """Look at a function and its local ones; ``depth`` is how many are around it."""
    found |= {feature for key, feature in _BY_ATTR.items() if has_attribute(function, key)}
    for parameter in function.params:
        found |= type_features(parameter.ty)
        found |= {feature for kind, feature in _OF_PARAMETERS if isinstance(parameter.ty, kind)}
    if isinstance(function.ret_ty, relax.TupleType):
        found |= {Feature.TUPLES, *type_features(function.body.body.ty)}
    elif isinstance(function.ret_ty, relax.FuncType):
        found.add(Feature.RETURNED_CLOSURES)
    _sequence(function.body, found, depth, has_attribute(function, "Codegen"))


def _sequence(sequence: Any, found: set[Feature], depth: int, codegen: bool) -> None:
    if not codegen and dead_bindings(sequence):
        found.add(Feature.DEAD_CODE)
    seen: set[int] = set()
    for block in sequence.blocks:
        if not isinstance(block, relax.DataflowBlock) and not codegen:
            found.add(Feature.ORDINARY_BLOCKS)
        for binding in block.bindings:
            found |= type_features(binding.var.ty)
            value = binding.value
            if isinstance(binding, relax.MatchCast):
                found.add(Feature.MATCH_CAST)
                continue
            if (feature := _BY_KIND.get(type(value))) is not None:
                found.add(feature)
            if isinstance(value, relax.If):
                for branch in (value.true_branch, value.false_branch):
                    _sequence(branch, found, depth, codegen)
            elif isinstance(value, relax.Function):
                composite = has_attribute(value, "Composite")
                if not codegen:
                    found.add(Feature.LOCAL_FUNCTIONS)
                if depth and not composite:
                    found.add(Feature.NESTED_CLOSURES)
                if not composite and relax.analysis.free_vars(value):
                    found.add(Feature.CAPTURES)
                _function(value, found, depth + 1)
            elif isinstance(value, relax.Call):
                if isinstance(value.op, relax.ExternFunc):
                    found.add(Feature.IMPURE_CALLS)
                mark = tvm_ffi.structural_hash(value)
                if mark in seen:
                    found.add(Feature.DUPLICATE_CODE)
                seen.add(mark)


def _expressions(function: Any, found: set[Feature]) -> None:
    """Look at the operators that a function calls anywhere, and at its constants."""
    for expr in expressions(function):
        if name := operator_of(expr):
            if (feature := _BY_OPERATOR.get(name)) is not None:
                found.add(feature)
            if name in _WITH_OUTPUTS and isinstance(expr.ty, relax.TupleType):
                found.add(Feature.KERNEL_OUTPUTS)
        elif isinstance(expr, GenericConst) and isinstance(expr.ty, relax.TensorType) and expr.ty.ndim > 0:
            found |= {Feature.CONSTANTS, *type_features(expr.ty)}


def _kernel(name: str, function: Any, found: set[Feature]) -> None:
    if name.startswith(PREFIX):
        found.add(Feature.DRAWN_KERNELS)
    for parameter in function.params:
        shape = getattr(parameter.ty, "shape", None)
        if is_prim_type(parameter.ty) or any(not isinstance(dim, tirx.IntImm) for dim in shape or ()):
            found.add(Feature.SYMBOLIC_KERNELS)


def _call_graph(calls: Mapping[str, set[str]], private: set[str], found: set[Feature]) -> None:
    """Find recursion, and the longest chain of private functions below a public one (a cycle counts once)."""
    reached = {name: closed(calls[name], calls.__getitem__) for name in calls}
    if any(name in reached[name] for name in calls):
        found.add(Feature.RECURSION)

    def depth(name: str) -> int:
        cycle = {name} | {other for other in reached[name] if name in reached[other]}
        below = {callee for member in cycle for callee in calls[member]} - cycle
        return (name in private) + max((depth(callee) for callee in below & private), default=0)

    if any(depth(name) >= DEEP for name in calls if name not in private):
        found.add(Feature.DEEP_CALLS)
