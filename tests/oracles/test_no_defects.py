"""What looks like a defect and is none: reserved names, operators for another pass, and two forms of one meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from distributed_modules import annotated, spread
from tvm import relax
from verdict_rows import FAIL, PASS, SKIP, Row, made, ref, rows, tensor, verdict

from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

LIFT, LAZY = ref("LiftTransformParams"), ref("LazyTransformParams")
NO_TRANSFORM = "a function has a reserved name, and is no transform"
OTHER_WEIGHTS = "a transform gives other weights than its function takes"
PAIR = relax.TupleType([tensor((2, 3)), tensor((3,))])


def weighted() -> tvm.IRModule:
    """Give a function whose weight is transposed and added."""

    def build(builder: Any, x: Any, weight: Any, bias: Any) -> Any:
        product = builder.emit(relax.op.matmul(x, builder.emit(relax.op.permute_dims(weight))))
        return builder.emit(relax.op.add(product, relax.op.sum(bias)))

    return made((4, 3), (2, 3), (3,), build=build, num_input=1)


def beside(*types: relax.Type, give: Callable[..., Any], **attributes: Any) -> Callable[[], tvm.IRModule]:
    """Put a function beside it, under the name of its transform."""
    return lambda: tvm.IRModule(
        {**weighted().functions, **made(*types, build=give, name="main_transform_params", **attributes).functions}
    )


def halved(builder: Any, bundle: Any) -> Any:
    """Give a bundle with its first weight halved."""
    first = builder.emit(relax.op.multiply(bundle[0], relax.const(0.5, "float32")))
    return builder.emit(relax.Tuple([first, bundle[1]]))


def only_first(builder: Any, bundle: Any) -> Any:
    return builder.emit(relax.op.add(bundle[0], bundle[0]))


def turned(builder: Any, bundle: Any) -> Any:
    return builder.emit(relax.Tuple([relax.op.permute_dims(bundle[0]), bundle[1], bundle[1]]))


OWN = beside(PAIR, give=halved, num_input=0)


@rows(
    Row("unrelated-tensor", beside(tensor((2,)), give=lambda builder, x: builder.emit(relax.op.abs(x))), (LIFT,),
        SKIP, NO_TRANSFORM, oracle=OracleName.CRASH),
    Row("without-inputs", beside(PAIR, give=halved), (LIFT,), SKIP, NO_TRANSFORM, oracle=OracleName.WELL_FORMED),
    Row("no-tuple", beside(PAIR, give=only_first, num_input=0), (LIFT,), SKIP, NO_TRANSFORM, oracle=OracleName.CRASH),
    Row("other-weights", beside(PAIR, give=turned, num_input=0), (LIFT,), SKIP, OTHER_WEIGHTS, oracle=OracleName.CRASH),
    # What the pass composes is judged, but for numbers, which nobody can compare without what the first one gives.
    *(Row(f"own-{oracle}", OWN, (LIFT,), PASS, oracle=oracle)
      for oracle in (OracleName.CRASH, OracleName.WELL_FORMED, OracleName.IDEMPOTENCE)),
    Row("own-numbers", OWN, (LIFT,), SKIP, "no adapter for a transform behind another"),
    Row("behind-lazy", weighted, (LAZY, LIFT), SKIP, NO_TRANSFORM, oracle=OracleName.CRASH),
    Row("lazy-no-tuple", beside(PAIR, give=only_first, num_input=0), (LAZY,), SKIP,
        "the transform function gives no tuple", oracle=OracleName.CRASH),
)  # fmt: skip
def test_a_reserved_name(row: Row) -> None:
    row.check()


def test_lifting_twice_is_compared_still() -> None:
    assert verdict(weighted(), OracleName.NUMERIC, LIFT, LIFT).outcome is Outcome.PASS


def build_of(name: str) -> PassRef:
    return PassRef(f"build:{name}", f'relax.get_pipeline("{name}")')


def marked(operator: Callable[[Any], Any]) -> Callable[[], tvm.IRModule]:
    return lambda: made((4,), build=lambda builder, x: builder.emit(relax.op.abs(builder.emit(operator(x)))))


def grouped() -> tvm.IRModule:
    """Give an operator that nothing legalizes in a function that nothing calls, and a kernel for a device.

    LegalizeOps drops the function then, and not what FuseOpsByPattern has made of it, which is public.
    """
    device = relax.VDevice("llvm", 0, "global")
    module = made(tensor((4,), device=device), build=lambda builder, x: builder.emit(relax.op.abs(x)))
    idle = made((4,), build=lambda builder, x: builder.emit(fma(x)), name="idle")["idle"]
    module = tvm.IRModule({**module.functions, "idle": idle.without_attr("global_symbol")})
    module.update_global_info("vdevice", [device])
    return module


def fma(x: Any) -> Any:
    return relax.op.ewise_fma(x, x, x)


PROPAGATE = PassRef("PropagateSharding", "relax.distributed.transform.PropagateSharding()")


@rows(
    Row("stop-lift", marked(relax.op.builtin.stop_lift_params), (build_of("default"),), SKIP,
        "builtin.stop_lift_params is for another pass to take away"),
    Row("wrap-param", marked(lambda x: relax.op.wrap_param(x, "float16")), (build_of("default"),), SKIP,
        "wrap_param is for another pass to take away"),
    Row("sharding", annotated, (build_of("default"),), SKIP,
        "dist.annotate_sharding is for another pass to take away"),
    Row("external", grouped, (ref("FuseOpsByPattern", '[("pyext.fma", is_op("relax.ewise_fma")(wildcard(), wildcard(), '
        'wildcard()))], bind_constants=False, annotate_codegen=True'),), SKIP,
        "an operator that an external code generator is given", shows="Codegen"),
    # Operators that nobody takes away are judged (origin 5); without known shapes it is a question.
    Row("fma", marked(fma), (build_of("default"),), FAIL),
    Row("unshaped", lambda: made(relax.TensorType(ndim=1, dtype="float32"), build=lambda builder, x: builder.emit(
        relax.op.add(x, x))), (build_of("default"),), FAIL),
)  # fmt: skip
def test_an_operator_that_another_pass_takes_away(row: Row) -> None:
    row.check()


@rows(
    *(Row(name, spread, (ref(name),), SKIP, "has distributed tensors", oracle=oracle)
      for name, oracle in (("ConvertToDataflow", OracleName.WELL_FORMED), ("CallTIRRewrite", OracleName.CRASH))),
    Row("pipeline", annotated, (PROPAGATE, ref("ConvertToDataflow")), SKIP, "has distributed tensors",
        oracle=OracleName.WELL_FORMED),
    Row("taken", spread, (ref("DeadCodeElimination"),), PASS, oracle=OracleName.CRASH),
    Row("annotated", annotated, (ref("ConvertToDataflow"),), PASS, oracle=OracleName.CRASH),
)  # fmt: skip
def test_distributed_tensors_are_for_passes_that_take_them(row: Row) -> None:
    row.check()


def placed() -> tvm.IRModule:
    """Give a function with dead code, and one whose kernel is made for a device."""
    device = relax.VDevice("llvm", 0, "global")
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", tensor((4,))), relax.Var("y", tensor((4,), device=device))
    with builder.function("idle", [x]):
        builder.emit(relax.op.exp(x))
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    with builder.function("main", [y]):
        builder.emit_func_output(builder.emit(relax.op.abs(y)))
    module = builder.get()
    module.update_global_info("vdevice", [device])
    return module


def returned() -> tvm.IRModule:
    """Give a function that returns a closure, and one that calls it."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def f1(x: R.Tensor((2,), "float32")) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
        @R.function
        def lv(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(x, y)
        return lv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        lv = cls.f1(x)
        return lv(x)
""")


@pytest.mark.parametrize(
    ("module", "passed"), [(placed, ref("LegalizeOps")), (returned, ref("LambdaLift"))], ids=["dead-code", "closure"]
)
def test_one_meaning_in_two_forms(module: Callable[[], tvm.IRModule], passed: PassRef) -> None:
    found = [verdict(module(), OracleName.LOCALITY, passed, seed=seed) for seed in range(24)]
    assert Outcome.FAIL not in {each.outcome for each in found}
    assert "one meaning in two forms" in {str(each.reason) for each in found}
    assert Outcome.PASS in {each.outcome for each in found}
