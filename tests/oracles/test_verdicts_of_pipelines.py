"""Verdicts on passes in an order, or behind others, that they were not made for."""

from __future__ import annotations

from typing import Any

import sample_modules as samples
import tvm
from tvm import relax
from verdict_rows import FAIL, PASS, REJECT, SKIP, Row, captured, made, ref, rows, tensor

from oracles import judge
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

Module = tvm.IRModule
_CHOICE = 'lambda var: relax.TensorType(var.ty.shape, "%s") if isinstance(var.ty, relax.TensorType) else None'
HALF, DOUBLE = (ref("UpdateParamType", _CHOICE % dtype) for dtype in ("float16", "float64"))
IN_PLACE, KILL, LOWER = ref("DataflowUseInplaceCalls"), ref("KillAfterLastUse"), ref("VMShapeLower")
SORT = ref("TopologicalSort", 'order="breadth-first", direction="from-outputs"')
KILLED, OVERWRITES = "variables are killed", "calls a kernel in place"


def absolute(*shape: int) -> Any:
    return lambda: made(shape, build=lambda builder, x: builder.emit(relax.op.abs(x)))


def tupled() -> Module:
    """A tuple of which a projection becomes the variable behind it, which was killed: the machine died of it."""
    return made((2,), build=lambda b, x: b.emit(relax.Tuple([x, x, b.emit(relax.op.abs(x))])))


def twice() -> Module:
    """The first of two equal values is overwritten in place, in the order in which that is safe."""

    def build(builder: Any, x: Any) -> Any:
        first = builder.emit(relax.op.negative(builder.emit(relax.op.abs(x))))
        return builder.emit(relax.op.add(first, builder.emit(relax.op.abs(x))))

    return made((2,), build=build)


def folded() -> Module:
    """What a kernel adds to in place can be folded, and then grows from call to call."""
    constant = relax.const([1.0, 1.0], "float32")
    return made((2,), build=lambda b, x: b.emit(relax.op.add(x, b.emit(relax.op.abs(constant)))))


def turned() -> Module:
    """Two layout transformations that cancel out: without them the call in place writes into the caller's tensor."""

    def build(builder: Any, x: Any) -> Any:
        there = builder.emit(relax.op.layout_transform(x, index_map=lambda i, j: (j, i)))
        back = builder.emit(relax.op.layout_transform(there, index_map=lambda i, j: (j, i)))
        return builder.emit(relax.op.nn.relu(builder.emit(relax.op.reshape(back, (2, 3)))))

    return made((2, 3), build=build)


def overwritten_last() -> Module:
    """A value that one operator reads, and then another one that may overwrite it."""
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor((2,))), relax.Var("y", tensor((1,)))
    with builder.function("main", [x, y]):
        with builder.dataflow():
            value = builder.emit(relax.op.add(y, x))
            outs = [builder.emit_output(each(value)) for each in (relax.op.abs, relax.op.nn.relu)]
        builder.emit_func_output(relax.Tuple(outs))
    return builder.get()


def planned_by_hand() -> Module:
    """A view of a planned tensor by a packed call, whose storage was kept for the next run, which wrote into it."""

    def build(builder: Any, x: Any) -> Any:
        storage = builder.emit(relax.op.memory.alloc_storage(relax.ShapeExpr([8]), 0, "global", "uint8"))
        made_in = builder.emit(relax.op.memory.alloc_tensor(storage, 0, relax.ShapeExpr([2]), "float32"))
        view = relax.op.call_pure_packed("vm.builtin.reshape", made_in, relax.ShapeExpr([2]), ty_args=x.ty)
        return builder.emit(view)

    return made((2,), build=build)


def four_kernels() -> Module:
    """A plan behind captured graphs, whose calls return some of what they are given."""

    def build(builder: Any, x: Any) -> Any:
        first = builder.emit(relax.op.abs(x))
        second = builder.emit(relax.op.abs(first))
        builder.emit(relax.op.abs(x))
        builder.emit(relax.op.abs(second))
        return x

    return made((2,), build=build)


def composite() -> Module:
    """A composite function to which AttachGlobalSymbol gives a symbol; merging made a local function of it."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, tensor((2,))) for name in "xy")
    with builder.function("inner", [y], attrs={"Composite": "pyext.abs"}, private=True):
        builder.emit_func_output(builder.emit(relax.op.abs(y)))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.Call(builder.get().get_global_var("inner"), [x]))
        builder.emit_func_output(out)
    return builder.get()


def dead_ones() -> Module:
    """A dead call that FuseOpsByPattern leaves without a shape, until KillAfterLastUse makes a user of it."""
    m = tvm.tirx.Var("m", "int64")

    def build(builder: Any, x: Any, y: Any) -> Any:
        ones = builder.emit(relax.op.full((m + m,), relax.const(1.0, "float32"), "float32"))
        builder.emit(relax.op.abs(builder.emit(relax.op.grad.start_checkpoint(ones))))
        return relax.op.negative(y)

    return made((m,), (2,), build=build)


def dead_sinh() -> Module:
    """A dead ``sinh``, which LLVM's code generator does not know of float16."""
    builder, x = relax.BlockBuilder(), relax.Var("x", tensor((2,)))
    with builder.function("main", [x]):
        with builder.dataflow():
            builder.emit(relax.op.sinh(relax.const([1.0, 1.0], "float32")))
        builder.emit_func_output(x)
    return builder.finalize()


