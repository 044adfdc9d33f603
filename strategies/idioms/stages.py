"""Idioms of later stages: kernels, sorting and sampling, primitive values, devices, external code generators."""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import relax, tirx
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str

from strategies import composites, kernels
from strategies.bounds import Bounds
from strategies.features import Feature
from strategies.frame import Unfit
from strategies.idioms.idiom import Idiom, NearMiss
from strategies.idioms.parts import UNIT, added, dims, floats, fresh, joined, less, relu, small, times
from strategies.kernel_table import KERNELS, Shapes
from strategies.scope import Scope
from strategies.values import Value

op = relax.op


# -- sorting and sampling -------------------------------------------------------------------------------------------


def sorted_values(scope: Scope) -> Value:
    """``sort``, ``argsort``, ``topk``, ``cumsum`` or ``cumprod``."""
    value = floats(scope, ranks=(1, 2), static=True, bounds=Bounds(-1.0, 1.0))
    way = scope.index(5)
    last = int(dims(value)[-1])
    if way == 0:
        return scope.emit(op.sort(value.expr, axis=-1, descending=bool(scope.index(2))), value.bounds)
    if way == 1:
        return scope.emit(op.argsort(value.expr, axis=-1), Bounds(0, last, True))
    if way == 2:
        return scope.emit(op.topk(value.expr, 1 + scope.index(last), axis=-1, ret_type="values"), value.bounds)
    if way == 3:
        return scope.emit(op.cumsum(value.expr, axis=-1), value.known.up_to(last).rounded())
    return scope.emit(op.cumprod(value.expr, axis=-1), Bounds(-1.0, 1.0).rounded())


def reduced_values(scope: Scope) -> Value:
    """Its kin that needs no dispatch: ``max``, ``argmax``, ``flip``."""
    value = floats(scope, ranks=(1, 2), static=True)
    way = scope.index(3)
    if way == 0:
        return scope.emit(op.max(value.expr, axis=-1), value.bounds)
    if way == 1:
        return scope.emit(op.argmax(value.expr, axis=-1), Bounds(0, int(dims(value)[-1]) - 1, True))
    return scope.emit(op.flip(value.expr, axis=0), value.bounds)


def sampled(scope: Scope) -> Value:
    """``multinomial_from_uniform`` of rows that sum to more than one, so that every sample falls on an entry."""
    rows, columns, count = 1 + scope.index(3), 2 + scope.index(3), 1 + scope.index(3)
    likely = fresh(scope, (rows, columns), "float32", Bounds(0.75, 1.0))
    drawn = fresh(scope, (count, 1), "float32", Bounds(0.0, 0.75))
    which = fresh(scope, (count, 1), "int64", Bounds(0, rows - 1, True))
    return scope.emit(
        op.multinomial_from_uniform(likely.expr, drawn.expr, which.expr, "int64"), Bounds(0, columns - 1, True)
    )


def gathered(scope: Scope) -> Value:
    """Rows picked by index: what sampling looks like without the chance."""
    likely = fresh(scope, (3, 2), "float32")
    which = fresh(scope, (2,), "int64", Bounds(0, 2, True))
    return scope.emit(op.take(likely.expr, which.expr, axis=0), likely.bounds)


# -- primitive values -----------------------------------------------------------------------------------------------


