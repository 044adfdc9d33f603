"""Idioms of later stages: kernels, sorting, sampling, primitive values, devices, code generators; and of training."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import tvm
from tvm import relax, tirx
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str

from strategies.constructs import composites
from strategies.constructs.losses import MOST_STEPS, draw_loss
from strategies.idioms.idiom import IdiomTable
from strategies.idioms.parts import UNIT, added, floats, fresh, joined, relu, small, subtracted, times
from strategies.kernels import choose as kernels
from strategies.kernels.table import KERNELS, Shapes
from strategies.scope.bounds import Bounds
from strategies.scope.emitter import block_function
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op


UNMERGEABLE = (
    Feature.IF, Feature.MATCH_CAST, Feature.MULTIPLE_FUNCTIONS, Feature.LOCAL_FUNCTIONS, Feature.PACKED_CALLS,
    Feature.IMPURE_CALLS, Feature.CODEGEN, Feature.DATA_DEPENDENT, Feature.UNKNOWN_SHAPES, Feature.NON_EXECUTABLE,
)  # fmt: skip
"""What MergeCompositeFunctions has no rule for: it raises at the first sight of it."""

TABLE = IdiomTable()


@TABLE.idiom("DispatchSortScan")
def sorted_values(scope: Scope) -> Value:
    """Plant ``sort``, ``argsort``, ``topk``, ``cumsum`` or ``cumprod``."""
    value = floats(scope, ranks=(1, 2), static=True, bounds=Bounds(-1.0, 1.0))
    way = scope.index(5)
    last = int(value.shape[-1])
    if way == 0:
        return scope.emit(op.sort(value.expr, axis=-1, descending=scope.flip()), value.bounds)
    if way == 1:
        return scope.emit(op.argsort(value.expr, axis=-1), Bounds(0, last, True))
    if way == 2:
        return scope.emit(op.topk(value.expr, 1 + scope.index(last), axis=-1, ret_type="values"), value.bounds)
    if way == 3:
        return scope.emit(op.cumsum(value.expr, axis=-1), value.known.up_to(last).rounded())
    return scope.emit(op.cumprod(value.expr, axis=-1), Bounds(-1.0, 1.0).rounded())


@TABLE.near_miss("kin")
def reduced_values(scope: Scope) -> Value:
    """Plant its kin that needs no dispatch: ``max``, ``argmax``, ``flip``."""
    value = floats(scope, ranks=(1, 2), static=True)
    largest, place = op.max(value.expr, axis=-1), op.argmax(value.expr, axis=-1)
    places = Bounds(0, int(value.shape[-1]) - 1, True)
    flipped = op.flip(value.expr, axis=0)
    return scope.emit(*scope.pick(((largest, value.bounds), (place, places), (flipped, value.bounds))))


@TABLE.idiom("DispatchSampling")
def sampled(scope: Scope) -> Value:
    """Plant ``multinomial_from_uniform`` of rows that sum to more than one, so that every sample falls on an entry."""
    rows, columns, count = 1 + scope.index(3), 2 + scope.index(3), 1 + scope.index(3)
    likely = fresh(scope, (rows, columns), "float32", Bounds(0.75, 1.0))
    drawn = fresh(scope, (count, 1), "float32", Bounds(0.0, 0.75))
    which = fresh(scope, (count, 1), "int64", Bounds(0, rows - 1, True))
    return scope.emit(
        op.multinomial_from_uniform(likely.expr, drawn.expr, which.expr, "int64"), Bounds(0, columns - 1, True)
    )


@TABLE.near_miss("gathered")
def gathered(scope: Scope) -> Value:
    """Plant rows picked by index: what sampling looks like without the chance."""
    likely = fresh(scope, (3, 2), "float32")
    which = fresh(scope, (2,), "int64", Bounds(0, 2, True))
    return scope.emit(op.take(likely.expr, which.expr, axis=0), likely.bounds)


@TABLE.idiom("ComputePrimValue", needs=(Feature.SYMBOLIC_SHAPES, Feature.SHAPE_EXPRESSIONS))
def computed_prim(scope: Scope) -> Value:
    """Plant a primitive value computed from a symbolic dim."""
    value = scope.tensor(
        dtypes=("float32",), ranks=(1, 2), where=lambda v: small(scope, v) and any(map(_symbolic, v.shape))
    )
    dim = next(filter(_symbolic, value.shape))
    way = scope.index(4)
    expr = (dim * 2 + 1, dim + 3, tirx.max(dim, 2) if way == 2 else dim + 1, dim // 2)[way]
    prim = scope.emit(expr, None)
    return joined(scope, [prim, relu(scope, value)]) if scope.has(Feature.TUPLES) else prim


@TABLE.near_miss("variable", needs=(Feature.ALIASES,))
def plain_prim(scope: Scope) -> Value:
    """Plant a symbolic dim as a primitive value, nothing computed."""
    value = scope.tensor(
        dtypes=("float32",), ranks=(1, 2), where=lambda v: small(scope, v) and any(map(_variable, v.shape))
    )
    prim = scope.emit(next(filter(_variable, value.shape)), None)
    return joined(scope, [prim, relu(scope, value)]) if scope.has(Feature.TUPLES) else prim


def _symbolic(dim: Any) -> bool:
    return not isinstance(dim, int)


def _variable(dim: Any) -> bool:
    return isinstance(dim, tirx.Var)


@TABLE.idiom(
    "AnnotateTIROpPattern",
    needs=(Feature.KERNELS,),
    also_for=("SpecializePrimFuncBasedOnCallSite", "AttachAttrLayoutFreeBuffers", "CallTIRRewrite"),
)
def called_kernel(scope: Scope) -> Value:
    """Plant a ``call_tir`` of a kernel of the module's own."""
    return kernels.draw_kernel(scope)


