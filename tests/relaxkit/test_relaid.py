# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Kernels laid out as TVM suggests compute the same, and other layouts than their callers give do not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from oracles import check
from relaxkit.passes import relaid as relaying
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


def everywhere(layout: str) -> list[PassRef]:
    return [PassRef("suggest_layout_transforms", f'relaid({share}, "{layout}")') for share in range(8)]


@pytest.mark.parametrize("layout", ["reversed", "rotated", "packed"])
def test_every_kernel_is_laid_out_in_one_share_and_computes_the_same(layout: str) -> None:
    lowered = relax.transform.LegalizeOps()(Before)
    changed = 0
    for ref in everywhere(layout):
        after = ref.build()(lowered)
        changed += not tvm_ffi.structural_equal(after, lowered)
        check(Before, ref, oracles=ORACLES)
    assert changed >= 2


def test_layouts_that_are_not_the_kernels_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    suggested = relaying._suggested

    def turned(kernel: Any, layout: str) -> tuple[Any, list[Any]]:
        made, _ = suggested(kernel, "reversed")
        return made, suggested(kernel, "rotated")[1][::-1]

    monkeypatch.setattr(relaying, "_suggested", turned)
    told = []
    for ref in everywhere("reversed"):
        try:
            check(Before, ref, oracles=ORACLES)
        except AssertionError as failure:
            told.append(str(failure))
    assert told


def test_recorded_schedules_compute_the_same() -> None:
    lowered = relax.transform.LegalizeOps()(Before)
    for factor in (2, 3):
        ref = PassRef("MetaScheduleApplyDatabase", f"tuned({factor})")
        after = ref.build()(lowered)
        assert "is_scheduled" in after.script()
        assert not tvm_ffi.structural_equal(after["add"].body, lowered["add"].body)
        check(Before, ref)