def called_identity() -> Module:
    """A public function that another one calls: LazyGetInput leaves the call as it was."""
    builder = relax.BlockBuilder()
    x, y, z = (relax.Var(name, tensor((2,))) for name in "xyz")
    with builder.function("f1", [x]):
        builder.emit_func_output(x)
    callee = builder.get().get_global_var("f1")
    with builder.function("f2", [y]):
        with builder.dataflow():
            total = builder.emit_output(relax.op.add(y, y))
        builder.emit_func_output(total)
    with builder.function("main", [z]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [z])))
    return builder.finalize()


def added_twice() -> Module:
    """A call that the caller's own legalization gives back; VMShapeLower is the first behind which nobody lowers it."""

    def build(builder: Any, x: Any) -> Any:
        lowered = builder.emit(relax.op.abs(x))
        return builder.emit(relax.op.add(lowered, lowered))

    return made((tvm.tirx.Var("n", "int64"),), build=build, dataflow=False)


def two_devices() -> Module:
    """A plan mixes the devices up; behind it another pass captures an empty region."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32", vdevice="llvm:1:global"):
        R.func_attr({"relax.force_pure": True})
        lv: R.Tensor((), dtype="float32") = R.max(x, axis=None, keepdims=False)
        lv1: R.Tensor((), dtype="bool") = R.less_equal(lv, R.const(3.5, "float32"))
        R.assert_op(lv1, format=R.str("too large"))
        lv3: R.Tensor((2,), dtype="float32", vdevice="llvm:1:global") = R.to_vdevice(x, dst_vdevice="llvm:1:global")
        lv4: R.Tensor((2,), dtype="float32", vdevice="llvm:1:global") = R.abs(lv3)
        lv5: R.Tensor((2,), dtype="float32", vdevice="llvm:1:global") = R.abs(lv4)
        return lv5
""")


def grouped_move() -> Module:
    """A move in a function of its own, whose argument RealizeVDevice takes for moved already."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.abs(x)
            lv1: R.Tensor((2,), dtype="float32", vdevice="llvm:1:global") = R.to_vdevice(x, dst_vdevice="llvm:1:global")
            R.output(lv, lv1)
        return lv
""")


def grouped_move_that_is_read() -> Module:
    """The same where something reads what is moved."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32", "llvm:1:global"):
        with R.dataflow():
            lv = R.abs(x)
            lv1: R.Tensor((2,), "float32", "llvm:1:global") = R.to_vdevice(lv, dst_vdevice="llvm:1:global")
            lv2: R.Tensor((2,), "float32", "llvm:1:global") = R.maximum(lv1, lv1)
            R.output(lv, lv1, lv2)
        return lv2
""")


def grouping(operator: str, pattern: str, backend: str = "absent") -> PassRef:
    return ref("FuseOpsByPattern", f'[("{backend}.{operator}", {pattern})]')


FULL = grouping("full", 'is_op("relax.full")(wildcard(), wildcard())', "pyext")
MOVE = grouping("to_vdevice", 'is_op("relax.to_vdevice")(wildcard())')
READ_MOVE = grouping("move", 'is_op("relax.maximum")(wildcard(), is_op("relax.to_vdevice")(wildcard()))')
RENAMING = (ref("CanonicalizeBindings"), ref("EliminateCommonSubexpr"), ref("FoldVDeviceScopeChange"))
REWRITING = (ref("OptimizeLayoutTransform"), ref("RemoveRedundantReshape"), ref("FoldVDeviceScopeChange"))
BREAKS = "an earlier pass breaks something else"


