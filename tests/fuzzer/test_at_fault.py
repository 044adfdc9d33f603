"""Which pass is at fault: the one that was judged, one inside of it or behind it, and planted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from weighing import case_of, of_corpus, weighed

from fuzzer.cli.verbs.repro import script_of
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Blame, Severity
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.store.records import FindingRecord, FindingState
from fuzzer.triage.blame.behind import behind, first_at_fault, of_kernels
from fuzzer.triage.blame.failed_case import shows
from fuzzer.triage.blame.inside import inside_alone
from fuzzer.triage.finding import TriageJob, triage_finding
from fuzzer.triage.reduce import ReductionPlan
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.evidence import evidence_of, unbuildable
from oracles.core.module_facts import complaint
from oracles.core.verdict import Details
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime.compile.kernels import Checks, compile_object

_TAKE = "ReorderTakeAfterMatmul"


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


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


_FORGETFUL = """
import tvm

def forgetful():
    return tvm.transform.module_pass(lambda module, _: tvm.IRModule(module.functions), opt_level=0, name="forgetful")
"""


def test_nobody_behind_is_blamed_for_a_device_that_the_pass_has_taken_off_the_list(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    """CallTIRRewrite, behind it, does not find the device; TVM's checker looks for none."""
    (tmp_path / "forgetful.py").write_text(_FORGETFUL)
    forgetful = PassRef("forgetful", f"user:{tmp_path / 'forgetful.py'}:forgetful")
    found = weighed(worker, Case(str(tvm.ir.save_json(OnDevice)), (forgetful,), 0), OracleName.NUMERIC)
    assert found.blame == "forgetful"


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


@pytest.mark.parametrize(
    ("make", "judged"), [(in_private, "InlinePrivateFunctions"), (of_weights, "LiftTransformParams")]
)
def test_a_pass_inside_is_blamed_for_what_it_does_by_itself(
    worker: IsolatedWorker, make: Callable[[], Any], judged: str
) -> None:
    found = weighed(worker, case_of(make(), judged), OracleName.WELL_FORMED)
    assert found.blame == "CanonicalizeBindings"
    assert judged in found.grounds


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor("float32", ndim=1), x1: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        lv = R.match_cast(x, R.Tensor((1,), "float32"))
        lv1 = R.add(x1, x1)
        return R.matmul(lv, lv1, out_dtype=None)


@I.ir_module
class Joined:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), x1: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()  # noqa: F841  # the parser reads it
        if x1:
            lv = R.abs(x)
            lv1 = lv
        else:
            lv1 = x
        return R.negative(lv1)


@pytest.mark.parametrize(
    ("module", "expression", "oracle"),
    [
        (Cast, "relax.transform.ExpandMatmulOfSum()", OracleName.WELL_FORMED),
        (Joined, "relax.backend.adreno.transform.FoldVDeviceScopeChange()", OracleName.NUMERIC),
    ],
)
def test_the_rewriter_of_patterns_is_blamed_for_what_it_does_when_it_gives_calls_back(
    worker: IsolatedWorker, module: Any, expression: str, oracle: OracleName
) -> None:
    judged = PassRef(expression.split(".")[-1].removesuffix("()"), expression)
    found = weighed(worker, Case(str(tvm.ir.save_json(module)), (judged,), 0), oracle)
    assert found.blame == "relax.dpl.rewrite_call"
    assert judged.name in found.grounds


@I.ir_module
class Absolute:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.abs(x)


@pytest.mark.parametrize(
    ("pattern", "blame"),
    [
        ('is_op("relax.multiply")(varg_default_wildcard=True)', "pattern matcher"),
        ('is_op("relax.abs")(wildcard()).has_attr({"axis": 1})', "pattern matcher"),
        # A twin: the rewriter raises, and not the matcher.
        ('is_op("relax.abs")(wildcard())', "rewrite_call"),
    ],
)
def test_the_matcher_is_blamed_for_what_it_raises_of_a_pattern_alone(
    worker: IsolatedWorker, pattern: str, blame: str
) -> None:
    made = "relax.dpl.rewrite_call(pattern, lambda call, found: relax.op.add(call, relax.const(1, 'int32')), f)"
    text = f'relax.transform.function_pass(lambda f, mod, _: {made}, opt_level=0, name="rewrite_call")'
    case = Case(str(tvm.ir.save_json(Absolute)), (PassRef("rewrite_call", f"(lambda pattern: {text})({pattern})"),), 0)
    assert weighed(worker, case, OracleName.CRASH).blame == blame


