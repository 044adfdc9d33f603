"""Calls of kernels, packed functions and closures, printing, assertions (docstrings of ``tvm.relax.op.base``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.interpreter.kernels import PackedFunction, call_packed, declared, new_tensor, raised_precision, run_kernel
from relaxkit.interpreter.machine import OVERWRITTEN, Closure
from relaxkit.interpreter.registry import Raised, Request, Unsupported, meanings, semantics
from relaxkit.runtime.values import ShapeValue


@semantics("call_tir", "call_tir_with_grad", "call_tir_inplace")
def call_tir(request: Request) -> Any:
    """Return the outputs of a kernel, new tensors but for those with a place: what it leaves in that argument.

    The caller warrants that nothing else sees what is overwritten, so the result is a value of its own here, and the
    variable that held the argument has none afterwards.  The gradient's name is for the ``Gradient`` pass alone.
    """
    function, arguments = request.args[0], request.args[1]
    types = _outputs(request)
    places = request.integers("inplace_indices") or (-1,) * len(types)
    outputs = [place if place >= 0 else new_tensor(ty, request.dim) for place, ty in zip(places, types, strict=True)]
    results = run_kernel(request.machine, function, arguments, _types(request), outputs, _tir_vars(request))
    _consume(request, getattr(request.call.args[1], "fields", ()), arguments, places, results)
    return _shaped(request, results)


@semantics("call_dps_packed")
def call_dps_packed(request: Request) -> Any:
    """Tensors that a packed function in destination-passing style has filled."""
    function, arguments = request.args
    types = _outputs(request)
    if isinstance(function, tvm.tirx.PrimFunc):
        return call_tir(request)
    if not isinstance(function, PackedFunction):
        raise Unsupported("destination-passing call of something other than a packed function")
    outputs = [tvm.runtime.empty(*new_tensor(ty, request.dim)) for ty in types]
    call_packed(request.machine, function.name, arguments, _types(request), *outputs)
    return _shaped(request, [raised_precision(request.machine, output.numpy()) for output in outputs])


@semantics("call_pure_packed")
def call_pure_packed(request: Request) -> Any:
    """Return what the function gives: 'the same semantics as calling the packed function directly'."""
    function, *arguments = request.args
    types = [each.ty for each in request.call.args[1:]]
    if isinstance(function, PackedFunction):
        return call_packed(request.machine, function.name, arguments, types)
    return request.machine.invoke(function, arguments)


@semantics("call_inplace_packed")
def call_inplace_packed(request: Request) -> Any:
    """As ``call_pure_packed``; the arguments that it consumes have no value afterwards."""
    result = call_pure_packed(request)
    results = result if isinstance(request.type, relax.TupleType) else (result,)
    places = request.integers("inplace_indices") or ()
    _consume(request, request.call.args[1:], request.args[1:], places, results)
    return result


@semantics("make_closure")
def make_closure(request: Request) -> Any:
    """Return a function that lacks its last arguments no more."""
    function, arguments = request.args
    if not isinstance(function, Closure):
        raise Unsupported("closure of something other than a Relax function")
    return replace(function, bound=(*arguments, *function.bound))


def _outputs(request: Request) -> list[Any]:
    ty = request.type
    return list(ty.fields) if isinstance(ty, relax.TupleType) else [ty]


def _types(request: Request) -> list[Any]:
    """Return the types of the arguments, which are a tuple."""
    ty = request.call.args[1].ty
    if not hasattr(ty, "fields"):
        raise Unsupported("arguments of a kernel that are not a tuple")
    return list(ty.fields)


def _tir_vars(request: Request) -> tuple[int, ...]:
    """Integers that TVM before 0.27 gives behind the outputs."""
    extra = request.args[2] if len(request.args) > 2 else None
    return extra.dims if isinstance(extra, ShapeValue) else ()


def _shaped(request: Request, results: list[Any]) -> Any:
    return tuple(results) if isinstance(request.type, relax.TupleType) else results[0]


def _consume(request: Request, expressions: Any, values: Any, places: tuple[int, ...], results: Any) -> None:
    """Take their values from variables whose tensors now have other contents."""
    for place, result in zip(places, results, strict=True):
        if not 0 <= place < len(expressions) or not isinstance(expressions[place], relax.Var):
            continue
        machine, variable = request.machine, expressions[place]
        before = raised_precision(machine, declared(machine, values[place], variable.ty))
        if not np.array_equal(_bits(before), _bits(result)):
            request.values[variable] = OVERWRITTEN


def _bits(array: Any) -> Any:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


@semantics("print")
def print_(request: Request) -> Any:
    """Print the values by the format string, or, when that is empty, in one line."""
    template, *values = request.args
    texts = _texts(request, values, 1)
    request.machine.printed.append((template.format(*texts) if template else " ".join(texts)) + "\n")
    return ()


@semantics("assert_op")
def assert_op(request: Request) -> Any:
    """Nothing when the condition is true, else an error with the formatted message."""
    condition, template, *values = request.args
    if not bool(np.asarray(condition)):
        texts = _texts(request, values, 2)
        raise Raised(template.format(*texts) if template else ", ".join(texts) or "Assertion Failed")
    return ()


# Where a tensor lies, and what passes make of it, is no matter of values; a null value is an argument that is left out.
meanings(
    {
        "to_vdevice hint_on_device builtin.stop_lift_params memory.ensure_zero_offset": lambda _, data, *_more: data,
        "null_value": lambda _: None,
        "invoke_closure invoke_pure_closure": lambda call, closure, given: call.machine.invoke(closure, given),
        # Who reads afterwards what was given back is not well formed.
        "memory.kill_tensor memory.kill_storage vm.kill_object": lambda *_: (),
    }
)


def _texts(request: Request, values: list[Any], first: int) -> list[str]:
    """Values as ``render_object`` writes them; floats in their declared dtype."""
    machine, arguments = request.machine, request.call.args
    return [_text(declared(machine, value, arguments[first + at].ty)) for at, value in enumerate(values)]


def _text(value: Any) -> str:
    if isinstance(value, ShapeValue):
        return str(value.dims)
    if isinstance(value, tuple):
        return f"({', '.join(_text(part) for part in value)})"
    return str(value)
