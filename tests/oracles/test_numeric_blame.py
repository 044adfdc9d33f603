"""Whom the numeric oracle blames."""

from __future__ import annotations

from typing import Any

import buggy_passes as buggy
import numpy as np
import pytest
import sample_modules as samples
import tvm
from tvm import relax

from corpus.case import load, load_module
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.numeric import compare_programs, oracle
from oracles.numeric.oracle import judge_numeric
from relaxkit.passes.contract import Contract, Idempotence
from relaxkit.passes.contracts.pipelines import pipeline
from relaxkit.passes.pass_ref import PassRef


def contract(name: str) -> Contract:
    return Contract(name, idempotence=Idempotence.UNKNOWN)


def copied(module: Any) -> Any:
    return tvm.ir.load_json(tvm.ir.save_json(module))


def emptied(module: Any) -> Any:
    """``main`` gives its parameter back, in the very module."""
    var = module.get_global_var("main")
    function = module[var]
    x = function.params[0]
    body = relax.SeqExpr([], x)
    relax.expr._update_type(body, x.ty)
    module.update_func(var, relax.Function(function.params, body, x.ty, attrs=function.attrs))
    return module


def test_a_pass_is_not_blamed_for_what_a_later_one_wrote_into_its_result() -> None:
    """10cc7897f0: UpdateVDevice wrote into what LazyTransformParams had given, which did not build then."""
    copying = buggy.make("copying", copied, contract("copying"))
    writing = buggy.make("writing", emptied, contract("writing"))
    said = judge_numeric(Subject(samples.dataflow(), [copying, writing]))
    assert said.evidence is not None
    assert said.culprit == "writing"


def test_the_first_pass_that_is_wrong_is_to_blame() -> None:
    wrong = buggy.make("wrong", lambda module: emptied(copied(module)), contract("wrong"))
    copying = buggy.make("copying", copied, contract("copying"))
    assert judge_numeric(Subject(samples.dataflow(), [wrong, copying])).culprit == "wrong"


def test_what_a_pass_makes_of_an_ill_formed_module_is_not_held_against_it() -> None:
    """4a9caf8594: ToMixedPrecision returned a variable that is not defined, and LazySetOutput dropped it."""
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            lv = p
            R.output()
        return p
""")
    transform = "relax.transform"
    passes = [
        PassRef("ToMixedPrecision", f'{transform}.ToMixedPrecision(fp16_input_names=["p"])'),
        PassRef("ToNonDataflow", f"{transform}.ToNonDataflow()"),
        PassRef("LazySetOutput", f"{transform}.LazySetOutput()"),
    ]
    said = judge_numeric(Subject(module, passes))
    assert (said.outcome, said.reason) == (Outcome.SKIP, "an earlier pass returns an ill-formed module")


def test_an_effect_that_is_lost_is_blamed_on_who_declared_it_away() -> None:
    """LambdaLift calls a function that prints by invoke_pure_closure; FoldConstant, which drops it, was blamed."""
    (case,) = load(["fold-constant-effect"])
    (ref,) = case.passes
    said = judge_numeric(Subject(load_module(case), [ref], input_seed=case.input_seed))
    assert said.evidence is not None
    assert (said.evidence.kind, said.culprit) == ("other-effects", "LambdaLift")


IMPURE_CLOSURE = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})
    @R.function(private=True)
    def given(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "absent", "WorkspaceSize": 192})
        return x
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        @R.function(pure=False)
        def inner() -> R.Tensor((2,), "float32"):
            R.print(format=R.str("note"))
            y: R.Tensor((2,), "float32") = R.abs(x)
            return y
        z: R.Tensor((2,), "float32") = inner()
        with R.dataflow():
            w: R.Tensor((2,), "float32") = cls.given(x)
            R.output(w)
        return w
"""


def test_a_pass_is_not_to_blame_for_what_the_build_lifts_and_then_drops() -> None:
    """66e340d403: what AllocateWorkspace allocates lets RealizeVDevice make another variable of what nobody reads."""
    module = tvm.script.from_source(IMPURE_CLOSURE)
    said = judge_numeric(Subject(module, [PassRef("AllocateWorkspace", "relax.transform.AllocateWorkspace()")]))
    assert said.evidence is not None
    assert (said.evidence.kind, said.culprit) == ("other-effects", "LambdaLift")


