"""Slices of a measurement of interpreter against CodeGenVM add up to one table."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from fuzzer.worker.death import Died
from oracles.measure.input_variations import Variation

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from shared.operator_modules import ROW, draw_alone

ROOT = Path(__file__).resolve().parent.parent


def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("semantics", ROOT / "benchmarks" / "semantics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
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


class Scripted:
    """In place of a worker: a row of which every third module is refused, and seed 4 kills on its third input."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, int | None]] = []

    def call(self, _function: Any, request: tuple[str, int, int, int | None]) -> Any:
        _name, first, count, only = request
        self.asked.append((first, count, only))
        found = []
        for seed in range(first, first + count):
            if seed % 3 == 0:
                found.append(semantics.Case(semantics.NOT_DRAWN, "", "", seed, 4 * seed))
                continue
            numbers = range(4 * seed, 4 * seed + 4) if only is None else [only]
            if seed == 4 and 18 in numbers:
                return Died.by_exit_code(-11, "")
            found += [semantics.Case("agrees", "", "", seed, number) for number in numbers]
        return found


def test_as_many_cases_are_judged_as_are_wanted_and_only_the_input_that_kills_is_lost() -> None:
    worker = Scripted()
    row = semantics.measure("relax.abs", 30, 0, worker)
    assert row["agrees"] + row["died"] == 30
    assert row["died"] == 1
    assert row["reasons"] == [{"reason": "died: signal 11", "count": 1, "seed": 4, "inputs": 18, "example": ""}]
    assert [each for each in worker.asked if each[2] is not None] == [(4, 1, number) for number in range(16, 20)]
    assert row[semantics.MODULES] == 12


def test_a_row_that_always_refuses_ends() -> None:
    class Refuses(Scripted):
        def call(self, _function: Any, request: tuple[str, int, int, int | None]) -> Any:
            return [
                semantics.Case(semantics.NOT_DRAWN, "", "", seed, 0) for seed in range(request[1], sum(request[1:3]))
            ]

    row = semantics.measure("relax.abs", 50, 0, Refuses())
    assert row[semantics.NOT_DRAWN] == 50


def test_modules_without_parameters_are_judged_once() -> None:
    zeros = draw_alone(ROW["relax.zeros"], 3)
    taking = draw_alone(ROW["relax.abs"], 3)
    assert zeros is not None
    assert taking is not None
    assert semantics.numbers_of(3, zeros.module) == [12]
    assert semantics.numbers_of(3, taking.module) == [12, 13, 14, 15]


def test_cases_are_judged_in_process() -> None:
    found = semantics.batch(("relax.negative", 0, 2, None))
    assert [each.number for each in found] == [0, 1, 2, 3, 4], "the second negates a constant"
    assert {each.verdict for each in found} == {"agrees"}


def test_an_interrupted_measurement_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert semantics._done(file, 0, 10) == []
    rows = [{**row("relax.abs", {}), "first": 0, "wanted": 10}, {**row("relax.exp", {}), "first": 0, "wanted": 20}]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows))
    assert [each["operator"] for each in semantics._done(file, 0, 10)] == ["relax.abs"]
    assert semantics._done(file, 1, 10) == []
