"""What leads up to the pass at fault is written out: preparing passes, a pipeline, and drawn inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_search import case_of, failures, plain
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import Case
from fuzzer.minimizer.entering import entered, stands
from fuzzer.minimizer.judge.predicate import PredicateCriterion
from fuzzer.minimizer.propose import facts, propose
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.search.messages import EnteredCase, ProposalRequest
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.minimizer.search.search import Search
from fuzzer.triage.reduce import ReductionPlan, reduce
from oracles.core.module_facts import apply
from oracles.core.subject import Subject
from oracles.measure.input_variations import SPECIAL, Variation, drawn
from oracles.measure.inputs import materialize
from relaxkit.ir.domain import ORDINARY
from relaxkit.ir.equality import digest
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


@I.ir_module
class Closure:
    """FuseTIR leaves a closure of a function that it drops."""

    @R.function(private=True)
    def f1(x: R.Tensor(ndim=1, dtype="float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return y

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Object:
        return R.make_closure(Closure.f1, (x,))


@I.ir_module
class Sum:
    """Two operators, which make two kernels."""

    @R.function
    def main(x: R.Tensor((4, 3), "float32")) -> R.Tensor((4, 3), "float32"):
        lv = R.add(x, x)
        return R.multiply(lv, x)


@I.ir_module
class Convolution:
    """What ConvertLayout gives a layout that it cannot take away again."""

    @R.function
    def main(x: R.Tensor((1, 4, 4, 4), "float32"), w: R.Tensor((8, 4, 1, 1), "float32")) -> R.Tensor(ndim=4):
        with R.dataflow():
            lv = R.nn.conv2d(x, w)
            R.output(lv)
        return lv


REWRITE = PassRef(*plain("CallTIRRewrite"))


def reduced(case: Case, oracle: OracleName, **options: Any) -> Minimized:
    wanted = failures(case, (oracle,))[0].id
    return Search(
        case, wanted, lambda candidate: failures(candidate, (oracle,)), propose, facts(case.module_json),
        enter=entered, **options,
    ).run()  # fmt: skip


def test_what_preparing_passes_made_takes_their_place():
    case = case_of(Sum, plain("CallTIRRewrite"))
    subject = Subject(Sum, case.passes)
    assert subject.preparing
    assert not stands(Sum, case.passes)
    (found,) = entered(case, "CallTIRRewrite")
    ready = from_json_graph_str(found.case.module_json)
    assert found.case.passes == case.passes
    assert stands(ready, case.passes)
    assert Subject(ready, case.passes).preparing == ()
    assert entered(found.case, "CallTIRRewrite") == ()


def test_candidates_for_a_prepared_module_need_no_preparation_either():
    (found,) = entered(case_of(Sum, plain("CallTIRRewrite")), "CallTIRRewrite")
    proposed = 0
    for index in range(len(REDUCTIONS)):
        for candidate in propose(ProposalRequest(found.case.module_json, index, passes=(REWRITE,))).candidates:
            proposed += 1
            assert stands(from_json_graph_str(candidate.module_json), (REWRITE,))
    assert proposed > 3


def test_a_stock_pipeline_gives_way_to_the_pass_inside_that_is_at_fault():
    case = case_of(Closure, ("build:zero", "relax.get_pipeline()"))
    found = reduced(case, OracleName.WELL_FORMED)
    assert [ref.expression for ref in found.case.passes] == ["relax.transform.FuseTIR()"]
    assert "begin at the pass at fault" in found.steps
    again = reduced(found.case, OracleName.WELL_FORMED)
    assert again.case == found.case


def test_a_pipeline_is_cut_before_the_pass_at_fault():
    case = case_of(Closure, plain("LegalizeOps"), plain("FuseTIR"))
    first = entered(case, "FuseTIR")[0].case
    assert [ref.name for ref in first.passes] == ["FuseTIR"]
    legalized = apply(PassRef(*plain("LegalizeOps")).build(), Closure).module
    assert digest(from_json_graph_str(first.module_json)) == digest(legalized)


def test_of_a_pass_that_runs_twice_the_run_that_fails_is_found():
    second = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]})'
    first = second.replace('"NCHW", "OIHW"', '"NCHW4c", "OIHW4o"')
    case = case_of(Convolution, ("ConvertLayout", first), ("ConvertLayout", second))
    before, again, *_ = entered(case, "ConvertLayout")
    assert [item.case.passes for item in (before, again)] == [(ref,) for ref in case.passes]
    assert [failures(item.case, (OracleName.CRASH,)) != [] for item in (before, again)] == [False, True]
    assert [ref.expression for ref in reduced(case, OracleName.CRASH).case.passes] == [second]


def test_a_module_that_would_fill_screens_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(Closure, ("build:zero", "relax.get_pipeline()"))
    monkeypatch.setattr("fuzzer.minimizer.search.search._MOST_WRITTEN_OUT", 1)
    longer = EnteredCase(Case(f"{case.module_json}{' ' * 9999}", case.passes, 0), "longer", frozenset())
    wanted = failures(case, (OracleName.WELL_FORMED,))[0]
    found = Search(
        case, wanted.id, lambda _: [wanted], lambda _: None, facts(case.module_json), enter=lambda *_: (longer,)
    ).run()
    assert "begin at the pass at fault" in found.steps
    assert len(found.case.module_json) < len(longer.case.module_json)


def test_without_a_pass_at_fault_nothing_prepares_the_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def adds(module, pipeline):\n    return 'add' in module.script()\n", "utf-8")
    case = case_of(Sum, plain("CallTIRRewrite"))
    found = reduce(case, PredicateCriterion(target=f"{tmp_path / 'mine.py'}:adds"), ReductionPlan(SearchLimits(60, 30)))
    assert "begin at the pass at fault" not in found.minimized.steps
    assert "R.add" in found.script


def test_a_pass_that_is_never_reached_gives_no_case():
    case = case_of(Sum, ("build:zero", "relax.get_pipeline()"))
    assert all(item.case.passes == case.passes for item in entered(case, "Gradient"))


@pytest.mark.parametrize("seed", ORDINARY)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
def test_seeds_of_ordinary_values_draw_nothing(seed: int, dtype: str):
    x = relax.Var("x", relax.TensorType((2, 3), dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    (array,) = materialize(builder.finalize(), "main", seed)
    assert array.dtype == np.dtype(dtype)
    assert set(array.ravel().tolist()) <= set(ORDINARY[seed])
    assert array.ravel()[0] in ORDINARY[seed]


def test_ordinary_values_are_tried_before_denormals():
    """Two by two of ones show no transposition: what stood beside them, -1e-45, was shown to people."""
    *plain, last = ORDINARY
    assert not [seed for seed in plain if {*drawn(seed)} & {Variation.CORNERS, *SPECIAL}]
    assert Variation.CORNERS in drawn(last)


WRONG = """
import tvm
from tvm import relax


def negated():
    def transform(module, context):
        x = relax.Var("x", module["main"].params[0].ty)
        builder = relax.BlockBuilder()
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.negative(x)))
        return builder.finalize()

    return tvm.transform.module_pass(transform, opt_level=0, name="Negated")
"""


def test_a_wrong_value_is_shown_on_ordinary_values(tmp_path: Path):
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    case = replace(case_of(Sum, ("Negated", f"user:{tmp_path / 'wrong.py'}:negated")), input_seed=7)
    found = reduced(case, OracleName.NUMERIC, numeric=True)
    assert found.case.input_seed == -4
    assert "ordinary inputs" in found.steps
    assert failures(found.case, (OracleName.NUMERIC,))
