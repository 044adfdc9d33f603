"""The numeric oracle takes nothing as proved that holds on a branch only, of another type, or in other memory."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

from oracles.core.subject import Subject
from oracles.core.verdict import Agreement, Outcome, Verdict
from oracles.numeric import oracle as numeric
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import GivenPass, PassRef

REF = PassRef("CanonicalizeBindings", "relax.transform.CanonicalizeBindings()")
UNKNOWN, NARROW, VECTOR = 'R.Tensor("float32", ndim=2)', 'R.Tensor((2, 3), "float32")', 'R.Tensor((2,), "float32")'
ON_A_BRANCH = f"""
@R.function(private=True)
def g(y: {NARROW}) -> {NARROW}:
    return R.add(y, y)
@R.function
def main(x: {UNKNOWN}, c: R.Tensor((), "bool")):
    cls = Module
    if c:
        CHECKED
        r: {UNKNOWN} = b
    else:
        r: {UNKNOWN} = x
    s: R.Shape(ndim=2) = PART
    return s
"""
CAST = ON_A_BRANCH.replace("CHECKED", f"a = R.match_cast(x, {NARROW})\n        b = R.match_cast(x, {NARROW})")
CALL = ON_A_BRANCH.replace("CHECKED", f"b: {NARROW} = cls.g(x)")
SHAPES = ("R.shape_of(x)", "R.shape([2, 3])")
PARAMETER = "@R.function\ndef main(x: PART):\n    return x"
PACKED = f'@R.function(pure=False)\ndef main(x: {VECTOR}):\n    y = R.call_packed("f", x, PART, ty_args={VECTOR})\n'
PACKED += "    return y"
KERNELS = f"""
@T.prim_func(private=True)
def across(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        a[i] = a[i] + b[1 - i]
@T.prim_func(private=True)
def here(a: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        a[i] = a[i] * T.float32(3)
@T.prim_func(private=True)
def thrice(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        b[i] = a[i] * T.float32(3)
@R.function
def main(x: {VECTOR}):
    cls = Module
    a = R.add(x, x)
    b = R.add(x, x)
    r = R.PART, out_ty={VECTOR})
    s = R.add(b, r)
    return s
"""
ACROSS = "call_tir_inplace(cls.across, ({}), inplace_indices=[0]"
EQUAL_TERMS = ("call_tir(cls.thrice, (a,)", "call_tir_inplace(cls.here, (a,), inplace_indices=[0]")


def judged(text: str, before: str, after: str, seed: int = 1, sampled: bool = True) -> Verdict:
    head = "@I.ir_module\nclass Module:\n"
    given, output = (
        tvm.script.from_source(head + "\n".join("    " + line for line in text.replace("PART", part).splitlines()))
        for part in (before, after)
    )

    @tvm.transform.module_pass(opt_level=0, name=REF.name)
    def changed(_module: Any, _context: Any) -> Any:
        return output

    ref = GivenPass(REF.name, REF.expression, changed)
    return numeric.judge_numeric(Subject(given, [ref], [contract_for(REF)], input_seed=seed, sampled=sampled))


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (CAST, *SHAPES),
        (CALL, *SHAPES),
        (PARAMETER, UNKNOWN, NARROW),
        (PACKED, 'R.str("float32")', 'R.dtype("float32")'),
        (PACKED, "R.prim_value(1)", "R.prim_value(True)"),
        (KERNELS.replace("add(b, r)", "exp(r)"), ACROSS.format("a, b"), ACROSS.format("a, a")),
    ],
    ids=["a cast twice", "a callee", "a parameter", "a dtype", "a truth", "one tensor twice"],
)
def test_what_differs_is_not_proved(text: str, before: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric, "_executed", lambda *_: False)
    assert judged(text, before, after).reason != Agreement.PROVED.value


def test_what_a_callee_checks_on_a_branch_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric, "_executed", lambda *_: False)
    assert Outcome.FAIL in {judged(CALL, *SHAPES, seed).outcome for seed in range(1, 9)}


def test_tensors_of_equal_terms_are_no_finding() -> None:
    assert judged(KERNELS, *EQUAL_TERMS, sampled=False).outcome is Outcome.PASS
