"""What the numeric oracle sees only by further calls: each kind of it, and that the clean twin has none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numeric_samples as samples
import pytest
import tvm
from tvm import relax, tirx

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.judge import judge
from oracles.numeric.compare_programs import UNCLEAN
from relaxkit.passes.contract import Contract, Idempotence, NumericPromise, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import USER_PREFIX, GivenPass, PassRef

AGAIN = Path(__file__).resolve().parents[1] / "planted" / "again.py"
EXACT = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT)
op = relax.op


def numeric(module: Any, ref: PassRef, seed: int = 0, contract: Contract | None = None) -> Verdict:
    subject = Subject(module, [ref], [contract or contract_for(ref)], input_seed=seed)
    (verdict,) = judge(subject, [OracleName.NUMERIC])
    return verdict


def again(name: str) -> PassRef:
    return PassRef(name, f"{USER_PREFIX}{AGAIN}:{name}")


def total() -> Any:
    n = tirx.Var("n", "int64")
    x, y = (relax.Var(name, relax.TensorType((n, 3, 4), "float32")) for name in "xy")
    return samples.function([x, y], lambda bb: bb.emit(op.add(x, y)))


def found(name: str, module: Any, seeds: int = 12) -> Verdict:
    """The first failure with a seed of inputs; the twin passes with each of them."""
    first = None
    for seed in range(seeds):
        assert numeric(module, again(f"{name}_clean"), seed).outcome is Outcome.PASS
        verdict = numeric(module, again(name), seed)
        if verdict.outcome is Outcome.FAIL and first is None:
            first = verdict
    assert first is not None
    assert first.culprit == name
    return first


@pytest.mark.parametrize(
    ("name", "kind", "title"),
    [
        ("memo_by_shape", "wrong-value", "main returns"),
        ("one_buffer", "output-overwritten", "main returns"),
        ("reads_garbage", "uninitialized-read", "main returns"),
        ("halves_first", "wrong-value", "main returns"),
    ],
)
def test_each_is_found_by_its_kind(name: str, kind: str, title: str) -> None:
    evidence = found(name, total(), 4).evidence
    assert evidence is not None
    assert evidence.kind == kind
    assert evidence.expected.startswith(title)


def test_special_values_have_a_message_of_their_own() -> None:
    evidence = found("adds_nothing", total(), 2).evidence
    assert evidence is not None
    assert evidence.message == "results differ (bit-exact, infinities)"


def test_special_values_are_for_those_who_promise_exact_bits() -> None:
    loose = Contract("planted", idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.REASSOCIATION)
    assert numeric(total(), again("adds_nothing"), 0, loose).outcome is Outcome.PASS


def test_empty_tensors_are_tried() -> None:
    evidence = found("greatest_of_none", total(), 24).evidence
    assert evidence is not None
    expected = "main returns normally for empty dims, as it did before the pass"
    assert (evidence.kind, evidence.expected) == ("run-error", expected)


def counting(wrong_after: int) -> Any:
    """A sum that is wrong in a shape that it comes back to, once it was computed in more than so many."""
    import numpy as np
    import tvm

    shapes: list[Any] = []

    @tvm.register_global_func("relaxfuzz.test.counting", override=True)
    def add(x: Any, y: Any) -> Any:
        back = x.shape in shapes and shapes[-1] != x.shape and len(set(shapes)) > wrong_after
        shapes.append(x.shape)
        with np.errstate(all="ignore"):
            return tvm.runtime.tensor(np.asarray(x.numpy() + y.numpy() + np.float32(back)))

    def change(name: str, args: list[Any], call: Any) -> Any:
        return op.call_pure_packed("relaxfuzz.test.counting", *args, ty_args=call.ty) if name == "relax.add" else None

    return GivenPass("counting", "<counting>", samples.rewriting("counting", change))


def test_a_call_that_is_wrong_after_other_shapes() -> None:
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 3), "float32"))
    module = samples.function([x], lambda bb: bb.emit(op.add(x, x)))
    kinds = set()
    for seed in range(1, 9):
        verdict = numeric(module, counting(1), seed, EXACT)
        if verdict.evidence is not None:
            kinds.add(verdict.evidence.kind)
        assert numeric(module, counting(sys.maxsize), seed, EXACT).outcome is Outcome.PASS
    assert "later-call-differs" in kinds


def raising(value_of: Any) -> Any:
    """Raises, with a number that is read from memory that nobody has written."""
    import tvm

    @tvm.register_global_func("relaxfuzz.test.raising", override=True)
    def check(garbage: Any, x: Any) -> Any:
        raise ValueError(f"dim is {value_of(int(garbage.numpy()[0]))}")

    def change(name: str, args: list[Any], call: Any) -> Any:
        garbage = op.builtin.alloc_tensor(relax.ShapeExpr([1]), "int64", 0)
        packed = op.call_pure_packed("relaxfuzz.test.raising", garbage, args[0], ty_args=call.ty)
        return packed if name == "relax.add" else None

    return GivenPass("raising", "<raising>", samples.rewriting("raising", change))


@pytest.mark.parametrize("seed", range(3))
def test_what_is_raised_by_what_was_in_memory_is_a_read_of_it(seed: int) -> None:
    """b4afb55720: in the next process, where memory holds something else, the call may well not raise."""
    evidence = numeric(total(), raising(lambda value: value), seed, EXACT).evidence
    assert evidence is not None
    assert evidence.kind == "uninitialized-read"
    evidence = numeric(total(), raising(lambda _: 7), seed, EXACT).evidence
    assert evidence is not None
    assert evidence.kind == "run-error"


def added_to(written: str) -> Any:
    """``x`` plus the output of a kernel that does ``written`` for each element ``at`` of its buffer ``out``."""
    text = f"""
@T.prim_func(private=True, s_tir=True)
def kernel(out: T.Buffer((T.int64(3),), "float32")):
    for i in range(3):
        with T.sblock("out"):
            at = T.axis.spatial(3, i)
            {written}
"""
    try:
        kernel = tvm.script.from_source(text)
    except Exception:  # the older releases' spelling
        kernel = tvm.script.from_source(text.replace("sblock", "block").replace(", s_tir=True", ""))
    builder = relax.BlockBuilder()
    var = builder.add_func(kernel, "kernel")
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.add(x, builder.emit(relax.call_tir(var, relax.Tuple([]), x.ty)))))
    return builder.get()


def test_no_pass_is_blamed_where_the_original_reads_what_nobody_has_written() -> None:
    """A sum over nothing on TVM 0.25: six passes one after another had a wrong value that no fresh process had."""

    def change(name: str, args: list[Any], _: Any) -> Any:
        return args[0] if name == "relax.add" else None

    wrong = GivenPass("wrong", "<wrong>", samples.rewriting("wrong", change))
    assert numeric(added_to("out[at] = T.float32(1)"), wrong, 0, EXACT).outcome is Outcome.FAIL
    verdict = numeric(added_to("T.evaluate(out[at])"), wrong, 0, EXACT)
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, UNCLEAN)


def test_an_error_of_ours_in_a_comparison_is_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """331169b280: what raised while a tolerance was measured counted as a call that raises."""

    def ours(*_: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr("oracles.numeric.repeated_calls.compare_function", ours)
    verdict = numeric(total(), again("halves_first_clean"))
    assert (verdict.outcome, verdict.reason) == (Outcome.INVALID, "harness error: RuntimeError: ours")
