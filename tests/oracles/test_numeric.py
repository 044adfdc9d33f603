"""The numeric oracle on passes with known faults, on their clean twins, and on TVM's own passes."""

from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import sample_modules
import tvm
from tvm import relax, tirx, topi

from fuzzer.repro.checks.check import seen_line
from oracles.core.module_facts import ModuleFacts
from oracles.core.subject import Subject
from oracles.core.verdict import Breadcrumb, Outcome, Verdict
from oracles.judge import judge
from oracles.measure.input_variations import Variation
from oracles.measure.input_variations import drawn as drawn_variations
from oracles.measure.inputs import materialize
from oracles.measure.original import OVERWRITES
from relaxkit.ir.domain import Given
from relaxkit.passes.contract import Contract, EvidenceClass, Idempotence, NumericPromise, OracleName
from relaxkit.passes.pass_ref import GivenPass, PassRef

op = relax.op
F32 = "float32"
EXACT = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT)
LOOSE = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.REASSOCIATION)


def numeric(module: Any, *passes: PassRef, seed: int = 0, **options: Any) -> Verdict:
    (verdict,) = judge(Subject(module, passes, input_seed=seed, **options), [OracleName.NUMERIC])
    return verdict


def planted(change: Any, name: str = "planted") -> PassRef:
    return GivenPass(name, f"<{name}>", samples.rewriting(name, change))


def named(name: str, arguments: str = "") -> PassRef:
    return PassRef(name, f"relax.transform.{name}({arguments})")


def kind(verdict: Verdict) -> str:
    assert verdict.outcome is Outcome.FAIL, verdict
    assert verdict.evidence is not None
    return verdict.evidence.kind


def scaled(factor: float) -> Any:
    def change(name: str, args: list[Any], call: Any) -> Any:
        if name != "relax.matmul":
            return None
        return op.multiply(op.matmul(*args), relax.const(np.float32(factor), "float32"))

    return change


@pytest.mark.parametrize("contract", [EXACT, LOOSE])
def test_a_relative_error_of_one_percent_fails(contract: Contract) -> None:
    assert kind(numeric(samples.reduction(), planted(scaled(1.01)), contracts=[contract])) == "wrong-value"


def test_the_clean_twin_passes() -> None:
    verdict = numeric(samples.reduction(), planted(scaled(1.0)), contracts=[EXACT])
    assert verdict.outcome is Outcome.PASS


def test_one_wrong_element_fails() -> None:
    mask = np.ones((2, 3), "float32")
    mask[1, 2] = 1.001

    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.multiply(op.add(*args), relax.const(mask, "float32")) if name == "relax.add" else None

    assert kind(numeric(samples.elementwise(), planted(change), contracts=[LOOSE])) == "wrong-value"


def test_other_roundings_pass_or_fail_by_the_promise() -> None:
    third = relax.const(np.float32(1 / 3), "float32")
    x = samples.var("x", (8, 8))
    module = samples.function([x], lambda bb: bb.emit(op.multiply(bb.emit(op.add(x, third)), bb.emit(op.exp(x)))))

    def distribute(name: str, args: list[Any], call: Any) -> Any:
        """(x + 1/3) * y as ((x + 1/3) - 1/3) * y + 1/3 * y: the same formula in other roundings."""
        if name != "relax.multiply":
            return None
        return op.add(op.multiply(op.subtract(args[0], third), args[1]), op.multiply(third, args[1]))

    assert numeric(module, planted(distribute), contracts=[LOOSE]).outcome is Outcome.PASS
    assert kind(numeric(module, planted(distribute), contracts=[EXACT])) == "wrong-value"


