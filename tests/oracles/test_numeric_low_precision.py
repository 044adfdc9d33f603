"""The numeric oracle on bfloat16, which it judges by stochastic arithmetic, and float8, which it judges bit by bit."""

from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
from tvm import relax

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Undecided, Verdict
from oracles.judge import judge
from oracles.measure.inputs import materialize
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise, OracleName
from relaxkit.passes.contracts.pipelines import PIPELINES
from relaxkit.passes.pass_ref import GivenPass, PassRef

op = relax.op
LOW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
EXACT = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT)
LOOSE = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.REASSOCIATION)


def judged(dtype: str, change: Any, contract: Contract) -> Verdict:
    ref = GivenPass("planted", "<planted>", samples.rewriting("planted", change))
    subject = Subject(samples.elementwise((4, 5), dtype), [ref], contracts=[contract])
    (verdict,) = judge(subject, [OracleName.NUMERIC])
    return verdict


def scaled(dtype: str, factor: float) -> Any:
    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.multiply(op.add(*args), relax.const(factor, dtype)) if name == "relax.add" else None

    return change


@pytest.mark.parametrize("dtype", LOW)
def test_inputs_are_of_the_dtype_and_in_the_default_domain(dtype: str) -> None:
    array, _ = materialize(samples.elementwise((4, 5), dtype), "main", 3)
    assert str(array.dtype) == dtype
    assert np.abs(array.astype("float64")).max() <= 2.0


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("contract", [EXACT, LOOSE])
def test_the_same_program_passes(dtype: str, contract: Contract) -> None:
    assert judged(dtype, scaled(dtype, 1.0), contract).outcome is Outcome.PASS


@pytest.mark.parametrize("dtype", LOW)
def test_a_wrong_program_fails_where_the_promise_is_exact(dtype: str) -> None:
    assert judged(dtype, scaled(dtype, 1.5), EXACT).outcome is Outcome.FAIL


def test_a_program_far_off_fails_in_bfloat16_under_a_loose_promise() -> None:
    assert judged("bfloat16", scaled("bfloat16", 1.5), LOOSE).outcome is Outcome.FAIL


def test_one_rounding_is_granted_in_bfloat16_under_a_loose_promise() -> None:
    assert judged("bfloat16", scaled("bfloat16", 1 + 2.0**-7), LOOSE).outcome is Outcome.PASS


@pytest.mark.parametrize("dtype", LOW[1:])
def test_a_loose_promise_is_no_measure_for_float8(dtype: str) -> None:
    verdict = judged(dtype, scaled(dtype, 1.5), LOOSE)
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, Undecided.NO_SMALL_ROUNDINGS)


@pytest.mark.parametrize("name", ["FuseTIR", "build:zero", "build:cpu"])
def test_what_is_handed_over_within_a_kernel_is_not_rounded(name: str) -> None:
    """TVM promotes "internal temporaries" of bfloat16 and float8, so that FuseTIR was blamed for a lost rounding."""

    def there_and_back(dtype: str) -> Any:
        x = samples.var("x", (4, 5), "float32")

        def body(bb: Any) -> Any:
            with bb.dataflow():
                normal = bb.emit(op.add(bb.emit(op.multiply(x, x)), relax.const(1, "float32")))
                low = bb.emit(op.astype(normal, dtype))
                return bb.emit_output(op.astype(low, "float32"))

        return samples.function([x], body)

    expression = PIPELINES.get(name, "relax.transform.FuseTIR()")
    verdicts = {}
    for dtype in LOW[:2]:
        (verdict,) = judge(Subject(there_and_back(dtype), [PassRef(name, expression)]), [OracleName.NUMERIC])
        verdicts[dtype] = (verdict.outcome, verdict.reason)
    assert verdicts == {
        "bfloat16": (Outcome.PASS, "executed"),
        "float8_e4m3fn": (Outcome.SKIP, Undecided.NO_SMALL_ROUNDINGS),
    }
