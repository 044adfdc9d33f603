"""Which operator's gradient is wrong: each operator of a function on its own, in a loss that weighs its results.

Findings are grouped by what they say, and "a gradient is wrong" says nothing: a function of ten operators may meet any
of several defects.  So when a gradient is wrong, every distinct call of the function is differentiated alone, with
operands of the same types.  That costs some builds, and only where there is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from oracles.measure.finite_differences import leaves_of, wrong_gradient
from oracles.measure.inputs import Unmaterializable, materialize
from relaxkit.ir.types import flat
from relaxkit.runtime import Program, session

_NAME = "alone"
_NOISE = 2.0**-17
"""Of sums of some dozen numbers of the size of one in float32: a hundred roundings."""


def guilty_operator(function: relax.Function, seed: int) -> str:
    """Name of the first operator whose gradient is wrong on its own; where each is right, a call of a function, if any.

    Empty when nothing can be blamed.
    """
    seen: set[int] = set()
    calls = list(_calls(function))
    for call in calls:
        if not isinstance(call.op, tvm.ir.Op):
            continue
        mark = int(tvm_ffi.structural_hash(call, map_free_vars=True))
        if mark in seen:
            continue
        seen.add(mark)
        if _is_wrong(call, seed):
            return str(call.op.name)
    return "" if all(isinstance(call.op, tvm.ir.Op) for call in calls) else "a call of a function"


def _calls(function: relax.Function) -> Iterator[Any]:
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding.value, relax.Call):
                yield binding.value


def _is_wrong(call: relax.Call, seed: int) -> bool:
    try:
        module, wanted = alone(call)
        if not wanted:
            return False
        after = relax.transform.Gradient(_NAME)(module)
        free = str(getattr(call.attrs, "mode", "")) in ("clip", "wrap")  # any index is one
        original, adjoint = session().build(module), session().build(after)
        return any(
            _differs(module, original, adjoint, wanted, seed + index, low, free)
            for index, low in enumerate((-1.0, 0.5, -1.0, 0.5))
        )
    except (Unmaterializable, ValueError, TypeError, RuntimeError, AssertionError, tvm.error.InternalError, KeyError):
        return False  # it cannot be asked: of unknown shape, not differentiable, without a kernel


def alone(call: relax.Call) -> tuple[Any, tuple[int, ...]]:
    """Return a module of one function ``alone`` whose value is a weighted sum of the call's results.

    Returns:
        The module, and the positions of the parameters that are float operands of the call.

    Raises:
        ValueError: The call gives something else than tensors, a number for instance.
    """
    params: dict[Any, Any] = {}

    def taken(value: Any) -> Any:
        if isinstance(value, relax.Var):
            return params.setdefault(value, relax.Var(f"p{len(params)}", value.ty))
        if isinstance(value, relax.Tuple):
            return relax.Tuple([taken(field) for field in value.fields])
        return value

    again = relax.Call(call.op, [taken(argument) for argument in call.args], call.attrs, call.ty_args)
    fields = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
    if not all(isinstance(ty, relax.TensorType) for ty in fields):
        raise ValueError("results that are no tensors")
    weights = [relax.Var(f"w{index}", ty) for index, ty in enumerate(fields)]
    builder = relax.BlockBuilder()
    with builder.function(_NAME, [*params.values(), *weights]):
        with builder.dataflow():
            whole = builder.emit(again)
            parts = [whole]
            if isinstance(call.ty, relax.TupleType):
                parts = [builder.emit(relax.TupleGetItem(whole, index)) for index in range(len(fields))]
            total = None
            for part, weight in zip(parts, weights, strict=True):
                product = builder.emit(relax.op.multiply(part, weight))
                term = builder.emit(relax.op.sum(product)) if product.ty.ndim else product
                total = term if total is None else builder.emit(relax.op.add(total, term))
            result = builder.emit_output(total)
        builder.emit_func_output(result)
    wanted = tuple(index for index, var in enumerate(params) if _is_float(var.ty))
    return builder.finalize(), wanted


def _is_float(ty: tvm.ir.Type) -> bool:
    return all(isinstance(leaf, relax.TensorType) and str(leaf.dtype) in ("float32", "float64") for leaf in flat(ty))


def _differs(
    module: tvm.IRModule,
    original: Program,
    adjoint: Program,
    wanted: tuple[int, ...],
    seed: int,
    low: float,
    free: bool,
) -> bool:
    random = np.random.default_rng(seed & 0xFFFFFFFF)
    arguments = tuple(_in_domain(value, low, random, free) for value in materialize(module, _NAME, seed))
    result = adjoint.call(f"{_NAME}_adjoint", arguments)
    if not isinstance(result, tuple) or not isinstance(result[1], tuple):
        return True
    given = tuple(result[1][index] for index in wanted)
    scale = sum(float(np.abs(leaf.array).sum()) for leaf in leaves_of(arguments, ()) if leaf.array.dtype.kind == "f")

    def loss(values: Any) -> float:
        return float(np.asarray(original.call(_NAME, values)))

    wrong, _ = wrong_gradient(loss, arguments, wanted, given, _NOISE * max(1.0, scale), random)
    return wrong is not None


def _in_domain(value: Any, low: float, random: np.random.Generator, free: bool) -> Any:
    """Floats between ``low`` and ``low + 1.25``, off any grid; zeros for integers, which may be indices."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return np.asarray(low + random.integers(1, 2560, value.shape) / 2048.0).astype(value.dtype)
        return value if value.dtype.kind == "b" or free else np.zeros_like(value)
    if type(value) in (tuple, list):
        return tuple(_in_domain(item, low, random, free) for item in value)
    return value
