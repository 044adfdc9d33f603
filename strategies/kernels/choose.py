"""Kernels: PrimFuncs through ``call_tir``, from TE and topi, written node by node, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi
from tvm import relax

from strategies.kernels import drawn as drawn_kernels
from strategies.kernels import in_place
from strategies.kernels.table import KERNELS, Kernel, static
from strategies.scope.bounds import Bounds, holds, is_float
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, OwnDims, Value
from strategies.seeds.replacements import REPLACEMENTS, operator_name

Key = tuple[Any, ...]

_TEXTS: dict[Key, str] = {}
"""JSON of every kernel built in this process: building one costs a millisecond and more, loading a copy a tenth, and a
copy cannot be spoilt by a pass that edits in place."""


def draw_kernel(scope: Scope) -> Value:
    """Bind a ``call_tir`` of a kernel that fits values at hand; gives the (first) output."""
    return _table_kernel(scope, [kernel for kernel in KERNELS if kernel.fits(scope)])


def draw_some(scope: Scope) -> Value:
    """Bind a call of a kernel, in one of the ways that the features of this case allow."""
    return scope.pick([draw for feature, draw in _WAYS if feature is None or scope.has(feature)])(scope)


def draw_outputs(scope: Scope) -> Value:
    """Bind a call of a kernel with several outputs."""
    if scope.has(Feature.DRAWN_KERNELS) and scope.index(3):
        return drawn_kernels.draw_outputs(scope)
    return _table_kernel(scope, [kernel for kernel in KERNELS if kernel.several and kernel.fits(scope)])


def draw_symbolic(scope: Scope) -> Value:
    """Bind a call of a kernel with symbolic buffers or scalar parameters."""
    if scope.has(Feature.DRAWN_KERNELS) and scope.index(3):
        return drawn_kernels.draw_symbolic(scope)
    return _table_kernel(scope, [kernel for kernel in KERNELS if kernel.written and kernel.fits(scope)])


def _table_kernel(scope: Scope, kernels: Sequence[Kernel]) -> Value:
    kernel = scope.pick(kernels)
    operands = kernel.operands(scope)
    dtype = operands[0].dtype
    bounds = kernel.bounds(*[operand.known for operand in operands])
    if not all(holds(dtype, each) for each in bounds):
        domain = Bounds(-2.0, 2.0) if is_float(dtype) else Bounds(0, 2, True)
        operands = [scope.guard(operand, domain) for operand in operands]
        bounds = kernel.bounds(*[operand.known for operand in operands])
    return emit_kernel(scope, kernel, operands, bounds)


def draw_with_gradient(scope: Scope) -> Value:
    """Bind a ``call_tir_with_grad``; nothing lowers it, so the module cannot be executed."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == "te_add_one")
    operand = scope.tensor(dtypes=("float32", "float64"), static=static(scope), bounds=Bounds(-8.0, 8.0))
    var = function_of(scope, kernel, [operand])
    call = relax.op.call_tir_with_grad(var, [operand.expr], operand.ty, "te_add_one_grad")
    return scope.emit(call, operand.known + Bounds(1, 1, True))


def emit_kernel(scope: Scope, kernel: Kernel, operands: Sequence[Value], bounds: Sequence[Bounds]) -> Value:
    """Bind the call; several outputs come as a tuple of which one or all are projected."""
    outputs = kernel.outputs(*[operand.dims for operand in operands])
    var = function_of(scope, kernel, operands)
    types = [relax.TensorType(list(dims), operands[0].dtype) for dims in outputs]
    arguments = [operand.expr for operand in operands]
    wide = [Bounds(b.lo, b.hi, True) if not is_float(operands[0].dtype) else b.rounded() for b in bounds]
    if kernel.in_place:
        overwritten = in_place.fresh(scope, operands[0])
        wide = [known.rounded() for known in kernel.bounds(overwritten.known)]
        call = relax.op.call_tir_inplace(var, relax.Tuple([overwritten.expr]), [0], types)
        return scope.emit(call, wide[0])
    call = relax.call_tir(var, arguments, types[0] if len(types) == 1 else types)
    return drawn_kernels.emit_outputs(scope, call, types, wide)


def function_of(scope: Scope, kernel: Kernel, operands: Sequence[Value]) -> Any:
    """Return the global variable of the kernel in the module under construction."""
    key = (kernel.name, operands[0].dtype, numbered([operand.shape for operand in operands]))
    found = scope.module.kernels.get(key)
    if found is None:
        if key not in _TEXTS:
            function = kernel.build(key[2], operands[0].dtype)
            _TEXTS[key] = tvm_ffi.serialization.to_json_graph_str(function)
        function = tvm_ffi.serialization.from_json_graph_str(_TEXTS[key])
        dims = key[2][0]
        if kernel.name in REPLACEMENTS and dims and all(isinstance(dim, int) for dim in dims):
            function = function.with_attr("operator_name", operator_name(kernel.name, key[1], dims))
        found = scope.module.kernels[key] = scope.builder.add_func(function, kernel.name)
    return found


def numbered(shapes: Sequence[Sequence[Dim]]) -> tuple[tuple[int | str, ...], ...]:
    """Replace each distinct symbolic dim by a name (``d0``, ``d1``, ...)."""
    own = OwnDims()
    return tuple(tuple(dim if isinstance(dim, int) else str(own(dim).name) for dim in shape) for shape in shapes)


_WAYS: tuple[tuple[Feature | None, Callable[[Scope], Value]], ...] = (
    (None, draw_kernel),
    (Feature.DRAWN_KERNELS, drawn_kernels.draw),
    (Feature.SYMBOLIC_KERNELS, draw_symbolic),
    (Feature.KERNEL_OUTPUTS, draw_outputs),
    (Feature.INPLACE_KERNELS, in_place.draw),
)
"""The ways to a kernel, with what each needs."""
