# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""The pass inside of a composed one that is named is the one that raised, whatever the run has written to its input."""

from __future__ import annotations

from typing import Any

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.core.subject import Subject
from oracles.structural.crash_and_mutation import crash
from relaxkit.passes.pass_ref import PassRef

PIPELINE = (
    'tvm.transform.Sequential([relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]}), '
    "relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), "
    'relax.backend.adreno.transform.AnnotateCustomMemoryScope(tvm.target.Target("qcom/adreno-opencl-texture"))])'
)


@I.ir_module
class Before:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function(private=True)
    def f2(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = R.add(x, R.const([1.0], "float32"))
            R.output(lv)
        return lv

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return Before.f1(x)


def test_the_pass_that_raised_is_named() -> None:
    subject = Subject(tvm.ir.load_json(tvm.ir.save_json(Before)), [PassRef("AnnotateCustomMemoryScope", PIPELINE)])
    verdict: Any = crash(subject)
    assert verdict.evidence.message.strip() == "Check not null: ptr"
    assert verdict.culprit == "AnnotateCustomMemoryScope"
    # The device of the constant is written into the module, on which ConvertLayout itself raises then.
    again: Any = crash(Subject(subject.module, [PassRef("AnnotateCustomMemoryScope", PIPELINE)]))
    assert again.culprit == "ConvertLayout"
