from __future__ import annotations

from pathlib import Path
from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
import tvm
import tvm_ffi
from structural import Say
from tvm import relax, tirx

from corpus.case import load, load_module
from oracles.core.function_signatures import changed_signature, mistyped_call
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Contract, EvidenceClass, OracleName
from relaxkit.passes.pass_ref import PassRef

WELL_FORMED = OracleName.WELL_FORMED
TT = relax.TensorType
REALIZE = PassRef("RealizeVDevice", "relax.transform.RealizeVDevice()")


def _kind(say: Say, module: Any, *passes: Any, **options: Any) -> str:
    verdict = say(module, *passes, **options)[WELL_FORMED]
    if verdict.outcome is Outcome.PASS:
        return "pass"
    assert verdict.outcome is Outcome.FAIL, verdict
    assert verdict.evidence is not None
    return verdict.evidence.kind


def test_call_to_a_missing_function_is_ill_formed(say: Say) -> None:
    assert _kind(say, samples.private_calls(), buggy.drops("helper")) == "ill-formed"


def test_unused_private_function_may_go(say: Say) -> None:
    bb = relax.BlockBuilder(samples.dataflow())
    x = samples.var("x")
    with bb.function("unused", [x], private=True):
        bb.emit_func_output(x)
    assert _kind(say, bb.get(), buggy.drops("unused")) == "pass"


def test_public_function_may_not_go(say: Say) -> None:
    assert _kind(say, samples.two_functions(), buggy.drops("other")) == "signature"


@pytest.mark.parametrize(
    ("ty", "kind"),
    [
        (TT((2, 3), "float32"), "pass"),
        (TT((2, 4), "float32"), "contradicted-type"),
        (TT((2, 3), "float64"), "contradicted-type"),
        (TT(ndim=3, dtype="float32"), "contradicted-type"),
    ],
)
def test_declared_return_type(say: Say, ty: Any, kind: str) -> None:
    assert _kind(say, samples.dataflow(), buggy.declares(lambda old: ty)) == kind


def _of_unknown_shape() -> Any:
    bb = relax.BlockBuilder()
    x = samples.var("x")
    with bb.function("main", [x]):
        y = bb.emit(relax.op.call_pure_packed("identity", x, ty_args=TT(ndim=2, dtype="float32")))
        bb.emit_func_output(y)
    return bb.finalize()


def test_return_type_may_not_lose_what_callers_knew(say: Say) -> None:
    module = buggy.declares(lambda old: TT((2, 3), "float32")).given(_of_unknown_shape())
    assert _kind(say, module, buggy.declares(lambda old: TT(ndim=2, dtype="float32"))) == "signature"


def test_return_type_may_be_refined(say: Say) -> None:
    module = _of_unknown_shape()
    assert _kind(say, module, buggy.declares(lambda old: TT((2, 3), "float32"))) == "pass"


def test_contradiction_that_was_there_before_is_not_blamed(say: Say) -> None:
    module = buggy.declares(lambda old: TT((7, 7), "float32")).given(samples.dataflow())
    assert _kind(say, module, buggy.identity()) == "pass"


def test_signature_is_free_when_the_contract_says_so(say: Say) -> None:
    contract = Contract("drops", keeps_public_signatures=False)
    assert _kind(say, samples.two_functions(), buggy.drops("other"), contracts=[contract]) == "pass"


def test_tolerated_complaint_passes_and_the_other_oracles_go_on(say: Say) -> None:
    contract = Contract("CallTIRRewrite", tolerated_ill_formedness=(r"annotated as pure but contains an impure call",))
    rewrite = PassRef("CallTIRRewrite", "relax.transform.CallTIRRewrite()")
    module = relax.transform.LegalizeOps()(relax.transform.ToNonDataflow()(samples.dataflow()))
    assert _kind(say, module, rewrite, contracts=[Contract("CallTIRRewrite")]) == "ill-formed"
    verdicts = say(module, rewrite, contracts=[contract])
    assert verdicts[WELL_FORMED].outcome is Outcome.PASS
    assert verdicts[OracleName.DETERMINISM].outcome is Outcome.PASS


def test_pipeline_blames_the_first_pass_whose_output_fails(say: Say) -> None:
    verdict = say(samples.private_calls(), buggy.identity(), buggy.drops("helper"), buggy.identity())[WELL_FORMED]
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "drops")


def test_ill_formed_input_is_not_judged(say: Say) -> None:
    module = buggy.drops("helper").given(samples.private_calls())
    verdicts = say(module, buggy.raises(ValueError("odd")))
    assert {(verdict.outcome, verdict.reason) for verdict in verdicts.values()} == {
        (Outcome.SKIP, "input is ill-formed")
    }


