"""What is at fault beside the judged pass: what belongs to an operator, and what passes only expose or call."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from weighing import case_of, of_corpus, weighed

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Severity
from fuzzer.findings.family import UNKNOWN
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.triage.blame.inference import rebuilt
from fuzzer.triage.blame.operators import begins_in_a_loop
from fuzzer.triage.finding import TriageJob, triage_finding
from fuzzer.triage.reduce import ReductionPlan
from fuzzer.triage.weigh import accused
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Death
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def test_type_inference_is_blamed_for_what_the_builder_alone_raises(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "update-param-type-eye-like")
    assert found.blame == "type inference of eye_like"
    assert "with the block builder alone" in found.grounds


def test_the_rebuilt_module_is_asked_with_the_types_that_the_pass_was_asked_for() -> None:
    (known,) = load(["update-param-type-eye-like"])
    module = load_module(known)
    assert not list(rebuilt(module))
    assert not list(rebuilt(module, lambda var: var.ty))
    ((_, operator),) = rebuilt(module, lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim))
    assert operator == "eye_like"


@I.ir_module
class Chosen:
    @R.function
    def main(x: R.Tensor((), "bool"), x1: R.Tensor((2, "n", 2, 2), "float32")) -> R.Tensor((2, "n", 2), "float32"):
        n = T.int64()  # noqa: F841  # the parser reads it
        if x:
            lv = R.abs(x1)
            lv1 = lv
        else:
            lv1 = x1
        return R.einsum((lv1,), "ijik->ijk")


def test_type_inference_is_blamed_for_another_type_of_operands_of_unknown_shape(worker: IsolatedWorker) -> None:
    case = case_of(Chosen, "OptimizeLayoutTransform")
    assert weighed(worker, case, OracleName.WELL_FORMED).blame == "type inference of einsum"


@I.ir_module
class Shapeless:
    @R.function
    def main(
        x: R.Tensor((), "bool"),
        x1: R.Tensor(("n", 1, "n"), "float32"),
        x2: R.Tensor(("n", 1, 1, 1), "float32"),
        x3: R.Tensor((1, 1), "int64"),
    ) -> R.Tensor(("n", 1, 1, 1), "float32"):
        n = T.int64()  # noqa: F841  # the parser reads it
        if x:
            lv = R.abs(x1)
            lv1 = lv
        else:
            lv1 = x1
        lv2 = R.take(lv1, x3, axis=1, mode="fast")
        return R.nn.attention_bias(lv2, lv2, x2, x2, scale=None, causal_mask="TopLeft", window_size=None)


def test_type_inference_is_blamed_for_the_death_on_operands_of_which_a_pass_loses_the_shape(
    worker: IsolatedWorker,
) -> None:
    case = case_of(Shapeless, "RemoveRedundantReshape")
    judge = Judge(worker, (OracleName.CRASH,))
    (died,) = judge.verdicts(case)
    assert died.shown.details.code == signal.SIGSEGV
    found = accused(judge, case, died, UNKNOWN)
    assert found.name == "type inference of nn.attention_bias"
    assert found.reason == "RemoveRedundantReshape calls it, and the process dies in the same way of it alone"
    details = replace(died.shown.details, death=Death.MEMORY)
    other = replace(died, evidence=replace(died.shown, details=details))
    assert accused(judge, case, other, UNKNOWN).name == "RemoveRedundantReshape"


def test_the_conversion_of_float8_is_blamed_for_a_bare_cast_alone(worker: IsolatedWorker) -> None:
    found = of_corpus(worker, "legalize-astype-float8-zero")
    assert found.blame == "float8 conversion of TIR"
    other = of_corpus(worker, "legalize-dequantize-float8")
    assert other.blame == "lowering of relax.dequantize", "it needs float8, and makes integers of it"


@pytest.mark.parametrize(
    ("slug", "blame"),
    [
        ("legalize-not-equal-nan", "LLVM code generator"),
        ("legalize-instance-norm-center", "lowering of relax.nn.instance_norm"),
        ("gradient-where-broadcast", "relax.where (its FPrimalGradient)"),
        ("gradient-concat-symbolic", "relax.concat (its FPrimalGradient)"),
        ("gradient-cumsum-exclusive", "relax.cumsum (its FPrimalGradient)"),
        ("convert-layout-stack-axis", "relax.stack (its FRelaxInferLayout)"),
        ("gradient-call", "Gradient"),
        ("gradient-split-one", "relax.split (its FPrimalGradient)"),
        ("gradient-conv2d-dilated", "relax.nn.conv2d (its FPrimalGradient)"),
        ("convert-layout-squeeze-negative", "relax.squeeze (its FRelaxInferLayout)"),
        ("run-codegen-recursion", "RunCodegen"),
        ("legalize-resize2d-out-dtype", "lowering of relax.image.resize2d"),
        ("decompose-training-layer-norm-axis", "DecomposeOpsForTraining"),
        ("inline-private-checkpoint", "CanonicalizeBindings"),
        ("bind-params-checkpoint", "BindParams"),
        ("fold-constant-end-checkpoint", "FoldConstant"),
        ("update-vdevice-to-vdevice", "UpdateVDevice"),
        ("infer-dequantize-unknown-shape", "type inference of dequantize"),
    ],
)
def test_what_is_wrong_of_an_operator_alone_is_the_fault_of_its_function(
    worker: IsolatedWorker, slug: str, blame: str
) -> None:
    assert of_corpus(worker, slug).blame == blame


@pytest.mark.parametrize("operator", ["sum", "matmul", "prod"])
def test_the_lowering_of_reductions_is_blamed_for_values_that_nothing_begins_with(
    worker: IsolatedWorker, operator: str
) -> None:
    assert of_corpus(worker, f"legalize-{operator}-empty-symbolic").blame == "te.create_prim_func"


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
    plan = ReductionPlan(SearchLimits(queries=150))
    result = triage_finding(TriageJob(name.id, name.text, found, case, tmp_path, plan, nearest_seconds=0))
    assert result.parts is not None
    assert "NCHW4c" in result.parts.module
    assert result.parts.words.title.startswith("ConvertLayout fails on relax.nn.conv2d")
    assert "own output" not in result.parts.words.title
    assert result.assessment is not None
    assert result.assessment.blame == "relax.nn.conv2d (its FRelaxInferLayout)"


def test_an_operator_is_blamed_for_what_its_own_function_raises(worker: IsolatedWorker) -> None:
    (run,) = (ref.build() for ref in of_layouts(Convolved).passes)
    found = weighed(worker, of_layouts(run(Convolved)), OracleName.CRASH)
    assert found.blame == "relax.nn.conv2d (its FRelaxInferLayout)"
    assert "by itself" in found.grounds


@I.ir_module
class Followed:
    @R.function
    def main(
        x: R.Tensor((1, 4, 1, 1), "float32"), w: R.Tensor((8, 4, 1, 1), "float32"), v: R.Tensor((8, 1, 1, 1), "float32")
    ) -> R.Tensor((1, 1, 1, 1), "float32"):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            lv1 = R.nn.conv2d_transpose(lv, v)
            R.output(lv1)
        return lv1


def test_layouts_are_inferred_from_those_that_came_before(worker: IsolatedWorker) -> None:
    found = weighed(worker, of_layouts(Followed), OracleName.CRASH)
    assert found.blame == "relax.nn.conv2d_transpose (its FRelaxInferLayout)"


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
class Masked:
    @R.function
    def main(x: R.Tensor((2, 2, 2, 2), "float32")) -> R.Tensor((2, 2, 2, 2), "float32"):
        with R.dataflow():
            lv = R.nn.attention(x, x, x, causal_mask="BottomRight")
            R.output(lv)
        return lv


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


@I.ir_module
class Unsigned:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        return R.variance(x)

    @R.function
    def main(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        cls = Unsigned
        return cls.f1(x)


@I.ir_module
class Doubled:
    @R.function
    def main(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        lv = R.add(x, x)
        return R.variance(lv)


@I.ir_module
class Alone:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.concat((x,), axis=0)
            lv1 = R.sum(lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Crossed:
    @R.function(private=True)
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1, 1), "float32"):
        with R.dataflow():
            lv = R.outer(x, x)
            R.output(lv)
        return lv


@I.ir_module
class Summed:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.sum(x)
            lv1 = R.min(lv)
            R.output(lv1)
        return lv1


@I.ir_module
class Middle:
    @R.function
    def main(x: R.Tensor((1, 1), "float32")) -> R.Tensor((1, 1), "float32"):
        return R.median(x, axis=None, keepdims=True)


@I.ir_module
class Meshed:
    @R.function
    def main(x: R.Tensor((2,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tuple(
        R.Tensor((1, 2), "float32"), R.Tensor((1, 2), "float32")
    ):
        return R.meshgrid((x1, x), indexing="xy")


MATCHED = (
    'relax.transform.FuseOpsByPattern([("of.both", is_op("relax.permute_dims")(is_op("relax.reshape")'
    "(wildcard(), wildcard())))])"
)


_RETYPES = """
import tvm
from tvm import relax


