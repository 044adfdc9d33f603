"""Where failures show first, on cases of the corpus, in an isolated process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tvm

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.family import family
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.triage import questions
from fuzzer.triage.traits import find_traits
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName


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


def test_a_skeleton_has_no_shapes_and_no_names() -> None:
    (known,) = load(["convert-to-dataflow-dependent-type"])
    skeleton = questions.skeleton(str(tvm.ir.save_json(load_module(known))))
    assert skeleton.operators == tuple(sorted(skeleton.operators))
    assert not any(name.startswith("relax.") or any(map(str.isdigit, name)) for name in skeleton.operators)
    assert "function" not in skeleton.constructs