def test_the_printer_is_blamed_for_what_it_cannot_print(worker: IsolatedWorker) -> None:
    printed = '(tvm.IRModule({"outside": relax.ExternFunc("outside", f.ty)}).script(), f)[1]'
    text = f'relax.transform.function_pass(lambda f, mod, _: {printed}, opt_level=0, name="analysis")'
    found = weighed(worker, Case(str(tvm.ir.save_json(Absolute)), (PassRef("analysis", text),), 0), OracleName.CRASH)
    assert (found.blame, found.severity) == ("TVMScript printer", Severity.S5)


def of_weaker() -> Any:
    """Return a module of which the rewriter multiplies ``x`` by itself anew, beside a variable of any dtype."""
    x, x1 = relax.Var("x", R.Tensor((1, 1), "float32")), relax.Var("x1", R.Tensor((1,), "int64"))
    lv = relax.Var("lv", relax.TensorType((1, 1), ""))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, x1]):
        builder.emit_normalized(relax.VarBinding(lv, builder.normalize(relax.op.matmul(x, x))))
        lv1 = builder.emit(relax.op.take(x, x1, axis=1))
        builder.emit_func_output(builder.emit(relax.op.matmul(lv, lv1)))
    return builder.get()


@I.ir_module
class Nested:
    """``x`` is asked for in a local function, and anew behind it."""

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        @R.function
        def outer() -> R.Callable((), R.Tensor((1,), "float32"), True):
            @R.function
            def inner() -> R.Tensor((1,), "float32"):
                return x

            return inner

        return x


@pytest.mark.parametrize(("module", "judged"), [(of_weaker(), "ReorderTakeAfterMatmul"), (Nested, "LazyGetInput")])
def test_the_elimination_of_what_a_pass_computes_twice_is_blamed_where_it_fails_by_itself(
    worker: IsolatedWorker, module: Any, judged: str
) -> None:
    found = weighed(worker, case_of(module, judged), OracleName.WELL_FORMED)
    assert found.blame == "EliminateCommonSubexpr"
    assert f"{judged} runs it" in found.grounds
    case = case_of(module, judged)
    verdict = Judge(worker, (OracleName.WELL_FORMED,)).verdicts(case)[0]
    shown = inside_alone(case, verdict, found.blame)
    assert shown is not None, "the script is of that pass alone"
    assert ([each.name for each in shown[0].passes], shown[1].culprit) == ([found.blame], found.blame)
    assert inside_alone(case, verdict, judged) is None


@pytest.mark.parametrize(
    ("slug", "judged"),
    [
        ("reorder-take-out-dtype", "ReorderTakeAfterMatmul"),
        ("expand-matmul-of-sum-out-dtype", "ExpandMatmulOfSum"),
        ("lazy-get-input-symbolic", "LazyGetInput"),
    ],
)
def test_who_runs_the_elimination_is_blamed_for_what_that_does_not_do(
    worker: IsolatedWorker, slug: str, judged: str
) -> None:
    assert of_corpus(worker, slug).blame == judged


@I.ir_module
class Unsized:
    @R.function
    def main(x: R.Tensor((2,), "float32"), x1: R.Tensor(("n",), "float32")) -> R.Tensor("float32", ndim=1):
        n = T.int64()  # noqa: F841  # the parser reads it
        return R.add(x, x1)


@I.ir_module
class Multiplied:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.ewise_fma(x, x, x)


@pytest.mark.parametrize(("module", "blame"), [(Unsized, "LegalizeOps"), (Multiplied, "lowering of relax.ewise_fma")])
def test_who_is_to_lower_a_call_is_blamed_for_leaving_it_and_not_the_pipeline(
    worker: IsolatedWorker, module: Any, blame: str
) -> None:
    case = Case(str(tvm.ir.save_json(module)), (PassRef("build:default", 'relax.get_pipeline("default")'),), 0)
    assert weighed(worker, case, OracleName.NUMERIC).blame == blame


