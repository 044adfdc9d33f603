"""Findings in drawn modules, for ``benchmarks/reduction.py``: the first case of each signature, whatever its size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from fuzzer.core.case import Case
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.worker.worker import IsolatedWorker
from reducing.cases import Specimen
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASSES = (
    "MergeCompositeFunctions",
    "FastMathTransform",
    "InlinePrivateFunctions",
    "FuseTransposeMatmul",
    "LiftTransformParams",
    "RemoveUnusedParameters",
    "ExpandTupleArguments",
    "LazySetOutput",
    "FuseOps",
    "FuseTIR",
    "VMShapeLower",
    "ToMixedPrecision",
    "LambdaLift",
)
ORACLES = tuple(oracle for oracle in OracleName if oracle is not OracleName.NUMERIC)
BATCH = 40
MAX_BATCHES = 12


def draw_modules(seed: int) -> list[str]:
    """Modules of one batch as JSON; runs in the worker."""
    import tvm
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from strategies import ir_modules

    found: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(ir_modules())
    def collect(module: object) -> None:
        found.append(str(tvm.ir.save_json(module)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    return found


def drawn(count: int, seed: int) -> Iterator[Specimen]:
    """So many findings, each of another signature."""
    if count < 1:
        return
    seen: set[str] = set()
    with IsolatedWorker() as worker:
        judge = Judge(worker, ORACLES)
        for batch in range(MAX_BATCHES):
            modules = judge.ask(draw_modules, seed + batch)
            for module in modules if isinstance(modules, list) else ():
                for name in PASSES:
                    case = Case(module, (PassRef(name, f"relax.transform.{name}()"),), 0)
                    for verdict in judge.verdicts(case):
                        found = signature(verdict)
                        if found.id in seen:
                            continue
                        seen.add(found.id)
                        facts = judge.facts(case)
                        yield Specimen(found.id, case, verdict.oracle, 0 if facts is None else facts.bindings)
                        if len(seen) == count:
                            return
