"""Who is at fault: the six findings that an independent judgement found to blame the wrong pass, and planted faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, Blame, Severity
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.triage.blame import begins_in_a_loop, first_at_fault, of_kernels, rebuilt
from fuzzer.triage.finding import TriageJob, triage_finding
from fuzzer.triage.traits import find_traits
from fuzzer.triage.weigh import weigh
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.evidence import evidence_of, unbuildable
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime.compile.kernels import Checks, compile_object


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def weighed(worker: IsolatedWorker, case: Case, oracle: OracleName) -> Assessment:
    judge = Judge(worker, (oracle,))
    verdict = judge.verdicts(case)[0]
    return weigh(judge, case, (case, verdict), verdict, find_traits(judge, case, verdict))


def case_of(module: Any, *names: str) -> Case:
    passes = tuple(PassRef(name, f"relax.transform.{name}()") for name in names)
    return Case(str(tvm.ir.save_json(module)), passes, 0)


def of_corpus(worker: IsolatedWorker, slug: str) -> Assessment:
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    return weighed(worker, case, known.oracle)


def of_weights() -> Any:
    """Return a module whose ``main`` has a value of a shape that another variable of its block holds."""
    x, weight = relax.Var("x", R.Tensor((2,), "int64")), relax.Var("weight", R.Tensor((1, 2, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, weight], attrs={"num_input": 1}):
        with builder.dataflow():
            shape = builder.emit_output(relax.op.tensor_to_shape(x))
            result = builder.emit_output(relax.op.reshape(weight, shape))
        builder.emit_func_output(result)
    return builder.get()


def in_private() -> Any:
    """Return the same as a private function that ``main`` calls."""
    function = of_weights()["main"].without_attr("global_symbol").without_attr("num_input")
    builder = relax.BlockBuilder()
    inner = builder.add_func(function, "inner")
    params = [relax.Var(param.name, param.ty) for param in function.params]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(relax.Call(inner, params)))
    return builder.get()


@I.ir_module
class OnDevice:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((), "float32", "llvm:0"):
        with R.dataflow():
            lv: R.Tensor((4,), "float32", "llvm:0") = R.concat((x, x), axis=0)
            lv1: R.Tensor((4,), "float32", "llvm:0") = R.abs(lv)
            lv2: R.Tensor((), "float32", "llvm:0") = R.min(lv1)
            R.output(lv2)
        return lv2


@I.ir_module
class Capturing:
    @R.function
    def main(x: R.Tensor((2,), "float32"), x1: R.Tensor(("n",), "float32")) -> R.Tensor((2,), "float32"):
        n = T.int64()

        @R.function(pure=False)
        def inner() -> R.Tensor((2,), "float32"):
            lv: R.Tensor((n,), "float32") = R.full(R.shape([n]), R.const(1.0, "float32"), dtype="float32")
            R.print(lv, format=R.str("note {}"))
            return x

        return x


def test_type_inference_is_blamed_for_what_the_builder_alone_raises(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "update-param-type-eye-like")
    assert found.blame == "type inference of eye_like"
    assert "with the block builder alone" in found.reason


def test_the_rebuilt_module_is_asked_with_the_types_that_the_pass_was_asked_for() -> None:
    (known,) = load(["update-param-type-eye-like"])
    module = load_module(known)
    assert not list(rebuilt(module))
    assert not list(rebuilt(module, lambda var: var.ty))
    ((_, operator),) = rebuilt(module, lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim))
    assert operator == "eye_like"


@pytest.mark.parametrize(
    ("make", "judged"), [(in_private, "InlinePrivateFunctions"), (of_weights, "LiftTransformParams")]
)
def test_a_pass_inside_is_blamed_for_what_it_does_by_itself(
    worker: IsolatedWorker, make: Callable[[], Any], judged: str
) -> None:
    found = weighed(worker, case_of(make(), judged), OracleName.WELL_FORMED)
    assert found.blame == "CanonicalizeBindings"
    assert judged in found.reason


def test_the_script_runs_the_pass_inside_alone_where_that_shows_it(worker: IsolatedWorker, tmp_path: Path) -> None:
    case = case_of(of_weights(), "LiftTransformParams")
    found = Judge(worker, (OracleName.WELL_FORMED,)).verdicts(case)[0]
    name = signature(found)
    result = triage_finding(
        TriageJob(name.id, name.text, found, case, tmp_path, limits=SearchLimits(queries=0), nearest_seconds=0)
    )
    assert result.parts is not None
    assert result.repro is not None
    text = (tmp_path / result.repro).read_text()
    assert "relax.transform.CanonicalizeBindings()" in text
    assert "transform.LiftTransformParams" not in text
    assert result.parts.words.title.startswith("CanonicalizeBindings ")


@pytest.mark.parametrize(
    ("module", "judged", "behind"),
    [(OnDevice, "FuseOps", "LowerAllocTensor"), (Capturing, "LegalizeOps", "LambdaLift")],
)
def test_a_pass_of_the_lowering_is_blamed_for_what_does_not_build(
    worker: IsolatedWorker, module: Any, judged: str, behind: str
) -> None:
    found = weighed(worker, case_of(module, judged), OracleName.NUMERIC)
    assert found.blame == behind


def test_the_conversion_of_float8_is_blamed_for_a_bare_cast_alone(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "legalize-astype-float8-zero")
    assert found.blame == "float8 conversion of TIR"
    other = of_corpus(worker, "legalize-dequantize-float8")
    assert other.blame == "lowering of relax.dequantize", "it needs float8, and makes integers of it"


@pytest.mark.parametrize(
    ("slug", "blame"),
    [
        ("legalize-not-equal-nan", "lowering of relax.not_equal"),
        ("gradient-where-broadcast", "relax.where (its FPrimalGradient)"),
        ("gradient-concat-symbolic", "relax.concat (its FPrimalGradient)"),
        ("gradient-call", "Gradient"),
    ],
)
def test_what_is_wrong_of_an_operator_alone_is_the_fault_of_its_function(
    worker: IsolatedWorker, slug: str, blame: str
) -> None:
    assert of_corpus(worker, slug).blame == blame


@I.ir_module
class Sized:
    @R.function
    def main(x: R.Shape(["n", "m"]), x1: R.Shape([1, "n", 1])) -> R.Tensor(("m",), "float32"):
        n, m = T.int64(), T.int64()
        first = R.shape_to_tensor(x1)  # noqa: F841  # what nothing reads is removed
        full = R.full(x, R.const(1.0, "float32"), dtype="float32")
        cast = R.match_cast(full, R.Tensor((n, m), "float32"))  # noqa: F841  # as above
        return R.full(R.shape([m]), R.const(1.0, "float32"), dtype="float32")


def test_the_pass_that_makes_an_ill_formed_module_is_blamed_for_what_a_later_one_raises(worker: IsolatedWorker) -> None:
    case = Case(str(tvm.ir.save_json(Sized)), (PassRef("build:default", 'relax.get_pipeline("default")'),), 0)
    assert weighed(worker, case, OracleName.CRASH).blame == "KillAfterLastUse"


def test_a_pass_of_tir_is_blamed_for_writing_into_its_input(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "fold-constant-immutable-module")
    assert found.blame == "tirx.AnnotateEntryFunc"


def test_a_call_without_meaning_is_the_fault_of_who_made_it_and_not_of_legalization(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "mixed-precision-declared-dtype")
    assert (found.blame, found.reason) == ("ToMixedPrecision", "")


def test_the_judged_pass_is_blamed_where_nothing_speaks_for_another(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "merge-composite-if")
    assert (found.blame, found.reason) == ("MergeCompositeFunctions", "")


@pytest.mark.parametrize("operator", ["sum", "matmul", "prod"])
def test_the_lowering_of_reductions_is_blamed_for_values_that_nothing_begins_with(
    worker: IsolatedWorker, operator: str
) -> None:
    assert of_corpus(worker, f"legalize-{operator}-empty-symbolic").blame == "s_tir.LowerInitBlock"


@pytest.mark.parametrize(
    ("operator", "dim", "begins"),
    [
        (relax.op.sum, tirx.Var("n", "int64"), True),
        (relax.op.sum, 2, False),
        (relax.op.abs, tirx.Var("n", "int64"), False),
    ],
)
def test_a_value_to_begin_with_is_lost_in_reductions_over_symbolic_dims_alone(
    operator: Callable[[Any], Any], dim: Any, begins: bool
) -> None:
    x = relax.Var("x", relax.TensorType((dim,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(operator(x)))
    assert begins_in_a_loop(relax.transform.LegalizeOps()(builder.get())) is begins


def test_the_virtual_machine_is_blamed_for_a_register_that_it_does_not_have(worker: IsolatedWorker) -> None:
    assert of_corpus(worker, "rewrite-cuda-graph-no-output").blame == "virtual machine"


@pytest.mark.parametrize(
    ("slug", "operator"), [("bias", "attention_bias"), ("scale", "attention"), ("mask", "attention")]
)
def test_an_operator_is_blamed_for_what_its_own_function_does_which_a_pass_calls(
    worker: IsolatedWorker, slug: str, operator: str
) -> None:
    found = of_corpus(worker, f"mixed-precision-attention-{slug}")
    assert found.blame == f"relax.nn.{operator} (its FInferMixedPrecision)"
    assert found.severity is Severity.S1


LAYOUTS = '{"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}'


def of_layouts(module: Any) -> Case:
    passes = (PassRef("ConvertLayout", f"relax.transform.ConvertLayout({LAYOUTS})"),)
    return Case(str(tvm.ir.save_json(module)), passes, 0)


@I.ir_module
class Convolved:
    @R.function
    def main(x: R.Tensor((2, 4, 3, 3), "float32"), w: R.Tensor((8, 4, 1, 1), "float32")) -> R.Tensor(
        (2, 8, 3, 3), "float32"
    ):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            R.output(lv)
        return lv


def test_what_a_second_run_fails_on_is_told_as_a_failure_of_one_run(worker: IsolatedWorker, tmp_path: Path) -> None:
    """ConvertLayout "fails on its own output", as it does on any module of such a layout."""
    case = of_layouts(Convolved)
    found = Judge(worker, (OracleName.IDEMPOTENCE,)).verdicts(case)[0]
    name = signature(found)
    result = triage_finding(
        TriageJob(name.id, name.text, found, case, tmp_path, limits=SearchLimits(queries=150), nearest_seconds=0)
    )
    assert result.parts is not None
    assert "NCHW4c" in result.parts.module
    assert "in ConvertLayout fails" in result.parts.words.title
    assert "own output" not in result.parts.words.title
    assert result.assessment is not None
    assert result.assessment.blame == "relax.nn.conv2d (its FRelaxInferLayout)"


def test_an_operator_is_blamed_for_what_its_own_function_raises(worker: IsolatedWorker) -> None:
    (run,) = (ref.build() for ref in of_layouts(Convolved).passes)
    found = weighed(worker, of_layouts(run(Convolved)), OracleName.CRASH)
    assert found.blame == "relax.nn.conv2d (its FRelaxInferLayout)"
    assert "by itself" in found.reason


@I.ir_module
class Dropped:
    @R.function
    def main(x: R.Tensor((2, 4, 3, 3), "float32")) -> R.Tuple(
        R.Tensor((2, 4, 3, 3), "float32"), R.Tensor((2, 4, 3, 3), "float32")
    ):
        with R.dataflow():
            y = R.nn.dropout(x, rate=0.5)
            R.output(y)
        return y


def test_an_operator_is_blamed_for_the_form_of_what_its_own_function_answers(worker: IsolatedWorker) -> None:
    assert weighed(worker, of_layouts(Dropped), OracleName.CRASH).blame == "relax.nn.dropout (its FRelaxInferLayout)"
    assert of_corpus(worker, "gradient-triu").blame == "relax.triu (its FPrimalGradient)"


def test_digits_that_nobody_promises_are_a_question(worker: IsolatedWorker) -> None:
    assert of_corpus(worker, "legalize-resize2d-linear-float64").question
    assert not of_corpus(worker, "legalize-resize2d-nearest-int32").question


@I.ir_module
class Unlegalized:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.ewise_fma(x, x, x)


def test_legalization_is_blamed_for_an_operator_that_it_knows_nothing_of(worker: IsolatedWorker) -> None:
    case = Case(str(tvm.ir.save_json(Unlegalized)), (PassRef("build:default", 'relax.get_pipeline("default")'),), 0)
    found = weighed(worker, case, OracleName.NUMERIC)
    assert found.blame == "lowering of relax.ewise_fma"


@I.ir_module
class Reshaped:
    @R.function
    def main(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        with R.dataflow():
            lv = R.reshape(x, R.shape([m]))
            lv1 = R.permute_dims(lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Joined:
    @R.function
    def main(x: R.Tensor((0,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.concat((x, x1))
            lv1 = R.sum(lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Normalized:
    @R.function
    def main(x: R.Tensor((1, 1, 1), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((1, 1, 1), "float32"):
        with R.dataflow():
            lv = R.nn.instance_norm(x, x1, x1, channel_axis=-1, axes=[1])
            R.output(lv)
        return lv


@I.ir_module
class Halved:
    @R.function
    def main() -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = R.atan(R.const([1.0], "float32"))
            R.output(lv)
        return lv


@I.ir_module
class Branched:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), x1: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        if x1:
            lv = R.abs(x)
            lv1 = lv
        else:
            lv1 = x
        return R.tanh(lv1)


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor((), "float64")) -> R.Tensor((), "float64"):
        with R.dataflow():
            lv = R.astype(R.const(1.0, "float32"), dtype="float64")
            lv1 = R.add(x, lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Bound:
    @R.function
    def main(x: R.Tensor((), "float64")) -> R.Tensor((), "float64"):
        with R.dataflow():
            lv: R.Tensor((), "float64") = R.const(1.0, "float64")
            lv1 = R.add(x, lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Attended:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        return R.nn.attention_bias(x, x, x, x)


@I.ir_module
class Closing:
    @R.function(private=True)
    def f1(x: R.Tensor((), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        cls = Closing
        return cls.f2(x, x1)

    @R.function(private=True)
    def f2(x: R.Tensor((), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        return R.const(1.0, "float32")

    @R.function
    def main(x: R.Tensor((), "float32"), x1: R.Tensor((1,), "float32")) -> R.Object:
        cls = Closing
        return R.make_closure(cls.f1, (x, x1))


@I.ir_module
class Decomposed:
    @R.function
    def main(x: R.Tensor(("m", "m", "m"), "float32"), x1: R.Tensor(("m", "m", "m", "m", 2), "float32")) -> R.Tensor(
        ("m", "m", "m", "m", 2), "float32"
    ):
        return R.nn.layer_norm(x1, x, x, axes=[-5, -4, -2])


MATCHED = (
    'relax.transform.FuseOpsByPattern([("of.both", is_op("relax.permute_dims")(is_op("relax.reshape")'
    "(wildcard(), wildcard())))])"
)


@pytest.mark.parametrize(
    ("module", "judged", "oracle", "blame"),
    [
        (Reshaped, MATCHED, OracleName.NUMERIC, "lowering of relax.reshape"),
        (Joined, 'relax.transform.Gradient("main")', OracleName.NUMERIC, "lowering of relax.split"),
        (Normalized, "relax.transform.FoldConstant()", OracleName.CRASH, "lowering of relax.nn.instance_norm"),
        (Normalized, "relax.transform.LegalizeOps()", OracleName.CRASH, "lowering of relax.nn.instance_norm"),
        (Halved, "relax.transform.ToMixedPrecision()", OracleName.NUMERIC, "LLVM code generator"),
        (Branched, "relax.transform.RemoveRedundantReshape()", OracleName.NUMERIC, "relax.dpl.rewrite_call"),
        (Cast, "relax.transform.DataflowUseInplaceCalls()", OracleName.NUMERIC, "LegalizeOps"),
        (Bound, "relax.transform.DataflowUseInplaceCalls()", OracleName.NUMERIC, "DataflowUseInplaceCalls"),
        (Decomposed, "relax.transform.DecomposeOpsForTraining()", OracleName.NUMERIC, "DecomposeOpsForTraining"),
        (Attended, "relax.transform.AttachAttrLayoutFreeBuffers()", OracleName.ROUNDTRIP, "s_tir.renew_defs"),
        (Closing, "relax.transform.FuseTIR()", OracleName.IDEMPOTENCE, "RemoveUnusedParameters"),
    ],
)
def test_what_a_pass_only_exposes_or_calls_is_blamed(
    worker: IsolatedWorker, module: Any, judged: str, oracle: OracleName, blame: str
) -> None:
    name = judged.removeprefix("relax.transform.").partition("(")[0]
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, judged),), 0)
    assert weighed(worker, case, oracle).blame == blame


# A planted pass behind the judged one, and its clean twin.


def planted(name: str, run: Callable[[Any], Any]) -> tuple[str, Any]:
    return name, tvm.transform.module_pass(lambda module, _: run(module), opt_level=0, name=name)


def forgetful(module: Any) -> Any:
    """Drop all bindings of a function whose result is one of them."""
    function = module["main"]
    body = relax.SeqExpr([], function.body.body)
    return with_main(module, relax.Function(function.params, body, function.ret_ty, True, function.attrs))


def refusing(module: Any) -> Any:
    raise RuntimeError("cannot handle it")


def renewed(module: Any) -> Any:
    return with_main(module, module["main"].with_attr("seen", 1))


def with_main(module: Any, function: Any) -> Any:
    made = module.clone()
    made.update_func(module.get_global_var("main"), function)
    return made


@pytest.mark.parametrize("fault", [forgetful, refusing])
def test_a_planted_pass_behind_the_judged_one_is_blamed(fault: Callable[[Any], Any]) -> None:
    clean = [planted("Renewed", renewed), ("ToNonDataflow", relax.transform.ToNonDataflow())]
    found, made = first_at_fault(OfPlain, [*clean, planted("Planted", fault), *clean])
    assert isinstance(found, Blame)
    assert (found.name, made) == ("Planted", None)
    found, made = first_at_fault(OfPlain, [*clean, planted("Planted", renewed), *clean])
    assert found is None, "the clean twin is not blamed"
    assert "seen" in made["main"].attrs


def test_nobody_behind_is_blamed_for_a_module_that_came_ill_formed() -> None:
    assert first_at_fault(forgetful(OfPlain), [planted("Planted", refusing)]) == (None, None)


def test_a_refusal_that_is_documented_is_nobodys_fault() -> None:
    _, refuses = planted("RealizeVDevice", refusing)
    found, _ = first_at_fault(OfPlain, [("RealizeVDevice", refuses)])
    assert found is not None, "of another error"

    def documented(module: Any) -> Any:
        raise ValueError("The target VDevice in the GlobalInfos was not found.")

    assert first_at_fault(OfPlain, [planted("RealizeVDevice", documented)]) == (None, None)


def doubled(module: Any) -> Any:
    """Give the module two kernels of one symbol, which its checker accepts and no block builder takes."""
    kernels = {tvm.ir.GlobalVar(f"kernel{number}"): copying for number in range(2)}
    return tvm.IRModule({**dict(module.functions_items()), **kernels})


def test_who_makes_a_module_that_nobody_can_rebuild_is_blamed_and_not_who_rebuilds_it() -> None:
    assert relax.analysis.check_well_formed(doubled(OfPlain))
    clean = [planted("Renewed", renewed), ("DispatchSampling", relax.backend.DispatchSampling())]
    found, _ = first_at_fault(OfPlain, [clean[0], planted("Planted", doubled), *clean])
    assert found is not None
    assert (found.name, found.reason) == ("Planted", "its output cannot be rebuilt")
    assert first_at_fault(doubled(OfPlain), clean) == (None, None), "the judged pass made it"
    assert first_at_fault(OfPlain, clean)[0] is None


@T.prim_func(s_tir=True)
def copying(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    T.func_attr({"global_symbol": "copying"})
    for i in range(2):
        b[i] = a[i]


@T.prim_func(s_tir=True)
def unknown(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
    T.func_attr({"global_symbol": "unknown"})
    for i in range(2):
        b[i] = T.tvm_warp_shuffle(T.uint32(1), a[i], 0, 32, 32)


def test_what_refuses_a_well_formed_kernel_is_blamed() -> None:
    module = tvm.IRModule({"copying": copying, "unknown": unknown})
    with pytest.raises(tvm.error.InternalError) as raised:
        compile_object({"kernel": unknown}, checks=Checks.TVM)
    found = of_kernels(module, unbuildable(evidence_of(raised.value)))
    assert found is not None
    assert found.name == "LLVM code generator" or found.name.startswith("tirx."), found
    assert "unknown" in found.reason
    assert of_kernels(tvm.IRModule({"copying": copying}), unbuildable(evidence_of(raised.value))) is None


@I.ir_module
class OfPlain:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            lv: R.Tensor((2,), "float32") = R.abs(x)
            R.output(lv)
        return lv
