"""Interpretation of a module before and after a pass, and what the numeric oracle makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numeric_samples as samples
import pytest
from tvm import relax

from oracles.core.subject import Subject
from oracles.core.verdict import Agreement, Evidence, Outcome
from oracles.measure.interpret import Interpreted, compare_interpreted, interpretable
from oracles.numeric import oracle as numeric
from oracles.numeric.compare_programs import NOT_DEFINED, Finding
from relaxkit.ir.domain import Given
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef, Step
from relaxkit.proof import Proof, Result

op = relax.op


def ternary(formula: Callable[..., Any]) -> Any:
    x, y, z = (samples.var(name) for name in "xyz")
    return samples.function([x, y, z], lambda bb: formula(bb, x, y, z))


def left_first(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return bb.emit(op.add(bb.emit(op.add(x, y)), z))


def right_first(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return bb.emit(op.add(x, bb.emit(op.add(y, z))))


def scaled_left(bb: Any, x: Any, y: Any, z: Any) -> Any:
    third = relax.const(1 / 3, "float32")
    return bb.emit(op.multiply(bb.emit(op.multiply(third, x)), bb.emit(op.add(y, z))))


def scaled_right(bb: Any, x: Any, y: Any, z: Any) -> Any:
    third = relax.const(1 / 3, "float32")
    return bb.emit(op.multiply(x, bb.emit(op.multiply(third, bb.emit(op.add(y, z))))))


def other(bb: Any, x: Any, y: Any, z: Any) -> Any:
    return bb.emit(op.add(x, bb.emit(op.subtract(y, z))))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (left_first, left_first, Interpreted.EQUAL),
        (scaled_left, scaled_right, Interpreted.NEAR),
        (left_first, other, Interpreted.DIFFERENT),
    ],
)
def test_what_two_formulas_are(before: Any, after: Any, said: Interpreted) -> None:
    assert compare_interpreted(ternary(before), ternary(after), 1, Given()) is said


def test_sums_of_exact_numbers_are_equal_in_any_order() -> None:
    # Arguments are multiples of 2 ** -6 in [-2, 2]: their sums are exact.
    assert compare_interpreted(ternary(left_first), ternary(right_first), 1, Given()) is Interpreted.EQUAL


def test_a_function_that_is_gone_is_unknown() -> None:
    module = ternary(left_first)
    renamed = samples.function([samples.var("x")], lambda bb: bb.emit(op.abs(samples.var("x"))))
    gone = type(module)({gv: f for gv, f in renamed.functions_items() if gv.name_hint == "absent"})
    assert compare_interpreted(module, gone, 1, Given()) is Interpreted.UNKNOWN


def test_functions_as_results_are_not_taken_for_equal() -> None:
    """One function object may be in both modules, with arrays in what it has captured."""
    bb, x, other = relax.BlockBuilder(), samples.var("x"), samples.var("other")
    with bb.function("main", [x]):
        y = bb.emit(op.add(x, x))
        inner = relax.Function([other], relax.SeqExpr([], op.add(other, y)), x.ty)
        bb.emit_func_output(bb.emit(inner))
    module = bb.get()
    assert compare_interpreted(module, module, 1, Given()) is Interpreted.DIFFERENT


def test_lowered_and_adapted_programs_are_for_the_virtual_machine() -> None:
    def steps(*names: str) -> list[Step]:
        refs = [PassRef(name, f"relax.transform.{name}()") for name in names]
        return [Step(ref, contract_for(ref)) for ref in refs]

    assert interpretable(steps("CanonicalizeBindings", "DeadCodeElimination"), adapted=False)
    assert not interpretable(steps("CanonicalizeBindings"), adapted=True)
    assert not interpretable(steps("LegalizeOps"), adapted=False)


@pytest.mark.parametrize(("proved", "share"), [(False, numeric.EXECUTED_SHARE), (True, numeric.PROVED_SHARE)])
def test_what_is_proved_or_interpreted_need_not_be_built(
    proved: bool, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = PassRef("CanonicalizeBindings", "relax.transform.CanonicalizeBindings()")
    x = samples.var("x")

    def aliased(bb: Any) -> Any:
        with bb.dataflow():
            again = bb.emit(x)
            return bb.emit_output(op.add(again, x))

    module = samples.function([x], aliased)

    def unbuilt(*_: Any) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(numeric, "examine", unbuilt)
    if not proved:
        monkeypatch.setattr(numeric, "_proof", lambda *_: Proof(Result.OPEN))
    outcomes = {}
    for seed in range(1, 40):
        subject = Subject(module, [ref], input_seed=seed, sampled=True)
        if not numeric._executed(subject, share):
            outcomes[seed] = numeric.judge_numeric(subject)
    reached = Agreement.PROVED if proved else Agreement.INTERPRETED
    assert {(said.outcome, said.reason) for said in outcomes.values()} == {(Outcome.PASS, reached.value)}
    assert (30 if proved else 15) < len(outcomes) < (39 if proved else 35)
    assert numeric._executed(Subject(module, [ref], input_seed=min(outcomes)), share)


def test_an_execution_says_whether_the_results_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    x = samples.var("x")
    module = samples.function([x], lambda bb: bb.emit(op.add(op.add(x, x), x)))
    ref = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    assert numeric.judge_numeric(Subject(module, [ref], input_seed=1)).reason == Agreement.PROVED.value
    monkeypatch.setattr(numeric, "_proof", lambda *_: Proof(Result.OPEN))
    assert numeric.judge_numeric(Subject(module, [ref], input_seed=1)).reason == Agreement.EXECUTED.value


def layer_norm_without_shift() -> Any:
    """Legalization adds the shift although ``center=False``; decomposed by a pass, it is left out."""
    x, scale, shift = samples.var("x", (2, 4)), samples.var("scale", (4,)), samples.var("shift", (4,))

    def body(bb: Any) -> Any:
        with bb.dataflow():
            return bb.emit_output(op.nn.layer_norm(x, scale, shift, axes=[1], center=False))

    return relax.transform.AttachGlobalSymbol()(samples.function([x, scale, shift], body))


DECOMPOSE = PassRef("DecomposeOpsForTraining", 'relax.transform.DecomposeOpsForTraining("main")')


def test_a_pass_is_not_to_blame_where_the_original_is_wrong() -> None:
    verdict = numeric.judge_numeric(Subject(layer_norm_without_shift(), [DECOMPOSE], input_seed=0))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "undecidable: original is as far from float64")


def test_legalization_is_to_blame_where_both_modules_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Evidence("wrong-value", "results differ (bit-exact, integers)")
    monkeypatch.setattr(numeric, "examine", lambda *_: Finding(wrong))
    verdict = numeric.judge_numeric(Subject(layer_norm_without_shift(), [DECOMPOSE], input_seed=0))
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, numeric.LEGALIZATION)


def test_a_module_without_a_defined_result_is_only_built() -> None:
    x = samples.var("x")
    module = samples.function([x], lambda bb: bb.emit(op.add(x, x)))
    ref = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    verdict = numeric.judge_numeric(Subject(module, [ref], defined=False))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, NOT_DEFINED)