@I.ir_module
class Sliced:
    """LegalizeOps loses the device of a slice, and then has dead code removed."""

    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(
        x: R.Tensor((1, 4, 4, 4), "float32", "llvm:0"),
        x1: R.Tensor((1, 4, 1, 1), "float32", "llvm:0"),
        x2: R.Tensor((4,), "float32", "llvm:0"),
        at: R.Tensor((4,), "int64"),
    ) -> R.Tensor("float32", ndim=4, vdevice="llvm:0"):
        with R.dataflow():
            dead = R.abs(x2)  # noqa: F841  # as it says
            lv = R.nn.conv2d(x, x1)
            lv1 = R.dynamic_strided_slice(lv, at, at, at)
            R.output(lv1)
        return lv1


def test_a_pass_that_was_given_a_wrong_signature_is_not_blamed_for_it(worker: IsolatedWorker) -> None:
    assert weighed(worker, case_of(Sliced, "LegalizeOps"), OracleName.WELL_FORMED).blame == "LegalizeOps"


@I.ir_module
class Scalar:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32"), n: R.Prim("int32"), x1: R.Tensor((1,), "float32")) -> R.Tensor(
        (1,), "float32"
    ):
        return R.call_pure_packed("testing.echo", x, n, ty_args=(R.Tensor((1,), "float32"),))

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Scalar
        return cls.f1(x, R.prim_value(T.int32(1)), x)


