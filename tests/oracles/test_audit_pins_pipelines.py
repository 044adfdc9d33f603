"""False alarms about passes in an order or on inputs that they were not made for, each pinned by its mend."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax

from oracles import judge
from oracles.contract import Contract, Ran
from oracles.facts import ModuleFacts
from oracles.numeric_limits import excused
from oracles.passref import PassRef
from oracles.plan import Step
from oracles.postconditions.algebra import dearer_order_left
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict

X = "relax.transform"
_CHOICE = 'lambda var: relax.TensorType(var.ty.shape, "%s") if isinstance(var.ty, relax.TensorType) else None'
HALF, DOUBLE = (PassRef("UpdateParamType", f"{X}.UpdateParamType({_CHOICE % each})") for each in ("float16", "float64"))


def ref(name: str, arguments: str = "") -> PassRef:
    return PassRef(name, f"{X}.{name}({arguments})")


FOLD_SCOPE = PassRef("FoldVDeviceScopeChange", "relax.backend.adreno.transform.FoldVDeviceScopeChange()")


def numeric(module: Any, *passes: PassRef) -> Verdict:
    subject = Subject(module, passes, facts=ModuleFacts(module), input_seed=3)
    (found,) = [each for each in judge(subject, [OracleName.NUMERIC]) if each.oracle is OracleName.NUMERIC]
    return found


def made(shape: tuple[int, ...], *more: tuple[int, ...], build: Any, name: str = "main") -> Any:
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{index}", relax.TensorType(each, "float32")) for index, each in enumerate((shape, *more))]
    with builder.function(name, params):
        with builder.dataflow():
            result = builder.emit_output(build(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(
    "later", [ref("CanonicalizeBindings"), ref("EliminateCommonSubexpr"), FOLD_SCOPE], ids=lambda each: str(each.name)
)
def test_what_is_killed_is_not_renamed(later: PassRef) -> None:
    """A projection became the variable behind it, which had been killed: the machine died of it (fd0ade5c62, too)."""

    def tupled(builder: Any, x: Any) -> Any:
        return builder.emit(relax.Tuple([x, x, builder.emit(relax.op.abs(x))]))

    module = made((2,), build=tupled)
    shape_lower = ref("VMShapeLower")
    found = numeric(module, ref("KillAfterLastUse"), shape_lower, ref("ToNonDataflow"), shape_lower, later)
    assert (found.outcome, found.reason) == (Outcome.SKIP, "variables are killed")
    again = numeric(module, ref("KillAfterLastUse"), shape_lower, ref("KillAfterLastUse"))
    assert (again.outcome, again.reason) == (Outcome.SKIP, "variables are killed")
    assert numeric(module, shape_lower, ref("ToNonDataflow"), shape_lower, later).outcome is Outcome.PASS


def test_a_shape_heap_is_no_tensor_that_must_be_killed() -> None:
    module = made((2,), build=lambda builder, x: builder.emit(relax.op.abs(x)))
    subject = Subject(module, [ref("VMShapeLower"), ref("KillAfterLastUse")], facts=ModuleFacts(module))
    assert "shape_heap: R.Any = R.null_value()" in str(subject.output_module)
    found = [each for each in judge(subject, [OracleName.POSTCONDITION]) if each.oracle is OracleName.POSTCONDITION]
    assert [each.outcome for each in found] == [Outcome.PASS]


def twice(builder: Any, x: Any) -> Any:
    """The first of two equal values is overwritten in place, in the order in which that is safe."""
    first = builder.emit(relax.op.negative(builder.emit(relax.op.abs(x))))
    return builder.emit(relax.op.add(first, builder.emit(relax.op.abs(x))))


def folded(builder: Any, x: Any) -> Any:
    """What a kernel adds to in place can be folded, and then grows from call to call (ae37934f4d)."""
    return builder.emit(relax.op.add(x, builder.emit(relax.op.abs(relax.const([1.0, 1.0], "float32")))))


@pytest.mark.parametrize(("build", "later"), [(twice, "EliminateCommonSubexpr"), (folded, "FoldConstant")])
def test_what_is_overwritten_is_neither_computed_once_nor_a_constant(build: Any, later: str) -> None:
    in_place, module = ref("DataflowUseInplaceCalls"), made((2,), build=build)
    assert "call_tir_inplace" in str(relax.transform.DataflowUseInplaceCalls()(module))
    found = numeric(module, in_place, ref(later))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "calls a kernel in place")
    assert numeric(module, ref(later), in_place).outcome is Outcome.PASS


def test_a_callback_is_handed_what_the_caller_chose() -> None:
    module = made((1,), build=lambda builder, x: builder.emit(relax.op.abs(x)))
    found = numeric(module, ref("LazySetOutput"), HALF)
    assert (found.outcome, found.reason) == (
        Outcome.SKIP,
        "a callback is handed values of the types that the caller chose",
    )
    assert numeric(module, HALF).outcome is Outcome.PASS


def test_a_kernel_of_other_types_than_the_caller_chose_is_no_fault_of_later_passes() -> None:
    """The call of a kernel for float32 with float64 is refused where it becomes a call of a function."""
    module = relax.transform.LegalizeOps()(made((1,), build=lambda builder, x: builder.emit(relax.op.abs(x))))
    subject = Subject(module, [DOUBLE, ref("CallTIRRewrite")], facts=ModuleFacts(module))
    (found,) = [each for each in judge(subject, [OracleName.CRASH]) if each.oracle is OracleName.CRASH]
    assert subject.output.error is not None
    assert "Argument 0 type mismatch" in subject.output.error.message
    assert (found.outcome, found.reason) == (Outcome.SKIP, "input of the pass is ill-formed")


@pytest.mark.parametrize(("extent", "outcome"), [(0, Outcome.SKIP), (1, Outcome.PASS)])
def test_the_gradient_of_no_elements_is_not_measured(extent: int, outcome: Outcome) -> None:
    """It is a sum over nothing, which its legalization does not write."""

    def loss(builder: Any, x: Any, y: Any) -> Any:
        squares = builder.emit(relax.op.sum(builder.emit(relax.op.multiply(x, x))))
        return builder.emit(relax.op.add(squares, builder.emit(relax.op.sum(builder.emit(relax.op.multiply(x, y))))))

    found = numeric(made((3,), (extent, 4, 3), build=loss, name="loss"), ref("Gradient", '"loss"'))
    assert found.outcome is outcome, found
    assert found.reason == ("undecidable: gradient of no elements" if extent == 0 else "")


def test_a_plan_behind_captured_graphs_is_not_planned_again() -> None:
    """RewriteCUDAGraph's calls return some of what they are given; all of it counted as in use until then."""

    def four(builder: Any, x: Any) -> Any:
        first = builder.emit(relax.op.abs(x))
        second = builder.emit(relax.op.abs(first))
        builder.emit(relax.op.abs(x))
        builder.emit(relax.op.abs(second))
        return x

    module = made((2,), build=four)
    graphs = f'configured({X}.RewriteCUDAGraph(), {{"relax.backend.use_cuda_graph": True}})'
    subject = Subject(
        module, [PassRef("RewriteCUDAGraph", graphs), ref("StaticPlanBlockMemory")], facts=ModuleFacts(module)
    )
    assert "run_or_capture" in str(subject.output_module)
    found = [each for each in judge(subject, [OracleName.POSTCONDITION]) if each.oracle is OracleName.POSTCONDITION]
    assert [each.outcome for each in found] == [Outcome.PASS]