@pytest.mark.parametrize("cast", [False, True])
def test_a_decision_downstream_of_rounding_is_no_failure(cast: bool) -> None:
    """``exp(0)`` is exactly 1, so that rounding decides what its floor is; no other element is near an integer."""
    x = samples.var("x", (32, 32))

    def body(bb: Any) -> Any:
        floored = bb.emit(op.floor(bb.emit(op.exp(x))))
        return bb.emit(op.astype(floored, "int32")) if cast else floored

    def floor_of(factor: float) -> PassRef:
        def change(name: str, args: list[Any], call: Any) -> Any:
            return op.floor(op.multiply(*args, relax.const(np.float32(factor), F32))) if name == "relax.floor" else None

        return planted(change)

    module = samples.function([x], body)
    verdict = numeric(module, floor_of(1 - 2**-22), contracts=[LOOSE])
    if cast:
        assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "undecidable: decision downstream of rounding")
    else:  # the spread of the perturbed runs shows the jump
        assert verdict.outcome is Outcome.PASS
    assert kind(numeric(module, floor_of(1 - 2**-22), contracts=[EXACT])) == "wrong-value"
    # No rounding turns the floor of all these elements.
    assert kind(numeric(module, floor_of(1.5), contracts=[LOOSE])) == "wrong-value"


def test_a_decision_inside_a_kernel_is_not_decided() -> None:
    bb, x = relax.BlockBuilder(), samples.var("x")
    with bb.function("main", [x]):
        kernel = bb.emit(bb.call_te(topi.floor, x))
        bb.emit_func_output(bb.emit(op.multiply(kernel, x)))
    verdict = numeric(
        bb.finalize(),
        planted(lambda name, args, call: op.add(*args) if name == "relax.multiply" else None),
        contracts=[LOOSE],
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "undecidable: decision downstream of rounding")


def test_integers_are_exact_whatever_the_promise() -> None:
    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.add(op.add(*args), relax.const(1, "int32")) if name == "relax.add" else None

    assert kind(numeric(samples.elementwise((2, 3), "int32"), planted(change), contracts=[LOOSE])) == "wrong-value"


def test_a_dropped_output_and_another_dtype_fail() -> None:
    def to_float16(name: str, args: list[Any], call: Any) -> Any:
        return op.astype(op.multiply(*args), "float16") if name == "relax.multiply" else None

    assert kind(numeric(samples.elementwise(), planted(to_float16), contracts=[LOOSE])) == "wrong-dtype"


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_dtype_that_the_original_declares_and_does_not_return_is_not_held_against_a_pass(dtype: str) -> None:
    """TVM's own lowering makes an int64 tensor of the mean of int32."""
    bb, x = relax.BlockBuilder(), samples.var("x", (2,), "int32")
    with bb.function("main", [x]):
        mean = bb.emit(op.mean(relax.const(np.array([2, 4], "int32"))))
        bb.emit_func_output(relax.Tuple([bb.emit(op.add(x, x)), mean]))

    def fold(name: str, args: list[Any], call: Any) -> Any:
        return relax.const(np.array(3, dtype), dtype) if name == "relax.mean" else None

    found = numeric(bb.finalize(), planted(fold), contracts=[LOOSE])
    if dtype == "int32":
        assert (found.outcome, found.reason) == (
            Outcome.SKIP,
            "undecidable: original returns another dtype than it declares",
        )
    else:
        assert kind(found) == "wrong-dtype"


def test_an_output_that_does_not_build_fails() -> None:
    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.ewise_fma(*args, args[0]) if name == "relax.multiply" else None

    verdict = numeric(samples.elementwise(), planted(change), contracts=[EXACT])
    assert kind(verdict) == "does-not-build"
    assert verdict.evidence is not None
    assert "R.ewise_fma" in verdict.evidence.message


def test_an_output_that_raises_fails() -> None:
    def change(name: str, args: list[Any], call: Any) -> Any:
        missing = op.call_pure_packed("relaxfuzz.test.raises", *args, ty_args=call.ty)
        return missing if name == "relax.multiply" else None

    @tvm.register_global_func("relaxfuzz.test.raises", override=True)
    def raises(*_: Any) -> Any:
        raise ValueError("planted")

    assert kind(numeric(samples.elementwise(), planted(change), contracts=[EXACT])) == "run-error"