@I.ir_module
class Bundled:
    @R.function
    def main(x: R.Tensor((1,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():

            @R.function
            def lv(x2: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
                return x1

            lv1 = lv(x)
            R.output(lv1)
        return lv1


def test_a_dim_that_nothing_defines_does_not_show_that_a_tensor_is_undefined() -> None:
    made = relax.transform.BundleModelParams()(Bundled)
    evidence = complaint(made)
    assert evidence is not None
    for subject, same in (("a tensor of the function", True), ("a symbolic dim of the function", False)):
        assert shows(made, replace(evidence, details=Details(subject=subject))) is same


@pytest.mark.parametrize(
    ("module", "judged", "inside", "oracle"),
    [
        (of_weights(), "LiftTransformParams", "CanonicalizeBindings", OracleName.WELL_FORMED),
        (Scalar, "FuseTIR", "RemoveUnusedParameters", OracleName.CRASH),
        # The judged pass goes on with what it makes, and TVM's checker finds the variable elsewhere.
        (Bundled, "LiftTransformParams", "BundleModelParams", OracleName.WELL_FORMED),
    ],
)
def test_the_script_runs_the_pass_inside_alone_where_that_shows_it(
    worker: IsolatedWorker, tmp_path: Path, module: Any, judged: str, inside: str, oracle: OracleName
) -> None:
    case = case_of(module, judged)
    found = Judge(worker, (oracle,)).verdicts(case)[0]
    name = signature(found)
    result = triage_finding(
        TriageJob(name.id, name.text, found, case, tmp_path, ReductionPlan(SearchLimits(queries=0)), nearest_seconds=0)
    )
    assert result.parts is not None
    assert result.repro is not None
    text = (tmp_path / result.repro).read_text()
    assert f"relax.transform.{inside}()" in text
    assert f"transform.{judged}" not in text
    assert result.parts.words.title.startswith(f"{inside} ")


@I.ir_module
class Taken:
    @R.function
    def main(x: R.Tensor((2,), "float32"), x1: R.Tensor((2, 2), "float32"), x2: R.Tensor((2,), "int64")) -> R.Tensor(
        (2,), "float32"
    ):
        with R.dataflow():
            lv = R.tensor_to_shape(x2)
            lv1 = R.reshape(x1, lv)
            _lv2 = R.match_cast(lv1, R.Tensor((2, 2), "float32"))
            R.output(lv)

        @R.function
        def lv3() -> R.Tensor((2,), "float32"):
            return x

        return x


def test_what_the_pass_inside_does_not_need_by_itself_makes_the_finding_no_rarer(tmp_path: Path) -> None:
    """5d81d8e598: the local function made ReorderTakeAfterMatmul run CanonicalizeBindings, which fails without one."""
    case = Case(str(tvm.ir.save_json(Taken)), (PassRef(_TAKE, f"relax.transform.{_TAKE}()"),), 0)
    with IsolatedWorker() as worker:
        (found,) = Judge(worker, (OracleName.WELL_FORMED,)).verdicts(case)
    name = signature(found)
    result = triage_finding(
        TriageJob(name.id, name.text, found, case, tmp_path, ReductionPlan(SearchLimits(queries=60)), nearest_seconds=0)
    )
    assert result.assessment is not None
    assert (result.assessment.blame, result.assessment.severity) == ("CanonicalizeBindings", Severity.S3)
    assert result.repro is not None
    assert "def lv3" not in (tmp_path / result.repro).read_text()


@pytest.mark.parametrize(
    ("module", "judged", "name"),
    [(OnDevice, "FuseOps", "LowerAllocTensor"), (Capturing, "LegalizeOps", "LambdaLift")],
)
def test_a_pass_of_the_lowering_is_blamed_for_what_does_not_build(
    worker: IsolatedWorker, module: Any, judged: str, name: str
) -> None:
    case = case_of(module, judged)
    found = weighed(worker, case, OracleName.NUMERIC)
    assert found.blame == name
    verdict = Judge(worker, (OracleName.NUMERIC,)).verdicts(case)[0]
    shown = behind(case, verdict, name)
    assert shown is not None, "the script is of that pass alone"
    assert ([each.name for each in shown[0].passes], shown[1].culprit) == ([name], name)
    assert shown[1].oracle in (OracleName.CRASH, OracleName.WELL_FORMED)


@I.ir_module
class Suppressed:
    @R.function
    def main(x: R.Tensor((1, 1, 5), "float32"), x1: R.Tensor((1,), "int32"), x2: R.Tensor((1, 1), "int32")) -> R.Tensor(
        (1, 1, 5), "float32"
    ):
        _lv = R.vision.non_max_suppression(
            x, x1, x2, max_output_size=-1, iou_threshold=0.5, force_suppress=False, top_k=-1, coord_start=1,
            score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False, soft_nms_sigma=0.0,
            score_threshold=0.0
        )  # fmt: skip
        return x


def test_a_pass_of_the_lowering_is_blamed_for_what_it_refuses_of_a_lowered_module(worker: IsolatedWorker) -> None:
    prefixed = (
        "tvm.transform.module_pass(lambda mod, _: relax.transform.AttachGlobalSymbol()(mod.with_attr("
        '"system_lib_prefix", "lib_")), opt_level=0, name="AttachGlobalSymbol")'
    )
    passes = PassRef("AttachGlobalSymbol", prefixed), PassRef("LowerAllocTensor", "relax.transform.LowerAllocTensor()")
    case = Case(str(tvm.ir.save_json(Suppressed)), passes, 786146705)
    (verdict,) = Judge(worker, (OracleName.NUMERIC,)).verdicts(case)
    assert (verdict.shown.kind, verdict.culprit) == ("does-not-build", "CallTIRRewrite")
    assert weighed(worker, case, OracleName.NUMERIC).blame == "AttachGlobalSymbol"


@I.ir_module
class Loose:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0)]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((), "float32", "llvm:0"):
        lv: R.Tensor((4,), "float32", "llvm:0") = R.concat((x, x), axis=0)
        lv1: R.Tensor((4,), "float32", "llvm:0") = R.abs(lv)
        lv2: R.Tensor((), "float32", "llvm:0") = R.min(lv1)
        return lv2


def test_a_finding_whose_script_runs_another_pass_tells_and_weighs_the_failure_of_that_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FuseOps needs a dataflow block, and so an order of passes; LowerAllocTensor fails on what it gives, alone."""
    case = case_of(Loose, "ConvertToDataflow", "FuseOps")
    with IsolatedWorker() as worker:
        verdict = Judge(worker, (OracleName.NUMERIC,)).verdicts(case)[0]
    name = signature(verdict)
    plan, asked = ReductionPlan(SearchLimits(queries=0)), list[OracleName]()
    monkeypatch.setattr(
        "fuzzer.triage.script.nearest_passing", lambda case, verdict, judge, seconds: asked.extend(judge.oracles)
    )
    result = triage_finding(TriageJob(name.id, name.text, verdict, case, tmp_path, plan, nearest_seconds=0))
    assert asked == [OracleName.CRASH], "what a neighbour must pass"
    assert result.parts is not None
    assert result.repro is not None
    finding = result.of(
        FindingRecord(
            name.id, name.text, "numeric", "FuseOps", verdict.shown, 1, FindingState.NEW, 1.0, 1.0, case, None, None,
            None, "",
        )
    )  # fmt: skip
    ran, failure = [ref.name for ref in finding.shown_case.passes], finding.failure
    assert (ran, failure.culprit, failure.oracle) == (["LowerAllocTensor"], "LowerAllocTensor", OracleName.CRASH)
    assert finding.assessment.told(failure) == "Severity: S3, a crash."
    assert finding.assessment.beside("FuseOps").startswith("at fault: LowerAllocTensor; it raises")
    assert result.bindings == 10, "of the module that is shown; the minimized one has three"
    text, parts = script_of(finding, tmp_path, fresh=True)
    assert "relax.transform.LowerAllocTensor()" in text
    assert parts is not None
    assert parts.other == result.parts.other


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
    assert weighed(worker, case, OracleName.CRASH).blame == "CanonicalizeBindings", "a function, inside"


@I.ir_module
class Tupled:
    @R.function
    def f1(x: R.Tuple(R.Tensor((1,), "float32"), R.Tensor((1,), "float32"))) -> R.Tensor((1,), "float32"):
        return R.const([1.0], "float32")

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Tupled
        return cls.f1((x, x))


def test_who_changes_a_function_and_not_its_caller_is_blamed_though_inference_lets_it_pass(
    worker: IsolatedWorker,
) -> None:
    assert weighed(worker, case_of(Tupled, "LazyGetInput"), OracleName.NUMERIC).blame == "LazyGetInput"


@I.ir_module
class Chosen:
    @R.function
    def main(x: R.Tensor((), "bool"), x1: R.Tensor(("n",), "bool")) -> R.Tensor(("n",), "bool"):
        n = T.int64()
        if x:
            lv: R.Tensor((n,), "bool") = x1
        else:
            lv: R.Tensor((n,), "bool") = x1
        return lv


def test_a_dim_that_is_read_unwritten_is_the_fault_of_what_keeps_dims(worker: IsolatedWorker) -> None:
    assert weighed(worker, case_of(Chosen, "LazyGetInput"), OracleName.NUMERIC).blame == "VMShapeLower"


def test_a_pass_of_tir_is_blamed_for_writing_into_its_input(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "fold-constant-immutable-module")
    assert found.blame == "tirx.AnnotateEntryFunc"


def test_a_call_without_meaning_is_the_fault_of_who_made_it_and_not_of_legalization(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "mixed-precision-declared-dtype")
    assert (found.blame, found.reason) == ("ToMixedPrecision", "")


def test_the_judged_pass_is_blamed_where_nothing_speaks_for_another(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "merge-composite-if")
    assert (found.blame, found.reason) == ("MergeCompositeFunctions", "")


def test_the_virtual_machine_is_blamed_for_a_register_that_it_does_not_have(worker: IsolatedWorker) -> None:
    assert of_corpus(worker, "rewrite-cuda-graph-no-output").blame == "virtual machine"


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


def test_a_module_is_called_ill_formed_only_if_it_is_rejected() -> None:
    """RealizeVDevice was said to make an ill-formed module of which ``well_formed`` said nothing."""

    @I.ir_module
    class Called:
        @R.function(private=True)
        def f1(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return x

        @R.function(private=True)
        def longer(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            return x

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            cls = Called
            return cls.f1(x)

    Called.update_func(Called.get_global_var("f1"), Called["longer"])
    assert relax.analysis.check_well_formed(Called)
    blames = [first_at_fault(OfPlain, [planted("Planted", fault)])[0] for fault in (lambda _: Called, forgetful)]
    assert [each and each.reason for each in blames] == [
        "it turns a well-formed module into one in which types contradict each other",
        "it turns a well-formed module into an ill-formed one",
    ]


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
