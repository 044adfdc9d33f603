"""What of a minimized module a failure seems to hang on, in words: what is left was refused to be reduced away."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.core.text import enumerated
from oracles.semantics.single import given_to
from relaxkit.ir.edits import dead_bindings
from relaxkit.ir.functions import is_public, relax_functions
from relaxkit.ir.lowered import buffers_of
from relaxkit.ir.types import flat
from relaxkit.ir.walk import expressions_in, nodes, operator_of, operators_of, places, sequences
from strategies.detect.features import features_of
from strategies.scope.features import Feature

_SYMBOLIC = re.compile(r"R\.Tensor\(\([^()]*\)[^()]*\)")
_UNTOLD = frozenset({"relax.abs", "relax.add", "relax.call_tir", "relax.logical_not"})
"""Operators that the minimizer itself puts in the place of others, and the call of a kernel."""
_NO_DTYPE = ("None", "", "void")
_TENSORS = (relax.TensorType, relax.distributed.DTensorType)
_ALIGNMENT = 64  # that of buffers for which none is asked
_COMMON = frozenset({"global_symbol", "relax.force_pure"})
_PAIR = 2
_MANY = 12  # bindings of a module that is not small: what it has may be there by chance
_MARKS = (
    Feature.RECURSION, Feature.PRIVATE_CALLS, Feature.PACKED_CALLS, Feature.UNKNOWN_SHAPES, Feature.VDEVICE,
    Feature.SYMBOLIC_SHAPES, Feature.MATCH_CAST,
)  # fmt: skip
_CALLED = {
    Feature.RECURSION: "a recursive function", Feature.PRIVATE_CALLS: "a call to another function",
    Feature.PACKED_CALLS: "a packed function", Feature.MATCH_CAST: "match_cast",
}  # fmt: skip
"""What features are called that have no plain name."""
ON_RECURSION = f"on {_CALLED[Feature.RECURSION]}"
IN_LOCAL = "inside a local function"
TYPE = "type"


def surroundings(module: Any) -> str:
    """Say where the bindings of a module stand, if that is no plain place: ``inside an If``; else nothing."""
    functions = {name: places(function) for name, function in relax_functions(module)}
    found = [place for each in functions.values() for place in each]
    for kind, depth, name in ((relax.If, "branches", "an If"), (relax.Function, "local", "a local function")):
        if any(isinstance(place.value, kind) for place in found):
            works = any(getattr(each, depth) and isinstance(each.binding.value, relax.Call) for each in found)
            return f"inside {name}" if works else f"in a function with {name}"
    flowing = {name for name, each in functions.items() if any(place.dataflow for place in each)}
    other = "main" in functions and flowing and "main" not in flowing
    return "when a function other than main has a dataflow block" if other else ""


def namesakes(text: str, module: Any) -> str:
    """Say of which functions the symbolic dims are that a text gives equal names, in a type that it names twice."""
    twice = [ty for ty, many in Counter(_SYMBOLIC.findall(text)).items() if many > 1]
    owners: dict[str, list[str]] = {}
    for name, function in relax_functions(module):
        for var in relax.analysis.defined_symbolic_vars(function):
            owners.setdefault(str(var.name), []).append(name)
    told = (
        f" ({enumerated([f'the {dim} of {each}' for each in functions])} are different variables)"
        for dim, functions in owners.items()
        if len(functions) > 1 and any(re.search(rf"\b{re.escape(dim)}\b", ty) for ty in twice)
    )
    return next(told, "")


def returning_nothing(module: Any) -> str:
    """Say whether a function, other than those that users call, returns a tuple without fields."""
    private = (each.ret_ty for _, each in relax_functions(module) if not is_public(each))
    nothing = any(isinstance(ty, relax.TupleType) and not ty.fields for ty in private)
    return "when a function returns an empty tuple" if nothing else ""


def telling(module: Any) -> str:
    """Say what a module has that a plain one has not: ``on an unused binding``, ``on a symbolic dim``; else nothing."""
    functions = [function for _, function in relax_functions(module)]
    if not functions or sum(map(len, map(places, functions))) >= _MANY:
        return "" if functions else _form(module) or "on a PrimFunc" * bool(kernels(module))
    operators = sorted(operators_of(module) - _UNTOLD)
    if loose := next(filter(None, (_loose(place) for function in functions for place in places(function))), ""):
        return f"when {loose}"
    if not operators and Feature.RECURSION in features_of(module):
        return ON_RECURSION
    found = [place.value for function in functions for place in places(function)]
    if not operators and any(isinstance(value, relax.Function) for value in found):
        return "on a local function"
    if any(dead_bindings(sequence) for function in functions for sequence in sequences(function)) and not operators:
        return "on an unused binding"
    if not operators and (form := _alignment(module)):
        return form
    if not operators and (unknown := _unknown(module)):
        return f"on an operand{unknown}"
    joined = next(
        (each for each in found if operator_of(each) in operators and _source(each, functions) in operators), None
    )
    if joined is not None and len(operators) <= _PAIR:
        return f"on {operator_of(joined)} of the result of {_source(joined, functions)}"
    calls = any(isinstance(getattr(value, "op", None), tvm.ir.GlobalVar) for value in found)
    known = [_CALLED.get(each, each.value.replace("-", " ")) for each in _MARKS if each in features_of(module)]
    if calls and known[:1] in ([], [_CALLED[Feature.PRIVATE_CALLS]]):
        known = [f"a call to a function with {key}" for key in _keys(functions)] or known
    marks = ", ".join(operators or known[:1])
    if len(operators) == 1:
        marks += _unknown(module) or special(module, operators[0])
    return f"on {marks}" if marks and len(operators) <= _PAIR else ""


def _keys(functions: list[Any]) -> list[str]:
    """Return the attributes of functions that not all functions have."""
    return sorted({str(key) for function in functions for key in dict(function.attrs or {})} - _COMMON)


def _source(call: Any, functions: list[Any]) -> str:
    """Return the operator whose result is an operand of a call of another operator; empty where none is."""
    values = {place.var: place.value for function in functions for place in places(function)}
    sources = (operator_of(values[each]) for each in getattr(call, "args", ()) if each in values)
    return next((name for name in sources if name not in ("", operator_of(call))), "")


def special(module: Any, operator: str) -> str:
    """Say what is special of the operands of the calls of an operator."""
    calls = [expr for expr in expressions_in(module) if operator_of(expr) == operator]
    params = {param for _, function in relax_functions(module) for param in function.params}
    for call in calls:
        names = [str(each.name) for each in call.op.arguments]
        for name, each in zip(names, call.args, strict=False):
            if each in params and isinstance(each.ty, relax.ShapeType):
                return f", whose {name} is a parameter"
    for name, value in (each for call in calls for each in given_to(call).items()):
        if isinstance(value, str):
            return f" with {name}={value}"
    plain = [leaf for call in calls for each in call.args for leaf in flat(each.ty)]
    return ", which has no tensor operand" if not any(isinstance(leaf, _TENSORS) for leaf in plain) else ""


def _alignment(module: Any) -> str:
    buffers = [buffer for each in kernels(module) for buffer in buffers_of(each) if buffer is not None]
    others = [buffer.data_alignment for buffer in buffers if buffer.data_alignment != _ALIGNMENT]
    return f"when a PrimFunc has a buffer of alignment {others[0]}" if others else ""


def _form(module: Any) -> str:
    """Say what is special of the form of a kernel."""
    for kernel in kernels(module):
        if not isinstance(kernel.body, tvm.s_tir.SBlockRealize):
            return "when a PrimFunc has no root block"
        (inner,) = nodes(kernel.body.block.body, tvm.s_tir.SBlock)
        if not inner:
            return "when a PrimFunc has no block inside of its root block"
        (stores,), (nested,) = nodes(kernel.body, tvm.tirx.BufferStore), nodes(inner, tvm.tirx.BufferStore)
        if len(stores) > len(nested):
            return "when a PrimFunc has a statement outside of its blocks"
    return _alignment(module)


def kernels(module: Any) -> list[Any]:
    """Return the kernels of a module."""
    return [each for each in module.functions.values() if isinstance(each, tvm.tirx.PrimFunc)]


def _loose(place: Any) -> str:
    """Say what a binding does not declare of its value that is inferred, which TVM's parser writes into the value."""
    declared, value = place.var.ty, place.value
    inferred = getattr(value, "ty", None)
    if operator_of(value):
        with contextlib.suppress(Exception):
            alone = relax.Call(value.op, value.args, value.attrs, value.ty_args)
            inferred = relax.BlockBuilder().normalize(alone).ty
    if isinstance(place.binding, relax.MatchCast) or inferred is None or tvm_ffi.structural_equal(declared, inferred):
        return ""
    if relax.analysis.type_base_check(declared, inferred) != relax.analysis.BaseCheckResult.PASS:
        return ""
    lacking = {*_lacking([*flat(declared)])} - {*_lacking([*flat(inferred)])}
    what = f"no {lacking.pop()}" if len(lacking) == 1 else "a less specific type than its value"
    return f"a variable has {what}"


def _lacking(leaves: list[Any]) -> list[str]:
    """Return the parts of their types that tensors lack."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, relax.TensorType)]
    lacking = ["shape"] * any(leaf.shape is None for leaf in tensors)
    return lacking + ["dtype"] * any(leaf.dtype is None or str(leaf.dtype) in _NO_DTYPE for leaf in tensors)


def lost(old: Any, new: Any) -> str:
    """Name the parts that a type has and a less specific one has not: ``shape``, ``vdevice``; else :data:`TYPE`."""
    gone: list[str] = []
    for one, other in zip(flat(old), flat(new), strict=False):
        gone += [each for each in _lacking([other]) if each not in _lacking([one])]
        placed = [getattr(each, "vdevice", None) is not None for each in (one, other)]
        gone += ["vdevice"] if placed == [True, False] else []
    return " and ".join(dict.fromkeys(gone)) or TYPE


def _unknown(module: Any) -> str:
    """Say which part of the type of an operand is unknown, of calls of operators."""
    operands = [each for call in expressions_in(module) if operator_of(call) for each in call.args]
    unknown = _lacking([leaf for each in operands for leaf in flat(each.ty)])
    return f" of unknown {' and '.join(unknown)}" if unknown else ""
