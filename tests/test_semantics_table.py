"""Slices of a measurement of interpreter against CodeGenVM add up to one table."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from oracles.variations import Variation

ROOT = Path(__file__).resolve().parent.parent


def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("semantics", ROOT / "benchmarks" / "semantics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


semantics = benchmark()


def row(name: str, reasons: dict[str, int], **counts: int) -> dict[str, Any]:
    listed = [{"reason": text, "count": count, "seed": 1, "example": ""} for text, count in reasons.items()]
    return {"operator": name, **dict.fromkeys(semantics.COLUMNS, 0), **counts, "reasons": listed}


def test_slices_add_up() -> None:
    wrong = {"differs: relax.max: wrong value": 2}
    rows = [row("relax.max", wrong, agrees=3, differs=2), row("relax.max", wrong, agrees=4, differs=2, undefined=1)]
    (whole,) = semantics.merged(rows)
    assert (whole["agrees"], whole["differs"], whole["undefined"]) == (7, 4, 1)
    assert [each["count"] for each in whole["reasons"]] == [4]


def test_the_table_names_what_differs_and_counts_no_case_that_was_not_drawn() -> None:
    rows = [row("relax.max", {"differs: relax.max: wrong value": 2, "undefined: order of NaN": 1}, agrees=3, differs=2,
                undefined=1, **{semantics.NOT_DRAWN: 5}), row("relax.abs", {}, agrees=6)]  # fmt: skip
    text = semantics.markdown(semantics.merged(rows))
    assert "| `max` | 6 | 3 | 1 | 2 | 0 | 2 x relax.max: wrong value |" in text
    assert "| `abs` | 6 | 6 | 0 | 0 | 0 |  |" in text
    assert "2 operators, 12 cases: 9 agree" in text


def test_half_of_the_cases_have_inputs_of_the_default_domain_and_the_others_all_kinds_in_turn() -> None:
    drawn = [semantics.variation_of(seed) for seed in range(24)]
    assert drawn.count(Variation.DEFAULT) == 12
    assert {each: drawn.count(each) for each in Variation if each is not Variation.DEFAULT} == dict.fromkeys(
        [each for each in Variation if each is not Variation.DEFAULT], 2
    )
