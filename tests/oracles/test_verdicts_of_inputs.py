"""Verdicts on modules, and on arguments of passes, that a pass was not made for, or that look wrong and are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import tvm
from tvm import relax, te, tirx
from verdict_rows import FAIL, PASS, REJECT, SKIP, Row, made, ref, rows, tensor

from relaxkit.ir.retype import Invalid
from relaxkit.passes import arguments
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

Module = tvm.IRModule


def aliases(count: int) -> Callable[[], Module]:
    """Two equal sums, the second behind a chain of aliases, each of which costs common subexpressions a run."""

    def build(builder: Any, x: Any) -> Any:
        builder.emit(relax.op.add(x, x))
        last = builder.emit(relax.op.add(x, x))
        for _ in range(count):
            last = builder.emit(last)
        return last

    return lambda: made((1,), build=build, dataflow=False)


def two_of_a_dim() -> Module:
    """Two parameters of one dim, of which one may be bound to values that contradict the dim."""
    m = tirx.Var("m", "int64")
    builder = relax.BlockBuilder()
    p, x = (relax.Var(name, tensor((m,))) for name in "px")
    with builder.function("predict", [p, x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    return builder.get()


def normed(*others: str) -> Module:
    """Statistics of one channel, of n channels: type inference takes them, and no n but 1; other functions take any."""
    builder = relax.BlockBuilder()
    for name in ("predict", *others):
        n = tirx.Var("n", "int64")
        x, statistics = relax.Var("x", tensor((1, n))), relax.Var("s", tensor((1,)))
        operators = {"predict": lambda x, s: relax.op.nn.batch_norm(x, *[s] * 4, axis=1)}
        with builder.function(name, [x, statistics]):
            builder.emit_func_output(builder.emit(operators.get(name, lambda x, s: relax.op.abs(x))(x, statistics)))
    return builder.get()


def of_a_given_shape() -> Module:
    """A parameter whose shape another one is, for which TVMScript has no words, and one of n numbers."""
    builder, n = relax.BlockBuilder(), tirx.Var("n", "int64")
    shape, x = relax.Var("s", relax.ShapeType(ndim=1)), relax.Var("x", tensor((n,)))
    with builder.function("predict", [shape, relax.Var("y", tensor(shape)), x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    return builder.get()


def viewed() -> Module:
    """Four of n numbers are viewed; that the offset is none stands in another binding."""
    n, builder = tirx.Var("n", "int64"), relax.BlockBuilder()
    x = relax.Var("x", tensor((n,)))
    with builder.function("predict", [x]):
        none = builder.emit(relax.op.null_value())
        builder.emit_func_output(builder.emit(relax.op.memory.view(x, [4], none)))
    return builder.get()


def concatenated() -> Module:
    """A kernel that reads two buffers of three numbers, and writes pairs: no layout of pairs is of three numbers."""
    return made((3,), (3,), build=lambda builder, x, y: builder.emit(relax.op.concat([x, y], axis=0)))


def half_annotated(ty: Any) -> Module:
    """Two parameters, of which an annotation says how one is spread, and nothing uses the other."""
    mesh = relax.distributed.DeviceMesh((2,), tvm.ir.Range(0, 2))

    def build(builder: Any, x: Any, y: Any) -> Any:
        placement = relax.distributed.Placement.from_text("S[0]")
        return builder.emit(relax.op.distributed.annotate_sharding(x, mesh, placement))

    module = made((4,), ty, build=build, dataflow=False)
    module.update_global_info("mesh", [mesh])
    return module


def hinted_second(*listed: int) -> Module:
    """A tensor that is hinted to be on the second device."""
    module = made((2,), build=lambda builder, x: builder.emit(relax.op.hint_on_device(x, tvm.cpu(1), "global")))
    module.update_global_info("vdevice", [relax.VDevice("llvm", number, "global") for number in listed])
    return module


def asking(attributes: dict[str, str]) -> Module:
    """A private function that asks for a workspace, and its caller."""
    builder, y = relax.BlockBuilder(), relax.Var("y", tensor((2,)))
    with builder.function("asking", [y], {"WorkspaceSize": 64, **attributes}, private=True):
        builder.emit_func_output(builder.emit(y))
    (asked,) = builder.get().get_global_vars()
    x = relax.Var("x", tensor((2,)))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.Call(asked, [x]))
        builder.emit_func_output(result)
    return builder.get()


def in_two_steps() -> Module:
    """A kernel that adds one and doubles: what the first pattern leaves of it, the second one matches."""

    def steps(a: Any) -> Any:
        more = te.compute(a.shape, lambda *i: a(*i) + tirx.const(1.0, "float32"), name="more")
        return te.compute(a.shape, lambda *i: more(*i) * tirx.const(2.0, "float32"), name="twice")

    return made((2, 3), build=lambda builder, x: builder.emit_te(steps, x))


def one_step() -> Module:
    """A kernel that only adds one."""

    def step(a: Any) -> Any:
        return te.compute(a.shape, lambda *i: a(*i) + tirx.const(1.0, "float32"), name="more")

    return made((2, 3), build=lambda builder, x: builder.emit_te(step, x))


def one_weight() -> Module:
    """A parameter that is bound; the minimizer gives it a simpler type and leaves the value as it was."""
    builder, p = relax.BlockBuilder(), relax.Var("p", tensor((2,)))
    with builder.function("predict", [p]):
        builder.emit_func_output(builder.emit(relax.op.abs(p)))
    return builder.get()


def rootless() -> Module:
    """Kernels without a root block."""
    return tvm.script.from_source("""
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copies(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(2)):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.copies, (x,), R.Tensor((2,), "float32"))
            z = R.call_tir(cls.copies, (y,), R.Tensor((2,), "float32"))
            R.output(z)
        return z
