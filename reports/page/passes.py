"""The page's tables of passes: the verdicts of each by oracle, what was generated for them and what they did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzzer.cli.operator_tables import LEAST_SHARE, feature_rows, idiom_rows, operator_rows
from fuzzer.cli.pass_verdicts import LEAST, by_pass, rewrites_of, seen
from fuzzer.core.coverage import Coverage
from fuzzer.gate.statistics import wilson
from fuzzer.store.writer import Tally
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName

_REWRITES = 5
"""Rewrites of a pass that are named."""


def matrix(tallies: Sequence[Tally]) -> dict[str, Any]:
    """Return oracles, passes by name, reasons, and for each pass a cell an oracle, ``None`` where nothing was judged.

    A cell holds the counts of ``Outcome`` in order (``n``), the ends of the 95% interval of the pass rate (``ci``) and
    the reasons of what judged nothing (``why``: outcome, number of the reason, count), and how agreements were reached
    (``how``).
    """
    judged = by_pass(tallies)
    oracles = [str(name) for name in OracleName if any(str(name) in row for row in judged.values())]
    reasons: dict[str, int] = {}
    rows = []
    for name in sorted(judged, key=str.lower):
        cells: list[dict[str, Any] | None] = []
        for oracle in oracles:
            cell = judged[name].get(oracle)
            if cell is None:
                cells.append(None)
                continue
            interval = wilson(cell.outcomes[Outcome.PASS.value], cell.verdicts)
            cells.append(
                {
                    "n": [cell.outcomes[outcome.value] for outcome in Outcome],
                    "ci": [round(interval.low, 6), round(interval.high, 6)] if cell.verdicts else None,
                    "why": [
                        [outcome, reasons.setdefault(reason, len(reasons)), count]
                        for (outcome, reason), count in cell.reasons.most_common()
                    ],
                    "how": dict(cell.reached),
                }
            )
        rows.append({"name": name, "cells": cells})
    return {"oracles": oracles, "rows": rows, "reasons": list(reasons)}


def coverage_object(coverage: Coverage, modules: int) -> dict[str, Any]:
    """Return operators, pairs, features, idioms and passes.  Imports the tables of what can be generated."""
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
    rows, found = [], rewrites_of(coverage)
    for name in sorted(coverage.judged, key=str.lower):
        row = seen(name, {}, coverage, found)
        rewrites = [[each["rewrite"], each["count"]] for each in row["rewrites"][:_REWRITES]]
        rows.append([name, row["subjects"], row["changed"], row["distinct_rewrites"], rewrites])
    return rows
