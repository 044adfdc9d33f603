"""Calls whose results nobody uses: a pass may drop them, and may add only those that cannot fail."""

from __future__ import annotations

from typing import Any

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

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
    "reads somewhere": (kernel(lambda a, b, at: a[b[at]]), False),
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


def test_a_call_of_a_branch_is_made_only_there() -> None:
    divides, _ = KERNELS["divides"]
    inside, outside = module(divides, branch=True), module(divides)
    assert prove(outside, inside).result is Result.PROVED
    assert prove(inside, inside).result is Result.PROVED
    assert str(prove(inside, outside)) == UNKNOWN


def test_packed_functions_may_raise() -> None:
    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            unused = R.call_pure_packed("somewhere.else", x, ty_args=R.Tensor((4,), "int32"))  # noqa: F841
            return x

    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            return x

    assert str(prove(Plain, Calls)) == UNKNOWN
    assert prove(Calls, Plain).result is Result.PROVED


def test_an_unused_operator_may_be_legalized() -> None:
    from tvm import relax

    @I.ir_module
    class Divides:
        @R.function
        def main(x: R.Tensor((4,), "int32"), y: R.Tensor((4,), "int32")) -> R.Tensor((4,), "int32"):
            unused = R.floor_divide(x, y)  # noqa: F841
            return x

    assert prove(Divides, relax.transform.LegalizeOps()(Divides)).result is Result.PROVED
