"""How fast is numeric execution, against plain ``relax.build``, and does it give the same bits?

    python benchmarks/numeric.py [--modules N] [--seed S] [--json]

Everything is measured in one run on the same generated modules and inputs: build and first call of every public
function, with plain ``relax.build`` (LLVM's default optimisation, system linker), with an empty kernel cache, and with
a warm one. Then whole comparisons through the numeric oracle, generation included, each module with drawn passes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tvm
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tabulate import tabulate

from oracles.abi.compose import public_functions
from oracles.comparison import compare
from oracles.execution import DiskCache, ExecMode, Program, Session, cxx_available, plain_build
from oracles.facts import ModuleFacts
from oracles.inputs import materialize
from oracles.judge import judge
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome
from strategies import ir_modules, module_and_passes


def generated(strategy: st.SearchStrategy[Any], count: int, first: int) -> list[Any]:
    drawn: list[Any] = []

    @seed(first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(strategy)
    def collect(value: Any) -> None:
        drawn.append(value)

    collect()
    return drawn[:count]


def executed(modules: list[Any], build: Callable[[Any], Program]) -> tuple[float, list[Any]]:
    """Seconds of processor and linker time (wall clock), and the results of every public function."""
    started, results = time.perf_counter(), []
    for number, module in enumerate(modules):
        program = build(module)
        results.append(
            tuple(program.call(name, materialize(module, name, number)) for name in sorted(public_functions(module)))
        )
    return time.perf_counter() - started, results


def compared(count: int, first: int) -> tuple[float, int, int]:
    """Seconds of processor time for generation and judgement, judged comparisons, and all subjects."""
    started, judged, subjects = time.process_time(), 0, 0
    for number, (module, passes) in enumerate(generated(module_and_passes(), count, first)):
        facts = ModuleFacts(module)
        for drawn in passes:
            subject = Subject(module, [PassRef(drawn.name, drawn.expression)], input_seed=number, facts=facts)
            (verdict,) = judge(subject, [OracleName.NUMERIC])
            judged += verdict.outcome in (Outcome.PASS, Outcome.FAIL)
            subjects += 1
    return time.process_time() - started, judged, subjects


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # Hypothesis repeats a case in variations; every fifth one shares less with its neighbours.
    modules = generated(ir_modules(executable=True), 5 * options.modules, options.seed)[::5]
    with tempfile.TemporaryDirectory() as directory:
        session = Session(DiskCache(Path(directory)))
        cold, first = executed(modules, session.build)
        warm, again = executed(modules, session.build)
        compiled, other = executed(modules, lambda module: session.build(module, ExecMode.COMPILED))
    agree = compare(tuple(first), tuple(again)) is None and compare(tuple(first), tuple(other)) is None
    plain: float | None = None
    if cxx_available():
        plain, reference = executed(modules, plain_build)
        agree = agree and compare(tuple(reference), tuple(first)) is None
    compared(max(5, options.modules // 4), options.seed)  # warms the caches of the process
    seconds, judged, subjects = compared(max(5, options.modules // 4), options.seed)
    count = len(modules)
    report = {
        "modules": count,
        "plain_ms": None if plain is None else 1e3 * plain / count,
        "cold_ms": 1e3 * cold / count,
        "warm_ms": 1e3 * warm / count,
        "compiled_ms": 1e3 * compiled / count,
        "cold_ratio": None if plain is None else plain / cold,
        "warm_ratio": None if plain is None else plain / warm,
        "bit_identical": agree,
        "numeric_per_second_per_core": judged / seconds,
        "subjects_per_second_per_core": subjects / seconds,
        "interpreter_modules_per_second": None,  # there is no reference interpreter yet
        "tvm": tvm.__version__,
    }
    if options.json:
        print(json.dumps(report))
    else:
        print(tabulate(report.items(), headers=("measure", "value")))
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