def test_types_that_shape_lowering_forgets_are_no_change_of_signature(say: Say) -> None:
    n, m = (tirx.Var(name, "int64") for name in "nm")
    x, y = relax.Var("x", TT(dtype="float32", ndim=1)), relax.Var("y", TT((n,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            cast = builder.match_cast(x, TT((m,), "float32"))
            first, second = builder.emit_output(cast), builder.emit_output(relax.op.abs(y))
        builder.emit_func_output(relax.Tuple([first, second]))
    refs = [PassRef(name, f"relax.transform.{name}()") for name in ("VMShapeLower", "DeadCodeElimination")]
    module = builder.finalize()
    assert _kind(say, module, *refs) == "pass"
    before, after = (Subject(module, refs[:count]).output_module["main"].ret_ty for count in (1, 2))
    assert not tvm_ffi.structural_equal(before, after, map_free_vars=True)  # it did forget


def test_call_that_no_longer_fits_is_a_defect_and_no_later_pass_is_blamed(say: Say) -> None:
    """DispatchSampling was blamed for what RealizeVDevice had left behind."""
    module = load_module(*load(["realize-vdevice-caller"]))
    assert _kind(say, module, REALIZE) == "mistyped-call"
    verdict = say(module, REALIZE, buggy.raises(ValueError("Argument 0 type mismatch")))[OracleName.CRASH]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "input of the pass is ill-formed")


def test_devices_that_do_not_fit_where_all_builds_are_a_question(say: Say) -> None:
    """RealizeVDevice, behind CallTIRRewrite, was blamed for devices that nobody but us compares."""
    builder, device = relax.BlockBuilder(), relax.VDevice("llvm", 0, "global")
    inner, x = (relax.Var(name, TT((1,), "float32")) for name in ("inner", "x"))
    with builder.function("f1", [inner], private=True):
        builder.emit_func_output(builder.emit(relax.op.abs(inner)))
    callee = builder.get().get_global_var("f1")
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.Call(callee, [x])))
    module = builder.finalize()
    module.update_global_info("vdevice", [device])
    lower = [relax.transform.LegalizeOps(), relax.transform.RemovePurityChecking(), relax.transform.CallTIRRewrite()]
    verdict = say(tvm.transform.Sequential(lower)(module), REALIZE)[WELL_FORMED]
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "mistyped-call"
    assert verdict.evidence.details.rests_on is EvidenceClass.OURS


DROPS_RESHAPE = """
import tvm
from tvm import relax


@tvm.transform.module_pass(opt_level=0, name="DropsReshape")
def drops_reshape(module, context):
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((1, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    return builder.get()


def factory():
    return drops_reshape
"""


def test_another_result_is_a_question_of_a_pass_of_tvm_and_a_defect_of_ones_own(say: Say, tmp_path: Path) -> None:
    (file := tmp_path / "own.py").write_text(DROPS_RESHAPE)
    builder, x = relax.BlockBuilder(), relax.Var("x", TT((1, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.reshape(x, (3,))))
    own = PassRef("DropsReshape", f"user:{file}:factory")
    evidence = say(builder.get(), own)[WELL_FORMED].shown
    assert (evidence.kind, evidence.details.rests_on) == ("signature", None)
    found = changed_signature(builder.get(), own.build()(builder.get()))
    assert found is not None
    assert found.details.rests_on is EvidenceClass.OURS


def test_what_a_misfit_left_behind_is_not_judged(say: Say) -> None:
    module = REALIZE.build()(load_module(*load(["realize-vdevice-caller"])))
    verdicts = say(module, buggy.raises(ValueError("Argument 0 type mismatch")))
    assert {verdict.reason for verdict in verdicts.values()} == {"input is ill-formed"}


def test_a_complaint_that_a_tolerated_one_hid_blames_nobody(say: Say) -> None:
    """FuseOps was blamed for the call that UpdateParamType had left without its callee."""
    halves = "lambda var: relax.TensorType(var.ty.shape, 'float16')"
    passes = [PassRef("UpdateParamType", f"relax.transform.UpdateParamType({halves})")]
    passes += [PassRef(name, f"relax.transform.{name}()") for name in ("AnnotateTIROpPattern", "FuseOps")]
    builder = relax.BlockBuilder()
    inner, x = relax.Var("inner", TT((2,), "float32")), relax.Var("x", TT((1,), "float32"))
    with builder.function("callee", [inner], private=True):
        builder.emit_func_output(inner)
    callee = next(gv for gv in builder.get().get_global_vars() if gv.name_hint == "callee")
    with builder.function("main", [x], private=True):
        with builder.dataflow():
            builder.emit(relax.op.nn.relu(builder.emit(relax.op.abs(x))))
            called = builder.emit_output(relax.Call(callee, [relax.const([1.0, 1.0], "float32")]))
        builder.emit_func_output(called)
    verdict = say(relax.transform.LegalizeOps()(builder.finalize()), *passes)[WELL_FORMED]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "tolerated complaint hides others")


