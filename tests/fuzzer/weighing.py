"""Weigh failures of modules and of cases of the corpus."""

from __future__ import annotations

from typing import Any

import tvm

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.triage.traits import find_traits
from fuzzer.triage.weigh import accused, weigh
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


def weighed(worker: IsolatedWorker, case: Case, oracle: OracleName) -> Assessment:
    judge = Judge(worker, (oracle,))
    verdict = judge.verdicts(case)[0]
    return weigh(
        judge, case, (case, verdict), verdict, accused(judge, case, verdict, find_traits(judge, case, verdict))
    )[0]


def case_of(module: Any, *names: str) -> Case:
    passes = tuple(PassRef(name, f"relax.transform.{name}()") for name in names)
    return Case(str(tvm.ir.save_json(module)), passes, 0)


def of_corpus(worker: IsolatedWorker, slug: str) -> Assessment:
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    return weighed(worker, case, known.oracle)
