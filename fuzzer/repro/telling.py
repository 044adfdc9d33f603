"""What of a minimized module a failure seems to hang on, in words: what is left was refused to be reduced away."""

from __future__ import annotations

import contextlib
from typing import Any

import tvm_ffi
from tvm import relax

from relaxkit.ir.edits import dead_bindings
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import flat
from relaxkit.ir.walk import expressions_in, operator_of, operators_of, places, sequences
from strategies.detect.features import features_of
from strategies.scope.features import Feature

_UNTOLD = frozenset({"relax.abs", "relax.add", "relax.call_tir", "relax.logical_not"})
"""Operators that the minimizer itself puts in the place of others, and the call of a kernel."""
_NO_DTYPE = ("None", "", "void")
_MANY = 12  # bindings of a module that is not small: what it has may be there by chance
_MARKS = (
    Feature.RECURSION, Feature.PRIVATE_CALLS, Feature.PACKED_CALLS, Feature.UNKNOWN_SHAPES, Feature.VDEVICE,
    Feature.SYMBOLIC_SHAPES, Feature.TUPLES, Feature.MATCH_CAST,
)  # fmt: skip
_CALLED = {
    Feature.RECURSION: "a recursive function", Feature.PRIVATE_CALLS: "a call to another function",
    Feature.PACKED_CALLS: "a packed function", Feature.MATCH_CAST: "match_cast",
}  # fmt: skip
"""What features are called that have no plain name."""


def surroundings(module: Any) -> str:
    """Say where the bindings of a module stand, if that is no plain place: ``inside an If``; else nothing."""
    functions = {name: places(function) for name, function in relax_functions(module)}
    found = [place for each in functions.values() for place in each]
    for kind, depth, name in ((relax.If, "branches", "an If"), (relax.Function, "local", "a local function")):
        if any(isinstance(place.value, kind) for place in found):
            works = any(getattr(each, depth) and isinstance(each.binding.value, relax.Call) for each in found)
            return f"inside {name}" if works else f"when a function has {name}"
    flowing = {name for name, each in functions.items() if any(place.dataflow for place in each)}
    other = "main" in functions and flowing and "main" not in flowing
    return "when a function other than main has a dataflow block" if other else ""


def telling(module: Any) -> str:
    """Say what a module has that a plain one has not: ``on an unused binding``, ``on a symbolic dim``; else nothing."""
    functions = [function for _, function in relax_functions(module)]
    if not functions or sum(map(len, map(places, functions))) >= _MANY:
        return "" if functions else "on a PrimFunc"
    operators = sorted(operators_of(module) - _UNTOLD)
    if any(_loose(place) for function in functions for place in places(function)):
        return "when a variable has a less specific type than its value"
    if any(dead_bindings(sequence) for function in functions for sequence in sequences(function)) and not operators:
        return "on an unused binding"
    found = [_CALLED.get(each, each.value.replace("-", " ")) for each in _MARKS if each in features_of(module)]
    marks = ", ".join(operators or found[:1])
    if len(operators) == 1:
        marks += _unknown(module)
    return f"on {marks}" if marks and len(operators) <= 2 else ""


def _loose(place: Any) -> bool:
    """Say whether a binding declares less of its value than is inferred, which TVM's parser writes into the value."""
    declared, value = place.var.ty, place.value
    inferred = getattr(value, "ty", None)
    if operator_of(value):
        with contextlib.suppress(Exception):
            alone = relax.Call(value.op, value.args, value.attrs, value.ty_args)
            inferred = relax.BlockBuilder().normalize(alone).ty
    if isinstance(place.binding, relax.MatchCast) or inferred is None or tvm_ffi.structural_equal(declared, inferred):
        return False
    return bool(relax.analysis.type_base_check(declared, inferred) == relax.analysis.BaseCheckResult.PASS)


def _unknown(module: Any) -> str:
    """Say which part of the type of an operand is unknown, of calls of operators."""
    operands = [each for call in expressions_in(module) if operator_of(call) for each in call.args]
    tensors = [leaf for each in operands for leaf in flat(each.ty) if isinstance(leaf, relax.TensorType)]
    if any(leaf.dtype is None or str(leaf.dtype) in _NO_DTYPE for leaf in tensors):
        return " of unknown dtype"
    return " of unknown shape" if any(leaf.shape is None for leaf in tensors) else ""