@pytest.mark.parametrize(
    ("held", "complaint"),
    [
        (("x", "y"), None),
        (("y",), None),
        (("x", "y", "x"), "holds 3 arguments of a function of 2"),
        (("y", "x"), 'argument 0 held by a closure: expected R.Tensor((2,), dtype="float32")'),
    ],
)
def test_a_closure_that_holds_what_its_function_does_not_take_does_not_fit(
    held: tuple[str, ...], complaint: str | None
) -> None:
    """Minimizing made such modules of findings; ``make_closure`` itself says nothing, its result is of type Any."""
    x, y = relax.Var("x", TT((2,), "float32")), relax.Var("y", TT((), "int64"))
    builder = relax.BlockBuilder()
    with builder.function("helper", [x, y], private=True):
        builder.emit_func_output(y)
    callee = builder.get().get_global_var("helper")
    a, b = relax.Var("x", x.ty), relax.Var("y", y.ty)
    with builder.function("main", [a, b]):
        closure = builder.emit(relax.op.make_closure(callee, relax.Tuple([{"x": a, "y": b}[name] for name in held])))
        builder.emit_func_output(closure)
    module = builder.finalize()
    assert relax.analysis.check_well_formed(module)
    found = mistyped_call(module)
    assert (found is None) if complaint is None else (found is not None and complaint in found.observed), found


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_call_of_another_type_than_its_function_gives_does_not_fit(dtype: str) -> None:
    """LegalizeOps gives a variance of int32 another dtype, and FuseTIR was blamed for the caller that it left alone."""
    builder = relax.BlockBuilder()
    for given in ("int32", dtype):
        inner = relax.Var("inner", TT((1,), "int32"))
        name = "helper" if given == "int32" else "other"
        with builder.function(name, [inner], private=True):
            builder.emit_func_output(builder.emit(relax.op.astype(inner, given)))
    module = builder.get()
    helper = module.get_global_var("helper")
    x = relax.Var("x", TT((1,), "int32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.Call(helper, [x])))
    module = builder.finalize()
    if dtype != "int32":
        module[helper] = module["other"]
        del module["other"]
    assert relax.analysis.check_well_formed(module)
    found = mistyped_call(module)
    assert (found is None) == (dtype == "int32"), found
    assert found is None or "int64" in found.observed


ERASING = PassRef(
    "UpdateParamType", "relax.transform.UpdateParamType(lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=2))"
)


@pytest.mark.parametrize("needed", [True, False])
def test_a_dim_that_the_caller_erases_is_the_callers_fault_where_the_code_needs_it(say: Say, needed: bool) -> None:
    m = tirx.Var("m", "int64")
    x = relax.Var("x", TT((1, m), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        full = relax.op.full(relax.ShapeExpr([1, m, 1]), relax.const(1.0, "float32"), "float32")
        builder.emit_func_output(builder.emit(full if needed else relax.op.abs(x)))
    verdict = say(builder.get(), ERASING)[WELL_FORMED]
    if needed:
        assert (verdict.outcome, verdict.reason) == (
            Outcome.SKIP, "the caller's types leave out a dim that the code needs",
        )  # fmt: skip
    else:  # what is inferred of the new type stays as it was: the pass's own fault
        assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "UpdateParamType")


@pytest.mark.parametrize(
    ("dim", "device", "same"),
    [
        ("T.min(1, k)", "", True),  # of a k that is not negative
        ("T.min(2, k)", "", False),
        ("T.min(1, k)", ', vdevice="llvm"', False),
    ],
)
def test_a_dim_that_is_written_otherwise_is_the_same(dim: str, device: str, same: bool) -> None:
    source = """
@I.ir_module
class Module:
    I.module_global_infos({{"vdevice": [I.vdevice("llvm")]}})
    @R.function
    def main(x: R.Tensor((2, 2, "k"), "int16")) -> R.Tuple(R.Tensor((1, "{0}"), "int16"{1})):
        k = T.int64()
        lv = R.call_pure_packed("any", x, ty_args=(R.Tensor((1, {0}), "int16"{1}),))
        return (lv,)
"""
    old = source.format("T.min(1, k) - T.min(0, k)", ', vdevice="llvm"' if device else "")
    before, after = map(tvm.script.from_source, (old, source.format(dim, "")))
    assert (changed_signature(before, after) is None) is same
