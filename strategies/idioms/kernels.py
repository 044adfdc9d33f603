"""Idioms of kernels, with layouts of weights rewritten inside and parts that a library takes; and of local names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax, te

from strategies.idioms.idiom import BlockKind, IdiomTable
from strategies.idioms.parts import UNIT, fresh, width
from strategies.kernels.choose import emit_kernel
from strategies.kernels.table import KERNELS, MATCHED_SHAPE
from strategies.scope.bounds import Bounds
from strategies.scope.emitter import block_function
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op

TABLE = IdiomTable()

_REWRITE = {"meta_schedule.layout_rewrite_preproc": True}


@TABLE.idiom("SplitLayoutRewritePreproc", needs=(Feature.KERNELS,), also_for=("AttachAttrLayoutFreeBuffers",))
def rewritten_layout(scope: Scope) -> Value:
    """Plant a kernel that copies weights into another layout first; seldom reads them as they are, or copies twice."""
    rows, columns = width(scope), width(scope)
    way = scope.index(16)
    count = 2 if way in (11, 12, 13) else 1
    data = fresh(scope, [rows, columns], "float32")
    weights = [fresh(scope, [columns, rows], "float32") for _ in range(count)]
    inputs = [te.placeholder([rows, columns], "float32", name="A")]
    inputs += [te.placeholder([columns, rows], "float32", name=f"W{number}") for number in range(count)]
    copies = [_copied(weight, number) for number, weight in enumerate(inputs[1:])]
    if way == 14:
        copies.append(_copied(inputs[1], count))
    read = [inputs[1]] if way == 15 else []

    def element(i: Any, j: Any) -> Any:
        total = inputs[0][i, j]
        for copy in copies:
            total = total + copy[i, j]
        return total - read[0][j, i] if read else total

    made = te.compute((rows, columns), element, name="T_out", attrs={"layout_free_placeholders": inputs[1:]})
    kernel = te.create_prim_func([*inputs, made], index_dtype_override="int64")
    kernel = kernel.without_attr("global_symbol").with_attr("tirx.noalias", True)
    var = scope.builder.add_func(kernel, "rewritten_layout")
    call = relax.call_tir(
        var, [data.expr, *(weight.expr for weight in weights)], relax.TensorType([rows, columns], "float32")
    )
    return scope.emit(call, Bounds(-8.0, 8.0))


def _copied(weight: Any, number: int) -> Any:
    columns, rows = weight.shape
    return te.compute((rows, columns), lambda i, j: weight[j, i], name=f"W_rewrite{number}", attrs=_REWRITE)


@TABLE.idiom(also_for=("SplitCallTIRByPattern",), needs=(Feature.KERNELS,))
def matched_kernel(scope: Scope) -> Value:
    """Plant a kernel of the shape that patterns look for: of one stage, of two, or of two outputs."""
    names = ("two_stages", "te_add_one", "scale_and_shift")[: 3 if scope.has(Feature.KERNEL_OUTPUTS) else 2]
    name = scope.pick(names)
    kernel = next(each for each in KERNELS if each.name == name)
    operand = fresh(scope, MATCHED_SHAPE, "float32")
    return emit_kernel(scope, kernel, [operand], kernel.bounds(operand.known))


@TABLE.idiom("LambdaLift", needs=(Feature.LOCAL_FUNCTIONS,), place=BlockKind.ORDINARY, top_level=True)
def namesakes(scope: Scope) -> Value:
    """Plant two local functions of one name, seldom beside a function that has the name of what is lifted."""
    value = fresh(scope, [width(scope)], "float32", UNIT)
    way = scope.index(7)
    if scope.frame.nesting or scope.module.strict:
        raise Infeasible("no room for such functions")
    if way == 6:
        scope.module.take_room()
        function = _function(scope, value, op.negative).with_attr("global_symbol", "main_namesake_0")
        scope.builder.add_func(function, "main_namesake_0")
    for call in (op.negative, op.abs):
        function = _function(scope, value, call)
        var = relax.Var("namesake", function.ty)
        scope.builder.emit_normalized(relax.VarBinding(var, function))
        value = scope.emit(relax.Call(var, [value.expr]), UNIT)
    return value


def _function(scope: Scope, like: Value, call: Callable[[Any], Any]) -> Any:
    parameter = relax.Var("a", relax.TensorType(list(like.shape), like.dtype))
    return block_function(scope.builder, [parameter], lambda emit: emit(call(parameter)), dataflow=False)
