"""What a campaign generated and what its passes did, as the page shows it."""

from __future__ import annotations

from typing import Any

from fuzzer.coverage import Coverage
from fuzzer.coverage_tables import LEAST_SHARE, feature_rows, idiom_rows, operator_rows
from fuzzer.pass_verdicts import LEAST, seen

_REWRITES = 5
"""Rewrites of a pass that are named."""


def coverage_object(coverage: Coverage, modules: int) -> dict[str, Any]:
    """Operators, pairs of operators, features, idioms and passes.  Imports the tables of what can be generated."""
    operators = operator_rows(coverage, modules)
    numbers = {row["name"]: number for number, row in enumerate(operators)}
    families = sorted({row["family"] or "other" for row in operators})
    # A producer or consumer need not be an operator: functions and kernels are called, too.
    others = sorted({name for pair in coverage.pairs for name in pair} - numbers.keys())
    numbers |= {name: len(operators) + number for number, name in enumerate(others)}
    return {
        "modules": modules,
        "least": LEAST_SHARE,
        "families": families,
        "operators": [
            [row["name"], families.index(row["family"] or "other"), row["modules"], len(row["ranks"]),
             len(row["dtypes"])]
            for row in operators
        ],
        "others": others,
        "pairs": [
            [numbers[producer], numbers[consumer], count]
            for (producer, consumer), count in sorted(coverage.pairs.items(), key=lambda each: (-each[1], each[0]))
        ],
        "features": [[row["name"], row["modules"]] for row in reversed(feature_rows(coverage, modules))],
        "idioms": [
            [row["name"], row["modules"], [[miss["name"], miss["modules"]] for miss in row["near_misses"]]]
            for row in sorted(idiom_rows(coverage, modules), key=lambda row: (-row["modules"], row["name"]))
        ],
        "passes": _passes(coverage),
        "enough": LEAST,
    }  # fmt: skip


def _passes(coverage: Coverage) -> list[list[Any]]:
    rows = []
    for name in sorted(coverage.judged, key=str.lower):
        row = seen(name, {}, coverage)
        rewrites = [[each["rewrite"], each["count"]] for each in row["rewrites"][:_REWRITES]]
        rows.append([name, row["subjects"], row["changed"], row["distinct_rewrites"], rewrites])
    return rows