def retypes():
    def transform(module, _):
        var, function = next(each for each in module.functions_items() if each[0].name_hint == "f1")
        builder = relax.BlockBuilder()
        params = [relax.Var(each.name, each.ty) for each in function.params]
        with builder.function("f1", params, private=True):
            builder.emit_func_output(builder.emit(relax.op.astype(relax.op.variance(*params), "float32")))
        functions = dict(module.functions_items())
        functions[var] = builder.get()["f1"]
        return tvm.IRModule(functions)

    return tvm.transform.module_pass(transform, opt_level=0, name="retypes")
"""


def test_no_lowering_is_blamed_for_what_a_pass_that_lowers_nothing_makes_of_types(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    (tmp_path / "retypes.py").write_text(_RETYPES)
    case = Case(str(tvm.ir.save_json(Unsigned)), (PassRef("retypes", f"user:{tmp_path / 'retypes.py'}:retypes"),), 0)
    assert weighed(worker, case, OracleName.WELL_FORMED).blame == "retypes"


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
        (Unsigned, "relax.transform.LegalizeOps()", OracleName.WELL_FORMED, "lowering of relax.variance"),
        (Closing, "relax.transform.FuseTIR()", OracleName.IDEMPOTENCE, "RemoveUnusedParameters"),
        # The adjoint of a tuple of one is no tuple.
        (Alone, 'relax.transform.Gradient("main")', OracleName.CRASH, "relax.concat (its FPrimalGradient)"),
        # It has a policy that asks for one, and none.
        (Crossed, "relax.transform.ToMixedPrecision()", OracleName.CRASH, "relax.outer (its FInferMixedPrecision)"),
        # It is min that refuses the layout.
        (Summed, "relax.transform.ConvertLayout({})", OracleName.CRASH, "relax.sum (its FRelaxInferLayout)"),
        (Middle, 'relax.get_pipeline("default")', OracleName.WELL_FORMED, "lowering of relax.median"),
        (Meshed, 'relax.get_pipeline("default")', OracleName.WELL_FORMED, "type inference of meshgrid"),
    ],
)
def test_what_a_pass_only_exposes_or_calls_is_blamed(
    worker: IsolatedWorker, module: Any, judged: str, oracle: OracleName, blame: str
) -> None:
    name = "build:default" if "pipeline" in judged else judged.removeprefix("relax.transform.").partition("(")[0]
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, judged),), 0)
    assert weighed(worker, case, oracle).blame == blame


def test_a_result_of_another_dtype_than_declared_is_silently_wrong_and_no_question(worker: IsolatedWorker) -> None:
    public = tvm.IRModule({"main": Unsigned["f1"].with_attr("global_symbol", "main")})
    for module in (Unsigned, public):  # a call that does not fit, or another signature, which nobody forbids
        found = weighed(worker, case_of(module, "LegalizeOps"), OracleName.WELL_FORMED)
        assert (found.blame, found.severity, found.question) == ("lowering of relax.variance", Severity.S1, False)


@pytest.mark.parametrize(
    ("module", "judged", "oracle", "said"),
    [
        (
            Crossed,
            "relax.transform.ToMixedPrecision()",
            OracleName.CRASH,
            "ToMixedPrecision calls it, and there is none",
        ),
        (  # which operand or attribute is gone, the finding itself tells
            Masked,
            "relax.transform.ToMixedPrecision()",
            OracleName.POSTCONDITION,
            "ToMixedPrecision calls it, and its result is wrong already",
        ),
        (
            Doubled,
            "relax.transform.LegalizeOps()",
            OracleName.WELL_FORMED,
            "it changes the type of a single call to the operator",
        ),
        (Middle, "relax.transform.LegalizeOps()", OracleName.WELL_FORMED, ""),  # there is but one call
    ],
)
def test_grounds_tell_what_the_program_does_not_show(
    worker: IsolatedWorker, module: Any, judged: str, oracle: OracleName, said: str
) -> None:
    name = judged.removeprefix("relax.transform.").partition("(")[0]
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, judged),), 0)
    assert weighed(worker, case, oracle).grounds == said


def test_the_lowering_is_blamed_for_types_that_a_users_pass_changes_by_lowering(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    (tmp_path / "lowers.py").write_text(
        """from tvm import relax, transform


def lowers():
    return transform.module_pass(
        lambda mod, _: relax.transform.LegalizeOps()(mod), opt_level=0, name="lowers"
    )
"""
    )
    case = Case(str(tvm.ir.save_json(Middle)), (PassRef("lowers", f"user:{tmp_path / 'lowers.py'}:lowers"),), 0)
    assert weighed(worker, case, OracleName.WELL_FORMED).blame == "lowering of relax.median"