def computed_prim(scope: Scope) -> Value:
    """A primitive value computed from a symbolic dim."""
    value = scope.tensor(
        dtypes=("float32",), ranks=(1, 2), where=lambda v: small(scope, v) and any(map(_symbolic, v.dims or ()))
    )
    dim = next(filter(_symbolic, dims(value)))
    way = scope.index(4)
    expr = (dim * 2 + 1, dim + 3, tirx.max(dim, 2) if way == 2 else dim + 1, dim // 2)[way]
    prim = scope.emit(expr, None)
    return joined(scope, [prim, relu(scope, value)]) if scope.has(Feature.TUPLES) else prim


def plain_prim(scope: Scope) -> Value:
    """A symbolic dim as a primitive value, nothing computed."""
    value = scope.tensor(
        dtypes=("float32",), ranks=(1, 2), where=lambda v: small(scope, v) and any(map(_variable, v.dims or ()))
    )
    prim = scope.emit(next(filter(_variable, dims(value))), None)
    return joined(scope, [prim, relu(scope, value)]) if scope.has(Feature.TUPLES) else prim


def _symbolic(dim: Any) -> bool:
    return not isinstance(dim, int)


def _variable(dim: Any) -> bool:
    return isinstance(dim, tirx.Var)


# -- kernels --------------------------------------------------------------------------------------------------------


def called_kernel(scope: Scope) -> Value:
    """A ``call_tir`` of a kernel of the module's own."""
    return kernels.draw_kernel(scope)


def misnamed_kernel(scope: Scope) -> Value:
    """A kernel whose ``global_symbol`` is not its name in the module."""
    value = floats(scope, static=True, bounds=UNIT)
    number = scope.module.next_number("misnamed")
    function = from_json_graph_str(_add_one(kernels.numbered([dims(value)]), value.dtype))
    function = function.with_attr("global_symbol", f"symbol{number or ''}")
    var = scope.builder.add_func(function, f"misnamed{number or ''}")
    return scope.emit(relax.call_tir(var, [value.expr], value.ty), Bounds(-1.0625, 3.0625))


@functools.lru_cache(maxsize=256)
def _add_one(shapes: Shapes, dtype: str) -> str:
    """JSON of a kernel: building one costs a millisecond, loading a copy a tenth."""
    kernel = next(kernel for kernel in KERNELS if kernel.name == "te_add_one")
    return str(to_json_graph_str(kernel.build(shapes, dtype)))


# -- devices --------------------------------------------------------------------------------------------------------


def hinted(scope: Scope) -> Value:
    """A value that a hint, or a move, says to lie on the first device, and what is computed from it."""
    value = floats(scope)
    # A hint gives parameters of a called function a device that the arguments of its calls have not.
    if scope.index(3) == 2 or (scope.frame.called and value.ty.vdevice is None):
        moved = scope.emit(op.to_vdevice(value.expr, scope.module.vdevices[0]), value.bounds)
    else:
        moved = scope.emit(op.hint_on_device(value.expr, tvm.cpu(0)), value.bounds)
    return relu(scope, moved)


def unhinted(scope: Scope) -> Value:
    """The same computation without a hint."""
    return relu(scope, relu(scope, floats(scope)))


# -- external code --------------------------------------------------------------------------------------------------


def composite_calls(scope: Scope) -> Value:
    """One or two calls of composite functions of one backend."""
    made = composites.draw_composite(scope)
    return composites.draw_composite(scope) if scope.index(2) else made


def external_call(scope: Scope) -> Value:
    """A call of a function that the external code generator takes."""
    return composites.draw_external(scope)


def matched_operators(scope: Scope) -> Value:
    """What patterns of FuseOpsByPattern match: ``exp(a + b) * c`` and the like."""
    value = floats(scope, bounds=UNIT)
    way = scope.index(4)
    if way == 0:
        return scope.emit(op.exp(value.expr), Bounds(0.125, 8.0))
    if way == 1:
        return times(scope, added(scope, value, value), value)
    if way == 2:
        return scope.emit(op.maximum(scope.emit(op.abs(value.expr), Bounds(0.0, 2.0)).expr, value.expr), UNIT)
    return relu(scope, added(scope, value, value))


def workspace(scope: Scope, size: int = -1) -> Value:
    """A call of a code generator's function that asks for a workspace."""
    if scope.frame.device is not None:
        raise Unfit("the parameters of a typed function are bound to a device")
    value = floats(scope, static=True, bounds=UNIT)
    builder = scope.builder
    size = 64 * (1 + scope.index(3)) if size < 0 else size
    ty = relax.TensorType(list(dims(value)), value.dtype)

    def one_operator() -> Any:
        parameter = relax.Var("x", ty)
        builder.begin_scope([parameter])
        builder._begin_dataflow_block()
        out = builder.emit_output(op.negative(parameter))
        block = builder._end_block()
        inner = relax.Function([parameter], builder.normalize(relax.SeqExpr([block], out)))
        builder.end_scope()
        inner = inner.with_attr("Composite", f"{composites.ABSENT}.negative")
        return inner.with_attr("WorkspaceSize", size) if size else inner

    parameter = relax.Var("y", ty)
    builder.begin_scope([parameter])
    builder._begin_binding_block()
    local = builder.emit(one_operator(), "local_func")
    out = builder.emit(relax.Call(local, [parameter]), "output")
    block = builder._end_block()
    function = relax.Function([parameter], builder.normalize(relax.SeqExpr([block], out)))
    builder.end_scope()
    name = f"fused_relax_negative_{composites.ABSENT}{scope.module.next_number('workspace') or ''}"
    attrs = {"Codegen": composites.ABSENT, "global_symbol": name, **({"WorkspaceSize": size} if size else {})}
    for key, attr in attrs.items():
        function = function.with_attr(key, attr)
    var = builder.add_func(function, name)
    return scope.emit(relax.Call(var, [value.expr]), UNIT)


def no_workspace(scope: Scope) -> Value:
    """A call of a code generator's function that needs none."""
    return workspace(scope, 0)


def unmatched_operators(scope: Scope) -> Value:
    """Operators that no pattern of the table names."""
    value = floats(scope, bounds=UNIT)
    return scope.emit(op.negative(less(scope, value, scope.scalar(1.0, value.dtype)).expr), Bounds(-1.0625, 3.0625))


_UNMERGEABLE = (
    Feature.IF, Feature.MATCH_CAST, Feature.MULTIPLE_FUNCTIONS, Feature.LOCAL_FUNCTIONS, Feature.PACKED_CALLS,
    Feature.IMPURE_CALLS, Feature.CODEGEN, Feature.DATA_DEPENDENT, Feature.UNKNOWN_SHAPES, Feature.NON_EXECUTABLE,
)  # fmt: skip
"""What MergeCompositeFunctions has no rule for: it raises at the first sight of it."""

ROWS = (
    Idiom("sorted_values", sorted_values, ("DispatchSortScan",), (NearMiss("kin", reduced_values),)),
    Idiom("sampled", sampled, ("DispatchSampling",), (NearMiss("gathered", gathered),)),
    Idiom(
        "computed_prim",
        computed_prim,
        ("ComputePrimValue",),
        (NearMiss("variable", plain_prim, needs=(Feature.ALIASES,)),),
        needs=(Feature.SYMBOLIC_SHAPES, Feature.SHAPE_EXPRESSIONS),
    ),
    Idiom(
        "called_kernel",
        called_kernel,
        ("AnnotateTIROpPattern",),
        needs=(Feature.KERNELS,),
        alone=("SpecializePrimFuncBasedOnCallSite", "AttachAttrLayoutFreeBuffers", "CallTIRRewrite"),
    ),
    Idiom("misnamed_kernel", misnamed_kernel, ("NormalizeGlobalVar",), needs=(Feature.KERNELS,)),
    Idiom(
        "hinted",
        hinted,
        ("RealizeVDevice", "UpdateVDevice"),
        (NearMiss("none", unhinted, spares=("RealizeVDevice",)),),
        needs=(Feature.DEVICE_HINTS,),
    ),
    Idiom(
        "composite_calls",
        composite_calls,
        ("MergeCompositeFunctions",),
        needs=(Feature.COMPOSITE,),
        clears=_UNMERGEABLE,
    ),
    Idiom(
        "external_call",
        external_call,
        ("RunCodegen",),
        (NearMiss("composite", composites.draw_composite),),
        needs=(Feature.EXTERNAL_CODEGEN,),
        top_level=True,
    ),
    Idiom(
        "matched_operators",
        matched_operators,
        ("FuseOpsByPattern",),
        (NearMiss("unmatched", unmatched_operators),),
    ),
    Idiom(
        "workspace",
        workspace,
        ("AllocateWorkspace",),
        (NearMiss("none", no_workspace),),
        needs=(Feature.CODEGEN,),
        top_level=True,
    ),
)
