# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Kernels laid out as TVM suggests compute the same, and other layouts than their callers give do not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from oracles import check
from relaxkit.passes import helpers as relaying
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

# TVMScript does not keep the dtype of the indices of a layout.
ORACLES = [name for name in OracleName if name is not OracleName.ROUNDTRIP]


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((4, 6), "float32"), z: R.Tensor((6,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.subtract(a, z)
            c = R.multiply(b, x)
            d = R.sum(c, axis=[1])
            e = R.permute_dims(c)
            R.output(d, e)
        return (d, e)


def everywhere(layout: str) -> PassRef:
    """Return the pass that lays out all kernels."""
    name = "suggest_layout_transforms"
    return PassRef(
        name, f'tvm.transform.module_pass(lambda mod, _: relaid(mod, "{layout}"), opt_level=0, name="{name}")'
    )


@pytest.mark.parametrize("layout", ["reversed", "rotated", "packed"])
def test_kernels_that_are_laid_out_compute_the_same(layout: str) -> None:
    lowered = relax.transform.LegalizeOps()(Before)
    assert not tvm_ffi.structural_equal(everywhere(layout).build()(lowered), lowered)
    check(Before, everywhere(layout), oracles=ORACLES)


def test_operands_of_one_name_are_laid_out_by_their_places() -> None:
    """``outer`` of a variable by itself makes a kernel of two parameters that are called the same."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.outer(x, x)))
    check(builder.get(), everywhere("packed"), oracles=ORACLES)


def test_no_edit_of_a_kernel_decides_whether_it_is_laid_out() -> None:
    lowered = relax.transform.LegalizeOps()(Before)
    kernels = relaying.laid_out(lowered)
    assert {var.name_hint for var in kernels} == {"add", "subtract", "multiply", "sum", "transpose"}
    for var in kernels:
        edited = lowered.clone()
        edited.update_func(var, lowered[var].without_attr("tirx.noalias"))
        assert relaying.laid_out(edited) == kernels
        names = {str(each.attrs.get("operator_name")) for each in made_of(edited).values()}
        assert len(names - {"None"}) == len(kernels)


@I.ir_module
class Calling:
    @T.prim_func(private=True)
    def plus(a: T.float32, b: T.float32) -> T.float32:
        return a + b

    @T.prim_func(private=True)
    def times(a: T.float32, b: T.float32) -> T.float32:
        return a * b

    @T.prim_func(private=True, s_tir=True)
    def summed(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("B"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = Calling.plus(A[v_i, v_j], A[v_i, v_j])

    @T.prim_func(private=True, s_tir=True)
    def squared(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("B"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                B[v_i, v_j] = Calling.times(A[v_i, v_j], A[v_i, v_j])

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.call_tir(Calling.summed, (x,), R.Tensor((2, 3), "float32"))
        return R.call_tir(Calling.squared, (y,), R.Tensor((2, 3), "float32"))


def test_a_kernel_that_calls_another_is_laid_out_as_on_a_copy_and_calls_that_one() -> None:
    copies = [tvm.ir.load_json(tvm.ir.save_json(Calling)) for _ in range(2)]
    once, again = (relaying.relaid(each, "reversed") for each in copies)
    assert tvm_ffi.structural_equal(once, again)
    assert "operator_name" in once.script()
    written = "\n".join(each.script() for each in made_of(Calling).values())
    assert all(callee in written for callee in ("plus(A", "times(A"))


def made_of(module: Any) -> dict[str, Any]:
    """Return the kernels of a module whose results are reversed."""
    made = relaying.relaid(module, "reversed")
    return {var.name_hint: each for var, each in made.functions_items() if not isinstance(each, relax.Function)}


def test_layouts_that_are_not_the_kernels_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = relaying.index_map

    def turned(buffer: Any, layout: str) -> Any:
        # What stays as it is for TVM is turned for its callers.
        return real(buffer, "reversed" if layout == "same" else layout)

    monkeypatch.setattr(relaying, "index_map", turned)
    with pytest.raises(AssertionError):
        check(Before, everywhere("packed"), oracles=ORACLES)


def test_recorded_schedules_compute_the_same() -> None:
    lowered = relax.transform.LegalizeOps()(Before)
    for factor in (2, 3):
        ref = PassRef(
            "MetaScheduleApplyDatabase", f"tvm.transform.module_pass(lambda mod, _: tuned(mod, {factor}), opt_level=0)"
        )
        after = ref.build()(lowered)
        assert "is_scheduled" in after.script()
        assert not tvm_ffi.structural_equal(after["add"].body, lowered["add"].body)
        check(Before, ref)