def test_effects_that_the_module_itself_declares_away_may_be_dropped() -> None:
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function(pure=False, private=True)
    def noted(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.print(x, format=R.str("note {}"))
        return x
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Module
        closure = R.make_closure(cls.noted, (x,))
        lv = R.invoke_pure_closure(closure, (), (R.Tensor((1,), dtype="float32"),))
        return x
""")
    said = judge_numeric(Subject(module, [PassRef("FoldConstant", "relax.transform.FoldConstant()")]))
    assert said.outcome is not Outcome.FAIL


def test_a_pass_that_drops_the_call_itself_is_to_blame() -> None:
    dropping = buggy.make("dropping", lambda module: emptied(copied(module)), contract("dropping"))
    said = judge_numeric(Subject(tvm.script.from_source(IMPURE_CLOSURE), [dropping]))
    assert said.evidence is not None
    assert (said.evidence.kind, said.culprit) == ("other-effects", "dropping")


def test_a_legalization_that_reads_constants_only_is_to_blame_for_who_makes_one_a_parameter() -> None:
    """0f790f4e2c: the number of boxes is a parameter of the composite function, and LegalizeOps takes all of them."""
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(
        boxes: R.Tensor((1, 3, 4), "float32"), scores: R.Tensor((1, 1, 3), "float32")
    ) -> R.Tensor((1, 3), "float32"):
        with R.dataflow():
            found: R.Tuple(
                R.Tensor((1, 3, 2), "int64"), R.Tensor((1, 3), "float32"), R.Tensor((1,), "int64")
            ) = R.vision.all_class_non_max_suppression(
                boxes, scores, R.const(1, "int64"), R.const(0.5, "float32"), R.const(-4.0, "float32"),
                output_format="tensorflow",
            )
            kept: R.Tensor((1, 3), "float32") = found[1]
            R.output(kept)
        return kept
""")
    pattern = """[("pyext.nms", (lambda x: is_op("relax.negative")(x) | x)(wildcard()))]"""
    fused = PassRef("FuseOpsByPattern", f"relax.transform.FuseOpsByPattern({pattern}, bind_constants=False)")
    for later in [], [PassRef("CallTIRRewrite", "relax.transform.CallTIRRewrite()")]:
        said = judge_numeric(Subject(module, [fused, *later]))
        assert said.evidence is not None
        assert (said.evidence.kind, said.culprit) == ("wrong-value", "LegalizeOps")


def test_a_legalization_that_gives_another_dtype_is_to_blame_for_who_computes_with_it() -> None:
    """d097f92bcc: AppendLoss was blamed, whose loss takes roi_align of float16, which LegalizeOps gives in float32."""
    x = relax.Var("x", relax.TensorType((2,), "int16"))

    def of(doubled: bool) -> Any:
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            mean = builder.emit(relax.op.mean(x))
            builder.emit_func_output(builder.emit(relax.op.add(mean, mean if doubled else relax.const(1, "int16"))))
        return builder.finalize()

    def before() -> Any:
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.mean(x)))
        return builder.finalize()

    adding = buggy.make("adding", lambda _: of(doubled=False), contract("adding"))
    said = judge_numeric(Subject(before(), [adding]))
    assert said.evidence is not None
    assert (said.evidence.kind, said.culprit) == ("does-not-build", "LegalizeOps")
    doubling = buggy.make("doubling", lambda _: of(doubled=True), contract("doubling"))
    said = judge_numeric(Subject(before(), [doubling]))
    assert said.evidence is not None
    assert (said.evidence.kind, said.culprit) == ("wrong-value", "doubling")


_PREFIXED = PassRef(
    "AttachGlobalSymbol",
    'tvm.transform.module_pass(lambda mod, _: relax.transform.AttachGlobalSymbol()(mod.with_attr("system_lib_prefix",'
    ' "lib_")), opt_level=0, name="AttachGlobalSymbol")',
)
_BEHIND = PassRef("LowerRuntimeBuiltin", "relax.transform.LowerRuntimeBuiltin()")


def test_a_module_for_a_system_library_is_not_loaded_in_compiled_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "COMPILED_SHARE", 1)
    assert judge_numeric(Subject(samples.dataflow(), [_PREFIXED, _BEHIND])).outcome is not Outcome.FAIL


def test_a_failure_in_compiled_mode_is_blamed_on_the_first_pass_behind_which_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oracle, "COMPILED_SHARE", 1)
    monkeypatch.setattr(compare_programs, "_IN_A_SYSTEM_LIBRARY", "")
    verdict = judge_numeric(Subject(samples.dataflow(), [_PREFIXED, _BEHIND]))
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "AttachGlobalSymbol")


_ALIASING = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, "n", 2), "float32"), w: R.Tensor((2, 1), "float32")) -> R.Tensor((1, "n", 1), "float32"):
        n = T.int64()
        with R.dataflow():
            lv1 = R.matmul(x, w, out_dtype=None)
            lv2 = R.permute_dims(lv1, axes=None)
            lv3 = R.call_inplace_packed(
                "vm.builtin.copy", lv2, inplace_indices=[0], ty_args=(R.Tensor((1, n, 1), "float32"),)
            )
            lv4 = R.abs(lv3)
            R.output(lv3)
        return lv3
"""
_DEFAULT = (
    "LegalizeOps", "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite",
    "StaticPlanBlockMemory", "LowerAllocTensor", "LowerRuntimeBuiltin",
)  # fmt: skip


@pytest.mark.parametrize("separate", [False, True])
def test_who_plans_memory_is_blamed_for_an_alias_that_legalization_would_copy(separate: bool) -> None:
    """d90927895b: the reference pipeline legalized the reshape between, and the reused storage was not seen."""
    names = [PassRef(name, f"relax.transform.{name}()") for name in _DEFAULT]
    passes = names if separate else [pipeline("build:default")]
    said = judge_numeric(Subject(tvm.script.from_source(_ALIASING), passes))
    assert said.evidence is not None
    assert said.culprit == "StaticPlanBlockMemory"


def test_a_later_pass_is_blamed_for_what_it_does_to_a_reshape_that_is_left() -> None:
    passes = [PassRef(name, f"relax.transform.{name}()") for name in _DEFAULT[:2]]
    bound = relax.transform.BindParams("main", {"w": np.zeros((2, 1), "float32")})
    wrong = buggy.make("wrong", bound, contract("wrong"))
    said = judge_numeric(Subject(tvm.script.from_source(_ALIASING), [*passes, wrong]))
    assert said.evidence is not None
    assert said.culprit == "wrong"