""")


def shapeless() -> Module:
    """An operand whose shape is not known."""
    return tvm.script.from_source("""
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copies(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((2,), "float32"):
        cls = Module
        y = R.call_tir(cls.copies, (x,), R.Tensor((2,), "float32"))
        return y
""")


def hinted() -> Module:
    """A hint that moves a value away from the device that its type names."""
    devices = [relax.VDevice("llvm", number, "global") for number in range(2)]

    def build(builder: Any, x: Any) -> Any:
        moved = builder.emit(relax.op.hint_on_device(x, tvm.cpu(1), "global"))
        return builder.emit(relax.op.abs(moved))

    module = made(tensor((2,), "float32", devices[0]), build=build, dataflow=False)
    module.update_global_info("vdevice", devices)
    return module


def with_gradient(used: bool) -> Module:
    """A kernel whose gradient nobody has registered, and a call in place of what it gives."""
    device = relax.VDevice("llvm", 0, "global")
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor((2,), "float32", None if used else device))

    def plus_one(a: Any) -> Any:
        return te.compute((2,), lambda i: a[i] + 1, name="plus")

    with builder.function("main", [x]):
        with builder.dataflow():
            plus = builder.emit_output(builder.call_te_with_grad(plus_one, x, te_grad_name="nobodys_grad"))
            total = builder.emit_output(relax.op.sum(plus if used else x))
        if not used:
            kept = builder.emit(relax.op.negative(plus))
            builder.emit(relax.op.call_inplace_packed("vm.builtin.copy", kept, inplace_indices=[0], ty_args=[kept.ty]))
        builder.emit_func_output(total)
    module = builder.get()
    if not used:
        module.update_global_info("vdevice", [device])
    return module


def loss(extent: int) -> Callable[[], Module]:
    """A loss over a tensor that may have no elements: its gradient is a sum over nothing, which nothing writes."""

    def build(builder: Any, x: Any, y: Any) -> Any:
        squares = builder.emit(relax.op.sum(builder.emit(relax.op.multiply(x, x))))
        return builder.emit(relax.op.add(squares, builder.emit(relax.op.sum(builder.emit(relax.op.multiply(x, y))))))

    return lambda: made((3,), (extent, 4, 3), build=build, name="loss")


def four_factors() -> Module:
    """A product of two products: the pass looks for one on the left first, and at most at one."""

    def build(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        left, right = builder.emit(relax.op.matmul(a, b)), builder.emit(relax.op.matmul(c, d))
        return relax.op.matmul(left, right)

    return made((1, 8), (8, 8), (8, 1), (1, 8), build=build)


def cast() -> Module:
    """A cast of a parameter."""
    return made((2,), build=lambda builder, x: builder.match_cast(x, tensor((2,))))


def unused_pooling() -> Module:
    """A private function that cannot be built and that nobody builds, until AttachGlobalSymbol makes it public."""
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor((2, 2, 1))), relax.Var("y", tensor((1, 2, 2)))
    with builder.function("unused", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.nn.avg_pool1d(x, layout="NWC", out_layout="NCW")))
    with builder.function("main", [y]):
        moved = builder.emit(relax.op.hint_on_device(y, tvm.cpu(), "global"))
        builder.emit_func_output(builder.emit(relax.op.nn.relu(moved)))
    module = builder.get()
    module.update_global_info("vdevice", [relax.VDevice("llvm", 0, "global")])
    return module


def nested_tuple() -> Module:
    """A tuple of a tuple that the body does not build: LazySetOutput sends it as output 0."""
    pair = relax.TupleType([tensor((1,)), tensor((1,))])
    return made(relax.TupleType([pair]), build=lambda builder, whole: whole, dataflow=False)


DOUBLE = ref(
    "UpdateParamType",
    'lambda var: relax.TensorType(var.ty.shape, "float64") if isinstance(var.ty, relax.TensorType) else None',
)
MISFIT = "a value has another shape or dtype than its parameter"


def bound(value: str) -> PassRef:
    return ref("BindParams", f'"predict", {{"p": {value}}}')


def step(text: str) -> str:
    """Return the pattern of a kernel of one step."""
    computed = f'tvm.te.compute(A.shape, lambda *i: {text}, name="compute")'
    kernel = f'(lambda A: tvm.te.create_prim_func([A, {computed}], index_dtype_override="int64"))'
    return f'{kernel}(tvm.te.placeholder((2, 3), "float32", name="A"))'


STEPS = ", ".join(map(step, ("A(*i) + tirx.const(1.0, 'float32')", "A(*i) * tirx.const(2.0, 'float32')")))
FOUND = 'lambda found: ["// {global_symbol}", tirx.IntImm("int32", 1), list(found[0].matched_buffers)[:-1]]'
SPLIT = ref("SplitCallTIRByPattern", f"[{STEPS}], {FOUND}")
PACKED = PassRef(
    "suggest_layout_transforms",
    'tvm.transform.module_pass(lambda mod, _: relaid(mod, "packed"), opt_level=0, name="suggest_layout_transforms")',
)
PROPAGATE = PassRef("PropagateSharding", "relax.distributed.transform.PropagateSharding()")
TEXTURES = PassRef(
    "AnnotateCustomMemoryScope",
    'relax.backend.adreno.transform.AnnotateCustomMemoryScope(tvm.target.Target("qcom/adreno-opencl-texture"))',
)
UNTAKEN = (SKIP, "an operator does not take the number of a dim")
UNREACHED = (SKIP, "an annotated function has a tensor that nothing uses")
THREE = bound('np.arange(3).astype("float32")')


@rows(
    *(
        Row(f"aliases-{count}", aliases(count), (ref("EliminateCommonSubexpr"),), PASS, oracle=OracleName.IDEMPOTENCE)
        for count in (1, 3, 6)
    ),
    *(
        Row(f"dims-{m}-{oracle}", two_of_a_dim, (ref("BindSymbolicVars", f'{{"m": {m}}}'), THREE), *said, oracle=oracle)
        for m, said in ((2, (SKIP, MISFIT)), (3, (PASS,)))
        for oracle in (OracleName.WELL_FORMED, OracleName.NUMERIC)
    ),
    *(
        Row(f"channels-{n}", normed, (ref("BindSymbolicVars", f'{{"n": {n}}}'),), *said, oracle=OracleName.CRASH)
        for n, said in ((1, (PASS,)), (3, UNTAKEN))
    ),
    *(
        Row(f"channels-of-{name}", partial(normed, "other"), (ref("BindSymbolicVars", f'{{"n": 3}}, "{name}"'),), *said,
            oracle=OracleName.CRASH)
        for name, said in (("predict", UNTAKEN), ("other", (PASS,)))
    ),
    *(
        Row(f"channels-of-a-value-{n}", normed,
            (ref("BindParams", f'"predict", {{"x": np.ones((1, {n})).astype("float32")}}'),), *said,
            oracle=OracleName.CRASH)
        for n, said in ((1, (PASS,)), (3, UNTAKEN))
    ),
    Row("shape-given", of_a_given_shape, (ref("BindSymbolicVars", '{"n": 3}'),), PASS, oracle=OracleName.CRASH),
    *(
        Row(f"view-{n}", viewed, (ref("BindSymbolicVars", f'{{"n": {n}}}'),), *said, oracle=OracleName.CRASH)
        for n, said in ((4, (PASS,)), (3, UNTAKEN))
    ),
    *(
        Row(f"unreached-{type(ty).__name__}", partial(half_annotated, ty), (PROPAGATE,), *said, oracle=OracleName.CRASH)
        for ty, said in (
            (tensor((4,)), UNREACHED), (relax.TupleType([tensor((4,))]), UNREACHED), (relax.ShapeType([4]), (PASS,)),
        )
    ),
    *(
        Row(f"second-{len(listed)}", partial(hinted_second, *listed), (TEXTURES,), *said, oracle=OracleName.CRASH)
        for listed, said in (  # where it is listed, the pass drops it from the list, which is a defect
            ((0,), (SKIP, "a hint names a device that the module does not list")), ((0, 1), (FAIL,)),
        )
    ),
    *(
        Row(f"workspace-{mark}", partial(asking, {mark: "pyext"}), (ref("AllocateWorkspace"),), *said,
            oracle=OracleName.CRASH)
        for mark, said in (
            ("Codegen", (PASS,)), ("Composite", (PASS,)),
            ("other", (SKIP, "a function that is not external asks for a workspace")),
        )
    ),
    Row("padded", concatenated, (PACKED,), REJECT, "a suggested layout that pads", oracle=OracleName.CRASH),
    Row("split-again", in_two_steps, (SPLIT,), PASS, oracle=OracleName.IDEMPOTENCE, shows="unfused_epilogue"),
    Row("split-off", one_step, (SPLIT,), PASS, oracle=OracleName.POSTCONDITION, shows="ExternFunc"),
    *(
        Row(f"value-{value}-{oracle}", one_weight, (bound(value),), *said, oracle=oracle)
        for value, said in (
            ('np.arange(2).astype("float32")', (PASS,)),
            ('np.arange(2).astype("int8")', (SKIP, MISFIT)),
            ('np.zeros((2, 3), "float32")', (SKIP, MISFIT)),
            ('np.zeros((3,), "float32")', (SKIP, MISFIT)),
        )
        for oracle in (OracleName.CRASH, OracleName.WELL_FORMED, OracleName.NUMERIC)
    ),
    *(
        Row(name, rootless, passes, REJECT, "kernel without a root block", oracle=OracleName.CRASH)
        for name, passes in (
            ("rootless", (ref("FuseOps"), ref("FuseTIR"))),
            ("rootless-pipeline", (PassRef("build:zero", 'relax.get_pipeline("zero")'),)),
        )
    ),
    Row("shapeless", shapeless, (ref("SpecializePrimFuncBasedOnCallSite"),), REJECT, "argument without a shape",
        oracle=OracleName.CRASH),
    Row("hint-to-come", hinted, (ref("LegalizeOps"),), SKIP, "a device that a hint has yet to change"),
    Row(
        "gradient-unregistered", lambda: with_gradient(used=True), (ref("Gradient", '"main"'),), REJECT,
        "gradient of a kernel that nobody has registered", oracle=OracleName.CRASH,
    ),
    Row(
        "gradient-kernel", lambda: relax.transform.ToNonDataflow()(with_gradient(used=False)),
        (ref("RemovePurityChecking"),), SKIP, "call_tir_with_grad is for another pass to take away",
    ),
    Row(
        "gradient-of-nothing", loss(0), (ref("Gradient", '"loss"'),), SKIP, "undecidable: gradient of no elements"
    ),
    Row("gradient-of-one", loss(1), (ref("Gradient", '"loss"'),), PASS),
    Row("four-factors", four_factors, (ref("AdjustMatmulOrder"),), PASS, oracle=OracleName.POSTCONDITION),
    Row(
        "cast-retyped", cast, (DOUBLE,), SKIP, "a cast of a parameter to another type than the caller chose",
        oracle=OracleName.ROUNDTRIP,
    ),
    Row("cast", cast, (ref("CanonicalizeBindings"),), PASS, oracle=OracleName.ROUNDTRIP),
    Row("unused-made-public", unused_pooling, (ref("AttachGlobalSymbol"),), SKIP, "dead code does not build"),
    Row("nested-tuple", nested_tuple, (ref("LazySetOutput"),), PASS),
)  # fmt: skip
def test_verdict(row: Row) -> None:
    row.check()


def test_inference_is_asked_about_the_values_of_parameters_only_if_they_give_a_dim_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may reject a module as it is: then the values are not to blame for what the pass raises."""

    def refuse(_: Any) -> None:
        raise Invalid("an operator refuses it") from ValueError("it does")

    monkeypatch.setattr(arguments, "emit", refuse)
    said = [
        arguments.misfit(
            "BindParams",
            f'relax.transform.BindParams("predict", {{"{name}": np.ones({dims}).astype("float32")}})',
            module,
        )
        for name, dims, module in (("p", "2", one_weight()), ("x", "(1, 3)", normed()))
    ]
    assert said == ["", UNTAKEN[1]]
