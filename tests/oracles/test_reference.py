"""The second witness: what the distance of two programs from float64 says of their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
import tvm
from tvm import relax, topi

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Undecided, Verdict
from oracles.judge import judge
from oracles.measure.comparison import compare
from oracles.measure.float64 import Settled, float64_run, settle
from oracles.measure.original import Original
from oracles.measure.tolerance import EPSILON, Measured, Unit
from relaxkit.ir.domain import Given
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise, OracleName
from relaxkit.passes.pass_ref import GivenPass
from relaxkit.runtime.perturb import smallest_subnormal

op = relax.op
LOOSE = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.REASSOCIATION)
U = EPSILON["float32"]


def f32(*values: float) -> Any:
    return np.asarray(values, "float32")


def measured(runs: Sequence[Any], elements: int = 1, dtype: str = "float32") -> Measured:
    return Measured(tuple(runs), Unit(EPSILON[dtype], smallest_subnormal(dtype)), elements, 1.0, 1.0)


def settled(truth: Sequence[float], expected: Any, observed: Any, spread: float = 0.0) -> Settled:
    return settle(np.asarray(truth, "float64"), measured([expected + np.float32(spread)]), expected, observed)


def accepted(found: Settled, expected: Any) -> list[bool]:
    assert isinstance(found.output, np.ndarray)
    return [bool(each) for each in found.output == expected]


def test_the_bound_is_three_times_the_errors_of_the_original_and_of_one_rounding() -> None:
    """Without a reduction C is 6 (N is 1) and K is 3; S is 12 u, which explains none of these."""
    expected = f32(1.0, 1.0, 1.0, 1.0)
    observed = expected + f32(24 * U, 24 * U, 14 * U, 14 * U)
    # Errors of the original by these truths: 8 u, 6 u, 4 u and 1 u; of the other program 16 u, 30 u, 10 u and 13 u.
    found = settled([1 + 8 * U, 1 - 6 * U, 1 + 4 * U, 1 + 1 * U], expected, observed, spread=U)
    assert accepted(found, expected) == [True, False, True, False]
    assert not found.doubtful


def test_what_the_perturbed_runs_explain_is_left_as_it_is() -> None:
    expected, observed = f32(1.0), f32(1.0 + 10 * U)
    found = settled([1.0], expected, observed, spread=U)
    assert compare(observed, found.output) is None
    assert not found.doubtful


def test_where_the_original_is_off_by_more_than_its_roundings_nothing_is_said() -> None:
    expected, observed = f32(1.0), f32(1.5)
    found = settled([1.4], expected, observed)
    assert accepted(found, expected) == [True]
    assert found.doubtful


def test_beyond_its_multiple_it_is_wrong_all_the_same() -> None:
    expected, observed = f32(1.0), f32(3.0)
    found = settled([1.4], expected, observed)
    assert accepted(found, expected) == [False]
    assert not found.doubtful


@pytest.mark.parametrize("left", [np.inf, -np.inf, np.nan])
def test_an_original_that_overflows_decides_nothing(left: float) -> None:
    expected = f32(left)
    assert settled([2.0], expected, f32(2.0)).doubtful
    assert settled([2.0], expected, f32(-np.inf if left > 0 else np.inf)).doubtful


@pytest.mark.parametrize("right", [np.inf, np.nan])
def test_a_program_that_overflows_where_the_original_does_not_is_wrong(right: float) -> None:
    found = settled([2.0], f32(2.0), f32(right))
    assert not found.doubtful
    assert isinstance(found.output, np.ndarray)
    assert not np.isfinite(found.output[0])


def test_a_value_that_is_truly_infinite_is_not_excused() -> None:
    expected = f32(np.inf)
    assert accepted(settled([np.inf], expected, f32(1.0)), expected) == [False]


def test_fields_of_tuples_are_settled_one_by_one_and_integers_never() -> None:
    expected = (f32(1.0), np.asarray([3]), (f32(2.0),))
    observed = (f32(1.0 + 20 * U), np.asarray([4]), (f32(2.5),))
    truth = (np.asarray([1.0 + 8 * U]), np.asarray([4]), (np.asarray([2.0]),))
    found = settle(truth, measured([(f32(1.0 + 1 * U), np.asarray([3]), (f32(2.0),))]), expected, observed)
    assert compare((expected[0], observed[1], observed[2]), found.output) is None


def test_without_a_truth_nothing_is_accepted() -> None:
    expected, observed = f32(1.0), f32(1.0 + 2 * U)
    assert settle(None, measured([expected]), expected, observed).output is observed
    wide = np.asarray([1.0]), np.asarray([1.1])
    assert settle(np.asarray([1.1]), measured([wide[0]], dtype="float64"), *wide).output is wide[1]


def test_the_truth_is_the_float64_result_of_the_public_function() -> None:
    x, w = (
        np.linspace(-1, 1, 256, dtype="float32").reshape(4, 64),
        np.linspace(1, 2, 256, dtype="float32").reshape(64, 4),
    )
    product = x.astype("float64") @ w.astype("float64")
    expected = np.exp(np.tanh(product - product.mean(axis=1, keepdims=True))).sum(axis=0)
    truth = float64_run(samples.reduction(), "main", [x, w])
    assert isinstance(truth, np.ndarray)
    np.testing.assert_allclose(truth, expected, rtol=1e-12)


def test_there_is_no_truth_of_an_unknown_function_or_of_a_kernel() -> None:
    bb, x = relax.BlockBuilder(), samples.var("x", (2, 3))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(bb.call_te(topi.exp, x)))
    array = np.ones((2, 3), "float32")
    assert float64_run(bb.finalize(), "main", [array]) is None
    assert float64_run(samples.elementwise(), "other", [array, array]) is None


def test_an_original_computes_its_truth_once_and_from_what_it_was_before_preparation() -> None:
    module = samples.reduction(8)
    lowered = relax.transform.LegalizeOps()(module)
    asked: list[int] = []

    def source() -> tuple[Any, str]:
        asked.append(1)
        return module, ""

    original = Original(lowered, str(tvm.ir.save_json(lowered)), 0, Given(), source=source)
    (entry,) = original.entries
    asked.clear()
    truth = original.truth(entry)
    assert isinstance(truth, np.ndarray)
    assert original.truth(entry) is truth
    np.testing.assert_allclose(truth, entry.output, rtol=1e-5)
    assert len(asked) == 1


def cancelling() -> Any:
    """The variance of large numbers that are nearly equal, computed as E[x^2] - E[x]^2."""
    x = samples.var("x", (4, 16))

    def body(bb: Any) -> Any:
        shifted = bb.emit(op.add(x, relax.const(np.float32(4096.0), "float32")))
        return bb.emit(op.variance(shifted, axis=[1]))

    return samples.function([x], body)


def judged(module: Any, change: Any) -> Verdict:
    ref = GivenPass("planted", "<planted>", samples.rewriting("planted", change))
    (verdict,) = judge(Subject(module, [ref], contracts=[LOOSE]), [OracleName.NUMERIC])
    return verdict


def test_a_reassociated_program_passes_and_a_wrong_one_fails() -> None:
    def halves(name: str, args: list[Any], call: Any) -> Any:
        if name != "relax.sum":
            return None
        parts = [op.sum(op.strided_slice(args[0], [0], [at], [at + 2]), axis=[0]) for at in (2, 0)]
        return op.add(*parts)

    def wrong(name: str, args: list[Any], call: Any) -> Any:
        return (
            op.multiply(op.sum(args[0], axis=[0]), relax.const(np.float32(1.01), "float32"))
            if name == "relax.sum"
            else None
        )

    assert judged(samples.reduction(), halves).outcome is Outcome.PASS
    assert judged(samples.reduction(), wrong).outcome is Outcome.FAIL


def test_what_cancels_inside_is_passed_or_undecidable_and_never_reported() -> None:
    def two_passes(name: str, args: list[Any], call: Any) -> Any:
        if name != "relax.variance":
            return None
        distance = op.subtract(args[0], op.mean(args[0], axis=[1], keepdims=True))
        return op.mean(op.multiply(distance, distance), axis=[1])

    verdict = judged(cancelling(), two_passes)
    assert (verdict.outcome, verdict.reason) in ((Outcome.PASS, "executed"), (Outcome.SKIP, Undecided.ORIGINAL_AS_FAR))
