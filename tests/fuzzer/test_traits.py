"""Where failures show first, on cases of the corpus, in an isolated process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tvm
from tvm.script import from_source

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.family import family, placed
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.triage import questions
from fuzzer.triage.traits import find_traits
from fuzzer.triage.weigh import accused
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def failure(worker: IsolatedWorker, slug: str) -> tuple[Judge, Case, Verdict]:
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    judge = Judge(worker, (known.oracle,))
    return judge, case, judge.verdicts(case)[0]


def test_one_cause_of_several_passes_is_one_family(worker: IsolatedWorker) -> None:
    families = set()
    for slug in ("convert-to-dataflow-dependent-type", "expand-tuple-arguments-dependent"):
        judge, case, verdict = failure(worker, slug)
        traits = find_traits(judge, case, verdict)
        assert traits.culprit == "CanonicalizeBindings", slug
        assert "tensor_to_shape" in traits.skeleton.operators
        families.add(family(verdict, traits).id)
    assert len(families) == 1


def test_the_same_words_for_another_cause_are_another_family(worker: IsolatedWorker) -> None:
    judge, case, verdict = failure(worker, "lazy-get-input-dim")
    assert verdict.evidence is not None
    assert "dependent type expression" in verdict.evidence.message
    assert find_traits(judge, case, verdict).culprit == "LazyGetInput"


def test_a_pass_that_a_composed_one_runs_is_found(worker: IsolatedWorker) -> None:
    judge, case, _ = failure(worker, "remove-unused-parameters-made-closure")
    fuse = Case(case.module_json, (type(case.passes[0])("FuseTIR", "relax.transform.FuseTIR()"),), 0)
    verdict = judge.verdicts(fuse)[0]
    assert (verdict.oracle, verdict.culprit) == (OracleName.WELL_FORMED, "FuseTIR")
    assert find_traits(judge, fuse, verdict).culprit == "RemoveUnusedParameters"


_UNKNOWN_SHAPE = """from __future__ import annotations

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((3, "n"), dtype="float32"),
        where: R.Tensor((), dtype="bool"),
        s: R.Tensor(("n",), dtype="float32"),
        z: R.Tensor(("n",), dtype="int8")
    ) -> R.Tensor((3, "n"), dtype="{dtype}"):
        n = T.int64()
        if where:
            lv = R.abs(x)
            lv1 = x
        else:
            lv1 = x
        lv2 = {call}
        return lv2
"""
_QUANTIZE = ("int8", 'R.quantize(lv1, s, z, axis=1, out_dtype="int8")')
_EYE_LIKE = ("float32", 'R.eye_like(lv1, R.prim_value(T.int64(0)), dtype="float32")')
_ATTENTION = """from __future__ import annotations

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((1, 1, 1, 1), dtype="float32"), y: R.Tensor((1, 1, 1, 1), dtype="float32")
    ) -> R.Tensor((1, 1, 1, 1), dtype="float32"):
        lv = R.nn.attention(x, y, y, scale=None, causal_mask=None, window_size=None)
        return lv
"""
_SQUEEZE = """from __future__ import annotations

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({shape}, dtype="float32")) -> R.Tensor({result}, dtype="float32"):
        with R.dataflow():
            lv = R.squeeze(x, axis=[-{rank}])
            R.output(lv)
        return lv
"""
_PIPELINE = 'relax.get_default_pipeline(tvm.target.Target("llvm"))'
_WITHOUT_SHAPES = "lambda var: relax.TensorType(dtype=var.ty.dtype, ndim=var.ty.ndim)"


def triaged(worker: IsolatedWorker, source: str, name: str, arguments: str = "") -> tuple[str, str, str]:
    """Return the id, the place and the family that triage gives to a crash of a pass."""
    ref = PassRef(name, f"relax.transform.{name}({arguments})")
    case, judge = Case(str(tvm.ir.save_json(from_source(source))), (ref,), 0), Judge(worker, (OracleName.CRASH,))
    (verdict,) = judge.verdicts(case)
    traits = find_traits(judge, case, verdict)
    found = family(verdict, placed(traits, verdict, accused(judge, case, verdict, traits).name))
    return signature(verdict).id, found.place, found.id


def test_what_type_inference_of_an_operator_does_is_one_family_whichever_pass_calls_it(worker: IsolatedWorker) -> None:
    quantize, eye_like = (_UNKNOWN_SHAPE.format(dtype=dtype, call=call) for dtype, call in (_QUANTIZE, _EYE_LIKE))
    found = [triaged(worker, quantize, name) for name in ("LazyGetInput", "RemovePurityChecking")]
    assert {place for _, place, _ in found} == {"type inference of quantize"}
    assert len({name for name, _, _ in found}) == 2
    assert len({name for _, _, name in found}) == 1
    # Nothing that the failures say tells these two causes from each other.
    other = triaged(worker, eye_like, "RemovePurityChecking")
    assert other[0] == found[1][0]
    assert other[1] == "type inference of eye_like"
    assert other[2] != found[1][2]


def test_an_operators_function_that_kills_the_process_is_the_place(worker: IsolatedWorker) -> None:
    assert triaged(worker, _ATTENTION, "UpdateParamType", _WITHOUT_SHAPES)[1] == "type inference of nn.attention"
    three, five = (
        triaged(worker, _SQUEEZE.format(shape=shape, result=shape[1:], rank=len(shape)), "ConvertLayout", "{}")
        for shape in ((1, 2, 3), (1, 2, 3, 4, 5))
    )
    assert three[0] != five[0], "one runs out of memory, the other one dies of a signal"
    assert three[1:] == five[1:]
    assert three[1] == "relax.squeeze (its FRelaxInferLayout)"


def test_the_pass_of_a_build_that_makes_what_is_not_read_back_is_the_place(worker: IsolatedWorker) -> None:
    source = """from __future__ import annotations

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 1), dtype="float32")) -> R.Tensor((1, 1, 1, 1), dtype="float32"):
        with R.dataflow():
            lv = R.nn.attention_bias(x, x, x, x, scale=None, causal_mask=None, window_size=None)
            lv1 = R.abs(lv)
            R.output(lv1)
        return lv1
"""
    judge, ref = Judge(worker, (OracleName.ROUNDTRIP,)), PassRef("build:cpu", _PIPELINE)
    case = Case(str(tvm.ir.save_json(from_source(source))), (ref,), 0)
    verdict = next(each for each in judge.verdicts(case) if each.shown.kind == "loads-otherwise")
    assert find_traits(judge, case, verdict).culprit == "FuseTIR", "though dead code goes afterwards"


def test_a_skeleton_has_no_shapes_and_no_names() -> None:
    (known,) = load(["convert-to-dataflow-dependent-type"])
    skeleton = questions.skeleton(str(tvm.ir.save_json(load_module(known))))
    assert skeleton.operators == tuple(sorted(skeleton.operators))
    assert not any(name.startswith("relax.") or any(map(str.isdigit, name)) for name in skeleton.operators)
    assert "function" not in skeleton.constructs