def test_an_input_that_is_overwritten_fails() -> None:
    @tvm.register_global_func("relaxfuzz.test.overwrites", override=True)
    def overwrites(x: Any, y: Any) -> Any:
        result = tvm.runtime.tensor(x.numpy() * y.numpy())
        y.copyfrom(np.zeros(y.shape, "float32"))
        return result

    def change(name: str, args: list[Any], call: Any) -> Any:
        return (
            op.call_pure_packed("relaxfuzz.test.overwrites", *args, ty_args=call.ty)
            if name == "relax.multiply"
            else None
        )

    verdict = numeric(samples.elementwise(), planted(change), contracts=[EXACT])
    assert kind(verdict) == "input-overwritten"
    assert verdict.shown.expected.startswith("argument 1 of main stays ")
    assert seen_line(verdict.shown).startswith("argument 1: ")


def test_an_input_that_the_program_overwrites_itself_with_what_is_there_is_not_judged() -> None:
    there: list[Any] = []

    def writing(written: Any) -> Any:
        def write(x: Any, y: Any) -> Any:
            result = tvm.runtime.tensor(x.numpy() + y.numpy())
            there.append(y.numpy().copy())
            y.copyfrom(written(there[0]))
            return result

        return write

    tvm.register_global_func("relaxfuzz.test.first", writing(lambda first: first), override=True)
    tvm.register_global_func("relaxfuzz.test.zeros", writing(np.zeros_like), override=True)

    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.call_pure_packed("relaxfuzz.test.zeros", *args[1:], ty_args=call.ty)

    bb, x, y = relax.BlockBuilder(), samples.var("x", (2,), F32), samples.var("y", (2,), F32)
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(op.call_pure_packed("relaxfuzz.test.first", x, y, ty_args=x.ty)))
    verdict = numeric(bb.finalize(), planted(change), contracts=[EXACT])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, OVERWRITES)


def test_a_constant_that_is_overwritten_fails_and_leaves_the_module_alone() -> None:
    @tvm.register_global_func("relaxfuzz.test.accumulates", override=True)
    def accumulates(x: Any, constant: Any) -> Any:
        result = tvm.runtime.tensor(x.numpy() + constant.numpy())
        constant.copyfrom(constant.numpy() + 1)
        return result

    def change(name: str, args: list[Any], call: Any) -> Any:
        return (
            op.call_pure_packed("relaxfuzz.test.accumulates", *args, ty_args=call.ty) if name == "relax.add" else None
        )

    module = samples.with_constant()
    before = tvm.ir.save_json(module)
    assert kind(numeric(module, planted(change), contracts=[EXACT])) == "second-call-differs"
    assert tvm.ir.save_json(module) == before


def test_the_guilty_pass_of_a_pipeline_is_named() -> None:
    passes = [named("CanonicalizeBindings"), planted(scaled(1.01), "guilty"), named("LegalizeOps"), named("FuseOps")]
    verdict = numeric(samples.reduction(), *passes)
    assert kind(verdict) == "wrong-value"
    assert verdict.culprit == "guilty"


def test_nothing_changed_is_no_evidence() -> None:
    verdict = numeric(samples.elementwise(), named("CanonicalizeBindings"))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "pass changed nothing")


def of_unknown_shape(change: Any) -> Verdict:
    """The verdict on an addition that no build takes: the shape of its operand is unknown."""
    x = samples.var("x")

    def body(builder: Any) -> Any:
        vague = builder.match_cast(x, relax.TensorType(dtype=F32, ndim=2))
        return builder.match_cast(builder.emit(op.add(vague, vague)), x.ty)

    return numeric(samples.function([x], body), planted(change), contracts=[LOOSE])


