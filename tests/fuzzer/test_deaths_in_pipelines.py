"""Where the process dies, the pass inside of a composed one that was running is blamed, and others are dropped."""

from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from fuzzer.core.case import Case
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.triage.reduce import failures, reduce_case
from oracles.core.subject import Subject
from oracles.core.verdict import Breadcrumb
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

LAYOUT = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]})'
PIPELINE = PassRef(
    "AnnotateCustomMemoryScope",
    f"tvm.transform.Sequential([{LAYOUT}, relax.transform.Normalize(), relax.transform.FoldConstant(), "
    "relax.backend.adreno.transform.AnnotateCustomMemoryScope(tvm.target.Target('qcom/adreno-opencl-texture'))])",
)


@I.ir_module
class Ordinary:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y


@I.ir_module
class Deadly:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "bool"):
        with R.dataflow():
            y = R.less(x, T.float32(1.0))
            z = R.logical_not(y)
            R.output(z)
        return z


def test_each_pass_inside_is_noted_before_it_runs_and_then_the_pass_that_runs_it() -> None:
    notes: list[str] = []
    subject = Subject(Ordinary, [PIPELINE], stage=notes.append)
    assert subject.output.error is None
    begun = [crumb.culprit for crumb in map(Breadcrumb.read, notes) if crumb.details.oracle is OracleName.CRASH]
    whole = PIPELINE.name
    names = [whole, "ConvertLayout", whole, "Normalize", whole, "FoldConstant", whole]
    assert [name for name, before in zip(begun, ["", *begun], strict=False) if name != before] == names


def test_a_death_is_put_down_to_the_pass_that_was_running_and_the_others_are_dropped() -> None:
    case = Case(str(tvm.ir.save_json(Deadly)), (PIPELINE,), 1)
    (verdict,) = failures(case, OracleName.CRASH)
    assert (verdict.shown.kind, verdict.culprit) == ("signal 11", "ConvertLayout")
    reduced = reduce_case(case, verdict, SearchLimits(queries=60, seconds=60.0))
    assert reduced.verdict is not None
    assert reduced.verdict.culprit == "ConvertLayout"
    (left,) = reduced.minimized.case.passes
    assert left.expression.startswith("relax.transform.ConvertLayout(")
    assert reduced.bindings == 1