@TABLE.idiom("NormalizeGlobalVar", needs=(Feature.KERNELS,))
def misnamed_kernel(scope: Scope) -> Value:
    """Plant a kernel whose ``global_symbol`` is not its name in the module."""
    value = floats(scope, static=True, bounds=UNIT)
    number = scope.module.next_number("misnamed")
    function = from_json_graph_str(_add_one(kernels.numbered([value.shape]), value.dtype))
    function = function.with_attr("global_symbol", f"symbol{number or ''}")
    var = scope.builder.add_func(function, f"misnamed{number or ''}")
    return scope.emit(relax.call_tir(var, [value.expr], value.ty), Bounds(-1.0625, 3.0625))


@lru_cache(maxsize=256)
def _add_one(shapes: Shapes, dtype: str) -> str:
    """Return JSON of a kernel: building one costs a millisecond, loading a copy a tenth."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == "te_add_one")
    return str(to_json_graph_str(kernel.build(shapes, dtype)))


@TABLE.idiom("RealizeVDevice", "UpdateVDevice", needs=(Feature.DEVICE_HINTS,))
def hinted(scope: Scope) -> Value:
    """Plant a value that a hint, or a move, says to lie on the first device, and what is computed from it."""
    value = floats(scope)
    # A hint gives parameters of a called function a device that the arguments of its calls have not.
    if scope.index(3) == 2 or (scope.frame.called and value.ty.vdevice is None):
        moved = scope.emit(op.to_vdevice(value.expr, scope.module.vdevices[0]), value.bounds)
    else:
        moved = scope.emit(op.hint_on_device(value.expr, tvm.cpu(0)), value.bounds)
    return relu(scope, moved)


@TABLE.near_miss("none", spares=("RealizeVDevice",))
def unhinted(scope: Scope) -> Value:
    """Plant the same computation without a hint."""
    return relu(scope, relu(scope, floats(scope)))


@TABLE.idiom("MergeCompositeFunctions", needs=(Feature.COMPOSITE,), clears=UNMERGEABLE)
def composite_calls(scope: Scope) -> Value:
    """Plant one or two calls of composite functions of one backend."""
    made = composites.draw_composite(scope)
    return composites.draw_composite(scope) if scope.index(2) else made


@TABLE.idiom("RunCodegen", needs=(Feature.EXTERNAL_CODEGEN,), top_level=True)
def external_call(scope: Scope) -> Value:
    """Plant a call of a function that the external code generator takes."""
    return composites.draw_external(scope)


TABLE.near_miss("composite")(composites.draw_composite)


@TABLE.idiom("FuseOpsByPattern")
def matched_operators(scope: Scope) -> Value:
    """Plant what patterns of FuseOpsByPattern match: ``exp(a + b) * c`` and the like."""
    value = floats(scope, bounds=UNIT)
    way = scope.index(4)
    if way == 0:
        return scope.emit(op.exp(value.expr), Bounds(0.125, 8.0))
    if way == 1:
        return times(scope, added(scope, value, value), value)
    if way == 2:
        return scope.emit(op.maximum(scope.emit(op.abs(value.expr), Bounds(0.0, 2.0)).expr, value.expr), UNIT)
    return relu(scope, added(scope, value, value))


@TABLE.near_miss("unmatched")
def unmatched_operators(scope: Scope) -> Value:
    """Plant operators that no pattern of the table names."""
    value = floats(scope, bounds=UNIT)
    return scope.emit(
        op.negative(subtracted(scope, value, scope.scalar(1.0, value.dtype)).expr), Bounds(-1.0625, 3.0625)
    )


@TABLE.idiom("AllocateWorkspace", needs=(Feature.CODEGEN,), top_level=True)
def workspace(scope: Scope, size: int = -1) -> Value:
    """Plant a call of a code generator's function that asks for a workspace."""
    scope.frame.require_host()
    value = floats(scope, static=True, bounds=UNIT)
    size = 64 * (1 + scope.index(3)) if size < 0 else size
    wanted = {"WorkspaceSize": size} if size else {}
    inner, outer = (relax.Var(name, relax.TensorType(list(value.shape), value.dtype)) for name in "xy")

    def body(emit: Callable[..., Any]) -> Any:
        attrs = {"Composite": f"{composites.ABSENT}.negative", **wanted}
        local = emit(block_function(scope.builder, [inner], lambda _: op.negative(inner), attrs), "local_func")
        return emit(relax.Call(local, [outer]), "output")

    name = f"fused_relax_negative_{composites.ABSENT}{scope.module.next_number('workspace') or ''}"
    attrs = {"Codegen": composites.ABSENT, "global_symbol": name, **wanted}
    var = scope.builder.add_func(block_function(scope.builder, [outer], body, attrs, dataflow=False), name)
    return scope.emit(relax.Call(var, [value.expr]), UNIT)


TABLE.near_miss("none")(partial(workspace, size=0))


@TABLE.idiom("Gradient", needs=(Feature.MULTIPLE_FUNCTIONS,))
def loss_function(scope: Scope) -> Value:
    """Plant a public function beside this one, which ends in a float scalar."""
    draw_loss(scope, 1 + scope.index(MOST_STEPS), differentiable=scope.index(16) < 15)
    return floats(scope)