def test_what_does_not_build_is_compared_by_proof_or_interpreter() -> None:
    def times(factor: float) -> Any:
        two = relax.const(np.float32(factor), F32)
        return lambda name, args, call: op.multiply(args[0], two) if name == "relax.add" else None

    def turned(name: str, args: list[Any], call: Any) -> Any:
        return op.negative(op.subtract(op.negative(args[0]), args[1])) if name == "relax.add" else None

    for right in (times(2.0), turned):
        verdict = of_unknown_shape(right)
        assert verdict.outcome is Outcome.PASS, verdict
        assert verdict.reason in ("proved", "interpreted")
    wrong = of_unknown_shape(times(3.0))  # no script could show it, since a script builds the module
    assert (wrong.outcome, wrong.reason) == (Outcome.SKIP, "original does not build")


def test_what_never_executes_is_proved_at_best_and_fails_in_the_stock_pipelines() -> None:
    x = samples.var("x")
    module = samples.function([x], lambda bb: bb.emit(op.ewise_fma(bb.emit(op.add(x, x)), x, x)))
    verdict = numeric(module, named("LegalizeOps"))
    assert (verdict.outcome, verdict.reason) == (Outcome.PASS, "proved")
    stock = numeric(module, PassRef("build:default", 'relax.get_pipeline("default_build")'))
    assert kind(stock) == "does-not-build"
    assert stock.culprit == "build:default"
    assert stock.evidence is not None
    assert "R.ewise_fma" in stock.evidence.message


def test_what_its_legalization_gives_back_is_no_fault_of_a_stock_pipeline() -> None:
    x = samples.var("x", (1, 3, 8, 8))
    module = samples.function([x], lambda bb: bb.emit(op.nn.max_pool2d(x, out_layout="NHWC")))
    verdict = numeric(module, PassRef("build:default", 'relax.get_pipeline("default_build")'))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "an operator's legalization declines")


def test_what_the_given_module_leaves_unknown_is_a_question() -> None:
    """acos was said not to build "as it does before", which it never did: LegalizeOps documents that."""
    vague = relax.Var("x", relax.TensorType(dtype=F32, ndim=1))
    verdict = numeric(samples.function([vague], lambda bb: bb.emit(op.acos(vague))), PassRef("build:default", DEFAULT))
    assert verdict.evidence is not None
    assert (verdict.outcome, verdict.evidence.expected) == (Outcome.FAIL, "the module builds")
    assert verdict.evidence.details.rests_on is EvidenceClass.OURS


def test_a_pass_that_makes_shapes_unknown_is_at_fault() -> None:
    x = samples.var("x")
    module = samples.function([x], lambda bb: bb.emit(op.acos(x)))

    def forget(module: Any) -> Any:
        y = relax.Var("x", x.ty)
        return samples.function([y], lambda bb: bb.emit(op.acos(bb.match_cast(y, relax.TensorType(dtype=F32, ndim=2)))))

    forgets = GivenPass("forgets", "<forgets>", tvm.transform.module_pass(lambda m, _: forget(m), opt_level=0))
    verdict = numeric(module, forgets, contracts=[EXACT])
    assert kind(verdict) == "does-not-build"
    assert verdict.evidence.details.rests_on is None


DEFAULT = 'relax.get_pipeline("default_build")'
STOCK = {"build:default": 'relax.get_pipeline("default_build")', "build:zero": 'relax.get_pipeline("zero")',
         "build:cpu": 'relax.get_default_pipeline(tvm.target.Target("llvm"))'}  # fmt: skip


@pytest.mark.parametrize("name", STOCK)
@pytest.mark.parametrize("module", [samples.elementwise, samples.reduction, samples.symbolic, samples.weighted])
def test_stock_pipelines_agree_with_the_reference(name: str, module: Any) -> None:
    assert numeric(module(), PassRef(name, STOCK[name])).outcome is Outcome.PASS


def test_bound_dims_are_given_to_the_original() -> None:
    verdict = numeric(samples.symbolic(), named("BindSymbolicVars", '{"n": 3, "m": 2}'))
    assert verdict.outcome is Outcome.PASS


