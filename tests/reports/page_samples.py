"""A page object of the made-up campaign, made without a process for TVM."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fuzzer.core.coverage import Coverage
from fuzzer.gate.judge import GateResult
from fuzzer.store.timeline import Point, Timeline
from fuzzer.store.writer import FindingRecord
from reports.page.data import page_object
from reports.page.passes import coverage_object
from reports.tables import Report

SOURCE = """# from tvm.script import ir as I
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        lv: R.Tensor((2,), dtype="float32") = R.exp(x)  # "</script><script>alert(1)</script>"
        return lv"""
COVERAGE = Coverage(
    bindings=900,
    features=Counter({"if": 200, "tuples": 2}),
    idioms=Counter({"matmul_chain": 20}),
    operators=Counter({"relax.add": 120, "relax.exp": 7}),
    operands=Counter({("relax.add", "float32", 2): 100, ("relax.exp", "float32", 1): 7}),
    pairs=Counter({("relax.add", "relax.exp"): 5, ("relax.exp", "function"): 2}),
    judged=Counter({"FuseOps": 100, "LegalizeOps": 104}),
    changed=Counter({"FuseOps": 60}),
    rewrites=Counter({("FuseOps", "+call +function"): 60}),
)
TIMELINE = Timeline(
    growth=(
        Point(1.0, 64, 8, 1, 2, 3, 1, 1),
        Point(300.0, 700, 150, 2, 2, 3, 2, 1),
        Point(605.0, 1234, 300, 3, 2, 3, 2, 1),
    ),
    sightings={"0000000001": ((1.0, 2), (300.0, 3), (600.0, 4))},
    spent={("draw", ""): 100.0, ("crash", "FuseOps"): 300.5, ("numeric", "LegalizeOps"): 400.0, ("triage", ""): 50.0},
)


def dies(_: object) -> str:
    """Ends the process that calls it."""
    os._exit(3)


class PlainWorker:
    """Stands in for ``reports.page.tvm_worker.TvmWorker``."""

    def module(self, finding: FindingRecord) -> str:
        return "" if finding.id.endswith("2") else SOURCE

    def modules(self, findings: Sequence[FindingRecord]) -> Mapping[str, str]:
        return {finding.id: self.module(finding) for finding in findings}

    def coverage(self, coverage: Coverage, modules: int) -> dict[str, Any]:
        return coverage_object(coverage, modules)


def full(report: Report) -> Report:
    """The report with what was covered and how it went."""
    return replace(report, coverage=COVERAGE, timeline=TIMELINE)


def sample_page(*reports: Report, result: GateResult | None = None) -> dict[str, Any]:
    return page_object(reports, PlainWorker(), result)  # type: ignore[arg-type]  # in place of a TvmWorker
