"""Calls whose results nobody uses: a pass may drop them, and may add only those that cannot fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from proof_mutations import MUTATIONS, Draft

from relaxkit.ir.lowered import is_harmless
from relaxkit.proof import Result, prove

UNKNOWN = "open in main: a check or a call that may fail"


def kernel(compute: Any, stored: int = 4) -> Any:
    @T.prim_func(private=True, s_tir=True)
    def made(a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32"), c: T.Buffer((stored,), "int32")) -> None:
        for i in range(stored):
            with T.sblock("c"):
                at = T.axis.spatial(stored, i)
                c[at] = compute(a, b, at)

    return made


KERNELS = {
    "adds": (kernel(lambda a, b, at: a[at] + b[at]), True),
    "divides by a number": (kernel(lambda a, _, at: T.floordiv(a[at], T.int32(3))), True),
    "divides": (kernel(lambda a, b, at: T.floordiv(a[at], b[at])), False),
    "takes the rest": (kernel(lambda a, b, at: T.floormod(a[at], b[at])), False),
    "divides by an index": (kernel(lambda a, _, at: T.floordiv(a[at], at)), False),
    "divides by a cast": (kernel(lambda a, b, at: T.floordiv(T.Cast("int64", a[at]), T.Cast("int64", b[at]))), False),
    "reads somewhere": (kernel(lambda a, b, at: a[b[at]]), False),
    "reads beyond its operand": (kernel(lambda a, _, at: a[at + 1]), False),
    "reads before its operand": (kernel(lambda a, _, at: a[at - 1]), False),
    "reads backwards": (kernel(lambda a, _, at: a[3 - at]), True),
    "writes less than its output has": (kernel(lambda a, b, at: a[at] + b[at], 3), False),
}
"""Kernels, and whether each ends on all operands."""


def module(unused: Any = None, *, used: Any = None, branch: bool = False) -> Any:
    """Make a module that returns its parameter or what a kernel computes, and calls another one in vain."""
    from tvm import relax

    builder = relax.BlockBuilder()
    a, b = (relax.Var(name, relax.TensorType((4,), "int32")) for name in "ab")
    flag = relax.Var("flag", relax.TensorType((), "bool"))
    functions = {each: builder.add_func(each, "kernel") for each in (unused, used) if each is not None}

    def call(each: Any) -> Any:
        return relax.call_tir(functions[each], [a, b], relax.TensorType((4,), "int32"))

    with builder.function("main", [a, b, flag]):
        result = builder.emit(call(used)) if used is not None else a
        if unused is not None and branch:
            inside = relax.BindingBlock([relax.VarBinding(relax.Var("v", a.ty), builder.normalize(call(unused)))])
            builder.emit(relax.If(flag, relax.SeqExpr([inside], a), relax.SeqExpr([], a)))
        elif unused is not None:
            builder.emit(call(unused))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("name", KERNELS)
def test_a_pass_may_add_only_calls_that_cannot_fail(name: str) -> None:
    one, harmless = KERNELS[name]
    assert str(prove(module(), module(one))) == ("proved" if harmless else UNKNOWN)
    assert prove(module(one), module()).result is Result.PROVED
    assert prove(module(one), module(one)).result is Result.PROVED
    assert prove(module(used=one), module(used=one)).result is Result.PROVED


def test_a_number_that_a_kernel_is_given_may_be_zero() -> None:
    @T.prim_func(private=True, s_tir=True)
    def divides(a: T.Buffer((4,), "int64"), c: T.Buffer((4,), "int64"), by: T.int64) -> None:
        for i in range(4):
            with T.sblock("c"):
                at = T.axis.spatial(4, i)
                c[at] = T.floordiv(a[at], by)

    assert not is_harmless(divides)


def test_a_call_of_a_branch_is_made_only_there() -> None:
    divides, _ = KERNELS["divides"]
    inside, outside = module(divides, branch=True), module(divides)
    assert prove(outside, inside).result is Result.PROVED
    assert prove(inside, inside).result is Result.PROVED
    assert str(prove(inside, outside)) == UNKNOWN


@pytest.mark.parametrize("operator", ["call_pure_packed", "call_dps_packed"])
def test_packed_functions_may_raise(operator: str) -> None:
    call = getattr(R, operator)
    declared = {"ty_args" if operator == "call_pure_packed" else "out_ty": R.Tensor((4,), "int32")}

    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            unused = call("somewhere.else", x, **declared)  # noqa: F841  # what nothing reads is the point
            return x

    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            return x

    assert str(prove(Plain, Calls)) == UNKNOWN
    assert prove(Calls, Plain).result is Result.PROVED


def test_a_kernel_may_not_write_beyond_what_it_allocates() -> None:
    from tvm import relax

    @I.ir_module
    class Softmax:
        @R.function
        def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
            unused = R.nn.selu(x)  # noqa: F841  # as above
            return x

    lowered = relax.transform.LegalizeOps()(Softmax)
    assert prove(Softmax, lowered).result is Result.PROVED
    assert is_harmless(lowered["selu"])
    exchanged = list(MUTATIONS["indices of a kernel's store exchanged"](Draft(lowered)))
    assert exchanged
    assert not any(is_harmless(each()["selu"]) for each in exchanged)


def test_an_unused_operator_may_be_legalized() -> None:
    from tvm import relax

    @I.ir_module
    class Divides:
        @R.function
        def main(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            unused = R.floor_divide(x, y)  # noqa: F841  # as above
            return x

    assert prove(Divides, relax.transform.LegalizeOps()(Divides)).result is Result.PROVED