def test_in_place_calls_overwrite_a_constant() -> None:
    """A defect of TVM 0.27: DataflowUseInplaceCalls lets a kernel write its result into a constant."""
    verdict = numeric(sample_modules.MODULES["duplicates"](), named("DataflowUseInplaceCalls"))
    assert kind(verdict) == "second-call-differs"


def test_the_original_is_built_once_for_all_passes_on_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    from relaxkit.runtime import Session

    built: list[Any] = []
    build = Session.build

    def counting(self: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        built.append(module)
        return build(self, module, *args, **kwargs)

    monkeypatch.setattr(Session, "build", counting)
    facts = ModuleFacts(samples.reduction())
    for name in ("LegalizeOps", "ToNonDataflow", "ConvertToDataflow"):
        numeric(facts.module, named(name), seed=5, facts=facts)
    originals = [module for module in built if tvm.ir.save_json(module) == facts.snapshot]
    assert len(originals) == 1


def product_of_unknown_size() -> Any:
    x, y = relax.Var("x", relax.TensorType((tirx.Var("k", "int64"),), F32)), samples.var("y", (2,))
    return samples.function([x, y], lambda bb: bb.emit(op.matmul(x, y)))


def test_operands_that_types_cannot_say_to_fit_have_no_defined_result() -> None:
    """6be512b32f: what a product of three numbers and two reads is up to the heap."""
    module = product_of_unknown_size()
    drawn = {seed: materialize(module, "main", seed)[0].shape for seed in range(20)}
    for size, outcome in ((1, Outcome.SKIP), (2, Outcome.FAIL)):
        seed = next(seed for seed, shape in drawn.items() if shape == (size,))
        assert numeric(module, planted(scaled(1.01)), seed=seed, contracts=[LOOSE]).outcome is outcome


def test_operands_that_do_not_fit_on_other_dims_are_no_evidence() -> None:
    def change(name: str, args: list[Any], call: Any) -> Any:
        """The product, and what is missing to two elements."""
        if name != "relax.matmul":
            return None
        size = op.sum(op.ones(args[0].ty.shape, F32))
        return op.add(op.matmul(*args), op.subtract(size, relax.const(2.0, F32)))

    module, other = product_of_unknown_size(), Variation.OTHER_DIMS
    sizes = {
        seed: [len(materialize(module, "main", seed, Given(), each)[0]) for each in (Variation.DEFAULT, other)]
        for seed in range(300)
        if other in drawn_variations(seed)
    }
    seed = next(seed for seed, each in sizes.items() if each == [2, 1])
    assert numeric(module, planted(change), seed=seed, contracts=[LOOSE]).outcome is Outcome.PASS


def test_a_module_without_a_public_function_is_skipped() -> None:
    module = samples.elementwise()
    private = tvm.IRModule({"main": module["main"].without_attr("global_symbol")})
    verdict = numeric(private, planted(scaled(2.0)), contracts=[EXACT])
    assert verdict.outcome is Outcome.SKIP


def test_breadcrumbs_name_the_pass_under_judgement() -> None:
    crumbs: list[str] = []
    numeric(samples.elementwise(), named("LegalizeOps"), stage=lambda text: crumbs.append(Breadcrumb.read(text).title))
    assert "numeric run main bytecode: LegalizeOps" in crumbs
    assert any(crumb.startswith("numeric run original main: ") for crumb in crumbs)


def test_in_place_calls_of_the_input_are_not_held_against_a_pass() -> None:
    """The operator is documented as unsafe to use directly: here the two sums are one, and it is overwritten."""
    module = sample_modules.MODULES["duplicates"]()
    with_in_place = relax.transform.DataflowUseInplaceCalls()(module)
    assert "relax.call_tir_inplace" in tvm.ir.save_json(with_in_place)
    verdict = numeric(with_in_place, planted(lambda name, args, call: op.add(args[0], args[0])), contracts=[EXACT])
    assert verdict.outcome is Outcome.SKIP