@rows(
    *(
        Row(f"killed-{each.name}", tupled, (KILL, LOWER, ref("ToNonDataflow"), LOWER, each), SKIP, KILLED)
        for each in RENAMING
    ),
    *(
        Row(f"not-killed-{each.name}", tupled, (LOWER, ref("ToNonDataflow"), LOWER, each), PASS)
        for each in RENAMING
    ),
    Row("killed-twice", tupled, (KILL, LOWER, KILL), SKIP, "variables are killed that have other names"),
    Row("overwritten-equal", twice, (IN_PLACE, RENAMING[1]), SKIP, OVERWRITES, shows="call_tir_inplace"),
    Row("equal-before", twice, (RENAMING[1], IN_PLACE), PASS),
    Row("overwritten-constant", folded, (IN_PLACE, ref("FoldConstant")), SKIP, OVERWRITES, shows="call_tir_inplace"),
    Row("constant-before", folded, (ref("FoldConstant"), IN_PLACE), PASS),
    *(
        Row(f"overwritten-{each.name}", turned, (IN_PLACE, each), SKIP, OVERWRITES, shows="call_tir_inplace")
        for each in REWRITING
    ),
    Row("sorted-alone", overwritten_last, (SORT,), PASS),
    Row("in-place-alone", overwritten_last, (IN_PLACE,), PASS, shows="call_tir_inplace"),
    Row("sorted-in-place", overwritten_last, (IN_PLACE, SORT), SKIP, OVERWRITES),
    Row(
        "callback-retyped", absolute(1), (ref("LazySetOutput"), HALF), SKIP,
        "a callback is handed values of the types that the caller chose",
    ),
    Row("retyped-alone", absolute(1), (HALF,), PASS),
    Row("viewed-in-graph", planned_by_hand, (captured(),), SKIP, "a packed call may return its argument"),
    Row(
        "planned-behind-graphs", four_kernels, (captured(), ref("StaticPlanBlockMemory")), PASS,
        oracle=OracleName.POSTCONDITION,
    ),
    Row(
        "heap-killed", absolute(2), (LOWER, KILL), PASS, oracle=OracleName.POSTCONDITION,
    ),
    Row(
        "public-composite", composite, (ref("AttachGlobalSymbol"), ref("MergeCompositeFunctions")), SKIP,
        "a composite function is public",
    ),
    Row("private-composite", composite, (ref("MergeCompositeFunctions"),), PASS),
    Row("dead-call-kept-alive", dead_ones, (FULL, KILL), FAIL, culprit="LegalizeOps"),
    Row("dead-kernel-kept-alive", dead_sinh, (ref("ToMixedPrecision"), ref("RewriteCUDAGraph")), FAIL,
        culprit="LegalizeOps"),
    Row("two-faults", called_identity, (ref("LazyGetInput"), IN_PLACE), SKIP, BREAKS),
    Row("plan-of-two-devices", two_devices, (ref("StaticPlanBlockMemory"),), FAIL, culprit="StaticPlanBlockMemory"),
    Row("graph-of-two-devices", two_devices, (ref("StaticPlanBlockMemory"), captured()), SKIP, BREAKS),
    Row(
        "own-legalization", added_twice, (ref("LegalizeOps", '{"relax.add": lambda builder, call: call}'), LOWER), SKIP,
        "the caller's own legalization leaves the operator",
    ),
    Row("grouped-move", grouped_move, (MOVE,), SKIP, "RealizeVDevice carries a device over a call"),
    Row(
        "grouped-move-placed", grouped_move_that_is_read, (READ_MOVE, ref("RealizeVDevice"), ref("LegalizeOps")), FAIL,
        culprit="RealizeVDevice",
    ),
    Row(
        "constant-for-another-compiler",
        lambda: made((2,), build=lambda b, x: relax.op.add(x, relax.const([1.0, 2.0], "float32"))),
        (grouping("add", 'is_op("relax.add")(wildcard(), wildcard())', "pyext"), ref("LegalizeOps"), ref("FuseTIR")),
        REJECT, "constant in a primitive function", oracle=OracleName.CRASH,
    ),
    Row(
        "kernel-of-chosen-types", lambda: relax.transform.LegalizeOps()(absolute(1)()),
        (DOUBLE, ref("CallTIRRewrite")), SKIP, "input of the pass is ill-formed", oracle=OracleName.CRASH,
    ),
)  # fmt: skip
def test_verdict(row: Row) -> None:
    row.check()


def test_captured_graphs_and_shape_heaps_are_there() -> None:
    assert "run_or_capture" in str(Subject(four_kernels(), [captured(), ref("StaticPlanBlockMemory")]).output_module)
    assert "shape_heap: R.Any = R.null_value()" in str(Subject(absolute(2)(), [LOWER, KILL]).output_module)
    assert "alloc_storage" in planned_by_hand().script()


def test_a_pipeline_that_writes_into_its_input_blames_the_writer_alone() -> None:
    passes = [ref("LegalizeOps"), ref("UpdateVDevice", 'relax.VDevice("llvm", 0, "global"), 0'), ref("CallTIRRewrite")]
    verdicts = judge(Subject(samples.vdevices(), passes), [OracleName.MUTATION, OracleName.SEQUENTIAL])
    assert all(each.outcome is not Outcome.FAIL for each in verdicts if each.oracle is OracleName.SEQUENTIAL)