def test_a_view_by_a_packed_call_is_not_seen_by_captured_graphs() -> None:
    """The storage of what a packed reshape returned was kept for the next run, which wrote into it."""

    def viewed(builder: Any, x: Any) -> Any:
        storage = builder.emit(relax.op.memory.alloc_storage(relax.ShapeExpr([8]), 0, "global", "uint8"))
        tensor = builder.emit(relax.op.memory.alloc_tensor(storage, 0, relax.ShapeExpr([2]), "float32"))
        view = relax.op.call_pure_packed("vm.builtin.reshape", tensor, relax.ShapeExpr([2]), ty_args=x.ty)
        return builder.emit(view)

    graphs = f'configured({X}.RewriteCUDAGraph(), {{"relax.backend.use_cuda_graph": True}})'
    module = made((2,), build=viewed)
    assert "alloc_storage" in module.script()
    found = numeric(module, PassRef("RewriteCUDAGraph", graphs))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "a packed call may return its argument")


def test_of_a_product_of_four_one_way_is_weighed_up() -> None:
    """The pass looks for a product on the left first, and at most at one."""
    order = ref("AdjustMatmulOrder")
    shapes = ((1, 8), (8, 8), (8, 1), (1, 8))

    def products(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        left, right = builder.emit(relax.op.matmul(a, b)), builder.emit(relax.op.matmul(c, d))
        return builder.emit_output(relax.op.matmul(left, right))

    def nested(builder: Any, a: Any, b: Any, c: Any) -> Any:
        return builder.emit_output(relax.op.matmul(a, builder.emit(relax.op.matmul(b, c))))

    module = made(*shapes, build=products)
    kept = order.build()(module)
    assert kept.script().count("R.matmul(lv, lv1") == 1  # though ((a b) c) d takes fewer multiplications
    subject = Subject(module, [order], facts=ModuleFacts(module))
    (found,) = [each for each in judge(subject, [OracleName.POSTCONDITION]) if each.oracle is OracleName.POSTCONDITION]
    assert found.outcome is Outcome.PASS

    def chained(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        left = builder.emit(relax.op.matmul(builder.emit(relax.op.matmul(a, b)), c))
        return builder.emit_output(relax.op.matmul(left, d))

    four = order.build()(made((2, 2), (2, 2), (2, 3), (3, 1), build=chained))  # (a b) (c d) takes fewer
    assert "R.matmul(lv1, " in four.script()
    assert not dearer_order_left(Ran(four, four, {}))
    dearer = made((1, 8), (8, 1), (1, 8), build=nested)
    assert dearer_order_left(Ran(dearer, dearer, {})).startswith("a product of three")


def judged(module: Any, oracle: OracleName, *passes: PassRef) -> Verdict:
    subject = Subject(module, passes, facts=ModuleFacts(module))
    (found,) = [each for each in judge(subject, [oracle]) if each.oracle is oracle]
    return found


def test_composites_with_a_symbol_are_not_for_merging() -> None:
    """AttachGlobalSymbol had given them one, and merging made local functions of that symbol."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((2,), "float32")) for name in "xy")
    with builder.function("inner", [y], attrs={"Composite": "pyext.abs"}, private=True):
        builder.emit_func_output(builder.emit(relax.op.abs(y)))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.Call(builder.get().get_global_var("inner"), [x]))
        builder.emit_func_output(out)
    attach, merge = ref("AttachGlobalSymbol"), ref("MergeCompositeFunctions")
    found = judged(builder.get(), OracleName.NUMERIC, attach, merge)
    assert (found.outcome, found.reason) == (Outcome.SKIP, "a composite function is public")
    assert judged(builder.get(), OracleName.NUMERIC, merge).outcome is Outcome.PASS


def test_a_cast_to_another_type_than_the_caller_chose_is_not_read_back() -> None:
    def cast(builder: Any, x: Any) -> Any:
        return builder.match_cast(x, relax.TensorType((2,), "float32"))

    module = made((2,), build=cast)
    found = judged(module, OracleName.ROUNDTRIP, DOUBLE)
    assert (found.outcome, found.reason) == (
        Outcome.SKIP,
        "a cast of a parameter to another type than the caller chose",
    )
    assert judged(module, OracleName.ROUNDTRIP, ref("CanonicalizeBindings")).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("later", "room"),
    [
        ("OptimizeLayoutTransform", "relax.transform"),
        ("RemoveRedundantReshape", "relax.transform"),
        ("FoldVDeviceScopeChange", "relax.backend.adreno.transform"),
    ],
)
def test_an_operand_that_is_overwritten_is_not_made_another_one(later: str, room: str) -> None:
    """Two layout transformations that cancel out were dropped, and the call in place wrote into the caller's tensor."""

    def turned(builder: Any, x: Any) -> Any:
        there = builder.emit(relax.op.layout_transform(x, index_map=lambda i, j: (j, i)))
        back = builder.emit(relax.op.layout_transform(there, index_map=lambda i, j: (j, i)))
        return builder.emit(relax.op.nn.relu(builder.emit(relax.op.reshape(back, (2, 3)))))

    module = made((2, 3), build=turned)
    assert "call_tir_inplace" in relax.transform.DataflowUseInplaceCalls()(module).script()
    found = numeric(module, ref("DataflowUseInplaceCalls"), PassRef(later, f"{room}.{later}()"))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "calls a kernel in place")


def test_a_function_that_nothing_calls_is_dead_code_though_a_pass_makes_it_public() -> None:
    """AttachGlobalSymbol did so with one that cannot be built; nobody built it before."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in (("x", (2, 2, 1)), ("y", (1, 2, 2))))
    with builder.function("unused", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.nn.avg_pool1d(x, layout="NWC", out_layout="NCW")))
    with builder.function("main", [y]):
        hinted = builder.emit(relax.op.hint_on_device(y, tvm.cpu(), "global"))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(hinted)))
    module = builder.get()
    module.update_global_info("vdevice", [relax.VDevice("llvm", 0, "global")])
    found = numeric(module, ref("AttachGlobalSymbol"))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "dead code does not build")


def test_legalization_is_blamed_for_what_a_later_pass_keeps_alive() -> None:
    """KillAfterLastUse was, which made a user of a call that FuseOpsByPattern had left without a shape."""
    pattern = '[("pyext.full", is_op("relax.full")(wildcard(), wildcard()))]'
    fuse = PassRef("FuseOpsByPattern", f"{X}.FuseOpsByPattern({pattern})")
    m = tvm.tirx.Var("m", "int64")
    x, y = relax.Var("x", relax.TensorType((m,), "float32")), relax.Var("y", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            ones = builder.emit(relax.op.full((m + m,), relax.const(1.0, "float32"), "float32"))
            builder.emit(relax.op.abs(builder.emit(relax.op.grad.start_checkpoint(ones))))
            result = builder.emit_output(relax.op.negative(y))
        builder.emit_func_output(result)
    passes = [fuse, PassRef("KillAfterLastUse", f"{X}.KillAfterLastUse()")]
    verdict = judge(Subject(builder.finalize(), passes), [OracleName.NUMERIC])[-1]
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "LegalizeOps")


def test_a_dead_kernel_that_cannot_be_compiled_is_no_fault_of_who_keeps_it_alive() -> None:
    """CallTIRRewrite was blamed for ``sinh`` of float16, which LLVM's code generator does not know."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            builder.emit(relax.op.sinh(relax.const([1.0, 1.0], "float32")))
        builder.emit_func_output(x)
    found = numeric(builder.finalize(), ref("ToMixedPrecision"), ref("RewriteCUDAGraph"))
    assert (found.outcome, found.culprit) == (Outcome.FAIL, "LegalizeOps")


def test_a_pass_that_breaks_something_else_is_not_blamed() -> None:
    """LazyGetInput, which leaves calls of public functions as they were, for an input that the next pass overwrites."""
    builder = relax.BlockBuilder()
    x, y, z = (relax.Var(name, relax.TensorType((2,), "float32")) for name in "xyz")
    with builder.function("f1", [x]):
        builder.emit_func_output(x)
    callee = next(gv for gv in builder.get().get_global_vars() if gv.name_hint == "f1")
    with builder.function("f2", [y]):
        with builder.dataflow():
            total = builder.emit_output(relax.op.add(y, y))
        builder.emit_func_output(total)
    with builder.function("main", [z]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [z])))
    found = numeric(builder.finalize(), ref("LazyGetInput"), ref("DataflowUseInplaceCalls"))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "an earlier pass breaks something else")


def test_what_the_callers_own_legalization_leaves_is_no_fault_of_a_later_pass() -> None:
    """VMShapeLower was blamed, the first pass behind which nobody legalizes again."""
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((tvm.tirx.Var("n", "int64"),), "float32"))
    with builder.function("main", [x]):
        lowered = builder.emit(relax.op.abs(x))
        builder.emit_func_output(builder.emit(relax.op.add(lowered, lowered)))
    own = ref("LegalizeOps", '{"relax.add": lambda builder, call: call}')
    found = numeric(builder.finalize(), own, ref("VMShapeLower"))
    assert (found.outcome, found.reason) == (Outcome.SKIP, "the caller's own legalization leaves the operator")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            '{"relax.add": lambda builder, call: call, "relax.exp": lambda builder, call: builder.call_te(f, call)}',
            True,
        ),
        ('{"relax.exp": lambda b, c: b.call_te(f, c), "relax.add": lambda b, c: c}', True),
        ('skip_ops=["relax.exp", "relax.add"]', True),
        ('{"relax.add": lambda builder, call: builder.call_te(tvm.topi.add, call.args[0])}', False),
        ('{"relax.add": lambda builder, call: call.args[0]}', False),
        ('{"relax.exp": lambda builder, call: call}, skip_ops=["relax.nn.relu"]', False),
        ("", False),
    ],
)
def test_a_legalization_that_lowers_is_no_excuse_for_what_is_left(arguments: str, told: bool) -> None:
    message = "CodeGenVM cannot emit this Relax operator directly.\nOffending call:\nR.add(lv, lv1)"
    reason = excused(Evidence("InternalError", message, ()), [Step(ref("LegalizeOps", arguments), Contract("own"))])
    assert reason == ("the caller's own legalization leaves the operator" if told else "")


_TWO_DEVICES = """
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
"""


def test_a_pass_after_which_something_else_is_raised_is_not_blamed() -> None:
    """005945993a: StaticPlanBlockMemory, which mixes devices up, for the empty region that the next pass captures."""
    module = tvm.script.from_source(_TWO_DEVICES)
    plan = ref("StaticPlanBlockMemory")
    graph = PassRef("RewriteCUDAGraph", f'configured({X}.RewriteCUDAGraph(), {{"relax.backend.use_cuda_graph": True}})')
    alone = numeric(module, plan)
    assert (alone.outcome, alone.culprit) == (Outcome.FAIL, "StaticPlanBlockMemory")
    found = numeric(module, plan, graph)
    assert (found.outcome, found.reason) == (Outcome.SKIP, "an earlier pass breaks something else")
