"""The parts of a failure's text that are made short."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tvm
from hypothesis import given
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.minimizer.judge.criterion import Confirmation
from fuzzer.minimizer.judge.predicate import PredicateCriterion
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.repro.run import ReproResult
from fuzzer.triage.reduce import Reduced, failures, reduce_case
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxfuzz.pytest_plugin import failure_text as text
from relaxfuzz.pytest_plugin.child import JudgedModule, planted
from relaxfuzz.pytest_plugin.failure_text import (
    _accepted,
    _cast_hint,
    _changed,
    _changed_lines,
    _script_name,
    _shortened,
    _size,
    failure_text,
)
from relaxfuzz.pytest_plugin.isolated import _others
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from strategies import Fragment, ir_modules


def test_scripts_of_different_tests_have_different_names() -> None:
    assert _script_name("tests/test_a.py::test_same") == "tests.test_a-test_same"
    tests = ("test_a.py", "test_b.py", "a/test_a.py", "a-test_a.py", "a.test_a.py", "../a/test_a.py")
    names = [_script_name(f"{file}::test_{kind}") for file in tests for kind in ("x", "x[a-b]", "x[a_b]", "y" * 300)]
    assert len({*names}) == len(names)
    assert max(map(len, names)) < 200
    assert not any(name.startswith(".") for name in names)


def test_only_changed_lines_are_shown_and_at_most_so_many() -> None:
    assert _changed("what:", _changed_lines(""), 9) == []
    lines = _changed_lines("@@ -1,2 +1,3 @@\n def main():\n-    a\n+    b\n+    c")
    assert _changed("what:", lines, 5) == ["", "what:", "-    a", "+    b", "+    c"]
    assert _changed("what:", lines, 4) == _changed("what:", lines, 5), "two lines would be hidden to save one"
    assert _changed("what:", lines, 3) == ["", "what:", "... 3 more lines"]


def test_lines_that_change_only_a_type_are_shown_last() -> None:
    lines = [
        '-    def main(x: R.Tensor((1,))) -> R.Tensor(dtype="float32", ndim=1):',
        '+    def main(x: R.Tensor((1,))) -> R.Tuple(R.Tensor(("n * (2)",))):',
        "-    lv: R.Tensor = R.exp(x)",
        "+    lv: R.Tensor((1,)) = R.log(x)",
    ]
    assert _changed_lines("\n".join(lines)) == [*lines[2:], *lines[:2]]


def test_the_changed_place_of_a_module_that_is_cut_is_kept() -> None:
    lines = [f"    line {n}," for n in range(20)]
    shown = _shortened("\n".join(lines), " in the script", 8, ["line 99, and more", "line 14, and more"])
    cut = "# 9 more lines in the script"
    assert shown == [*lines[:3], cut, *lines[12:15], "# 5 more lines in the script"]
    assert _shortened("\n".join(lines), "", 8, ["line 19, more"]) == [*lines[:3], "# 13 more lines", *lines[16:]]
    assert _shortened("\n".join(lines), "", 8, ["line 2, more"]) == [*lines[:7], "# 13 more lines"]


def test_no_line_is_cut_alone() -> None:
    """A line was replaced by ``# 1 more lines``."""
    for count in range(7, 40):
        lines = [f"    line {n}," for n in range(count)]
        for most, place in itertools.product(range(5, 20), range(count)):
            shown = _shortened("\n".join(lines), "", most, [f"line {place}, more"])
            assert len(shown) <= most + 1
            cuts = [int(line.split()[1]) for line in shown if line.startswith("# ")]
            assert all(each > 1 for each in cuts), (most, place, shown)
            assert len(shown) - len(cuts) + sum(cuts) == count


def test_a_public_function_is_shown_of_a_module_that_is_cut_where_no_line_changed() -> None:
    helper = ["    @R.function(private=True)", "    def f1(x):", *(f"        line {n}" for n in range(6))]
    main = ["    @R.function", "    def main(x):", "        wrong = R.add(x, x)", "        return wrong"]
    shown = _shortened("\n".join(["class Module:", *helper, *main]), most=8)
    assert shown == ["class Module:", *helper[:2], "# 6 more lines", *main]


def test_a_module_is_shown_without_what_stands_above_it() -> None:
    module = "# from tvm.script import ir as I\n\n" + "\n".join(f"line {n}" for n in range(8))
    assert _shortened(module) == [f"line {n}" for n in range(8)]
    assert _shortened(module, " in the script", 7) == _shortened(module), "two lines would be hidden to save one"
    assert _shortened(module, " in the script", 6) == [
        *(f"line {n}" for n in range(5)),
        "# 3 more lines in the script",
    ]
    assert len(_shortened(module, most=1)) == 5


def test_large_constants_are_not_shown_instead_of_the_module() -> None:
    module = 'metadata = tvm.ir.load_json("""{\n  "nodes": []\n}""")\n\n@I.ir_module\nclass Module:\n    pass'
    assert _shortened(module) == ["@I.ir_module", "class Module:", "    pass"]


def test_match_cast_is_shown_of_a_module_that_is_cut() -> None:
    lines = [f"    line {n}" for n in range(12)]
    lines[10] = "    lv = R.match_cast(x, R.Tensor)"
    shown = _shortened("\n".join(lines), most=7)
    assert shown == [*lines[:5], "# 7 more lines, including:", lines[10]]


def failing(oracle: OracleName, message: str = "") -> Verdict:
    return Verdict(oracle, Outcome.FAIL, "Mine", evidence=Evidence("ill-formed", message))


def test_one_paste_accepts_all_that_failed_on_the_module() -> None:
    passed = Verdict(OracleName.CRASH, Outcome.PASS, "Mine")
    verdicts = [passed, *map(failing, (OracleName.WELL_FORMED, OracleName.NUMERIC))]
    wide = "accepts every ill-formed output of Mine and every wrong result of Mine"
    assert _accepted(verdicts) == f'check(..., known=["well-formed: Mine", "numeric: Mine"]) ({wide}), or '


def test_a_type_that_does_not_fit_behind_a_cast_has_a_hint() -> None:
    verdict = failing(OracleName.WELL_FORMED, "Expression of type A cannot be assigned to a variable of type B")
    assert "own-pass.md" in _cast_hint(verdict, "lv = R.match_cast(x, R.Tensor)")[0]
    assert _cast_hint(verdict, "lv = R.abs(x)") == []
    assert _cast_hint(failing(OracleName.WELL_FORMED, "other"), "R.match_cast(x)") == []


def test_equal_lines_on_other_failures_are_one() -> None:
    seen = [failing(OracleName.NUMERIC, said) for said in ("wrong", "wrong", "other")]
    case = Case("", (PassRef("Mine", "mine"),), 0)
    assert _others([JudgedModule(case, "", (each,)) for each in seen]) == [
        "2 other failures, not minimized: numeric: Mine: ill-formed: wrong",
        "1 other failure, not minimized: numeric: Mine: ill-formed: other",
    ]


def test_what_a_test_plants_is_tried_alone_first(tmp_path: Path) -> None:
    fragment = Fragment(lambda x: relax.op.negative(relax.op.exp(x)), shapes=((2,),))
    assert planted(given(ir_modules(plant=[relax.op.abs, fragment]))(lambda module: None))[1:] == [fragment]
    assert planted(given(ir_modules())(lambda module: None)) == planted(lambda module: None) == []
    (tmp_path / "own.py").write_text(RAISES)
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        value: relax.Expr = x
        for operator in (relax.op.abs, relax.op.sin, relax.op.exp, relax.op.negative):
            value = builder.emit(operator(value))
        builder.emit_func_output(value)
    case, alone = (
        Case(str(tvm.ir.save_json(each)), (PassRef("Refuses", f"user:{tmp_path}/own.py:Refuses"),), 0)
        for each in (builder.get(), fragment.alone())
    )
    (seen,) = failures(case, OracleName.CRASH)
    passing = Case(str(tvm.ir.save_json(Fragment(relax.op.abs).alone())), case.passes, 0)
    reduced = reduce_case(case, seen, SearchLimits(0, 30.0), smaller=[passing, alone])
    assert (reduced.bindings_before, reduced.bindings) == (4, 2), "no query was needed"


@pytest.mark.parametrize(
    ("before", "after", "steps", "said"),
    [
        (5, 2, ("drop bindings",), "minimized from 5 bindings to 2 in 0 s; "),
        (5, 2, (), "minimized from 5 bindings to 2 in 0 s; "),
        (2, 2, ("shrink dims",), "simplified (2 bindings) in 0 s; "),
        (1, 1, (), "no smaller module found (1 binding) in 0 s; "),
    ],
)
def test_a_module_is_said_to_be_minimized_only_if_it_is_smaller(
    before: int, after: int, steps: tuple[str, ...], said: str
) -> None:
    """A text said ``minimized from 2 bindings to 2``."""
    once = Confirmation(1, 1)
    found = Minimized(Case("", (), 0), reproduced=True, steps=steps)
    reduced = Reduced(PredicateCriterion("a.py:b"), found, before, after, "", once, once)
    assert _size(reduced) == [f"{said}reproduced 1/1 times"]


def test_shapes_and_blocks_of_a_module_built_by_hand_are_reduced(tmp_path: Path) -> None:
    """Its types share nodes, so that each smaller module had a longer JSON, and the search went back to the first."""
    (tmp_path / "own.py").write_text(RAISES.replace("if ", 'if "R.add" in str(func) and '))
    builder, kind = relax.BlockBuilder(), relax.TensorType((4, 5), "float32")
    x, y = relax.Var("x", kind), relax.Var("y", kind)
    with builder.function("main", [x, y]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.add(builder.emit(relax.op.exp(x)), y))
        builder.emit_func_output(result)
    passes = (PassRef("Refuses", f"user:{tmp_path}/own.py:Refuses"),)
    case = Case(str(tvm.ir.save_json(builder.get())), passes, 0)
    (seen,) = failures(case, OracleName.CRASH)
    script = reduce_case(case, seen, SearchLimits(10**9, 30.0)).script
    assert "R.Tensor((1,)" in script
    assert "dataflow" not in script


def told(folder: Path, expression: str) -> str:
    """The text of a failure of the pass below, as a test of this name would show it."""
    (folder / "own.py").write_text(RAISES)
    module = Fragment(relax.op.exp, shapes=((2,),)).alone()
    case = Case(str(tvm.ir.save_json(module)), (PassRef("Refuses", f"user:{folder}/own.py:Refuses"),), 0)
    (seen,) = failures(case, OracleName.CRASH)
    judged = JudgedModule(
        replace(
            case,
            passes=(PassRef(expression.rpartition(".")[2][:-2] or "Refuses", expression or case.passes[0].expression),),
        ),
        "",
    )
    item: Any = SimpleNamespace(nodeid="test_own.py::test_own", obj=lambda module: None)
    options: Any = SimpleNamespace(minimize=30.0, case_timeout=20.0, full=False, out=folder / "scripts")
    return failure_text(item, judged, seen, options)


@pytest.mark.parametrize(
    ("exit_code", "hits", "said"),
    [
        (0, 8, "This script does not reproduce the failure every time, but in 8 of 10 runs: "),
        (0, 0, "No script reproduces this failure. The closest ("),
        (None, 9, "No script reproduces this failure. The closest ("),
    ],
)
def test_how_often_a_script_shows_the_failure_is_said_if_it_does_not_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int | None, hits: int, said: str
) -> None:
    outcomes = iter([ReproResult(1, "BUG: boom\n")] * hits + [ReproResult(0, "OK: nothing\n")] * (9 - hits))
    monkeypatch.setattr(text, "check_pristine", lambda *_: ReproResult(exit_code, "OK: nothing\n"))
    monkeypatch.setattr(text, "check_text", lambda *_: next(outcomes))
    (line,) = (each for each in told(tmp_path, "").splitlines() if "reproduce" in each and "reproduced" not in each)
    assert line.startswith(said)
    assert "python" in line


@pytest.mark.parametrize(
    ("expression", "advised"), [("relax.transform.FuseOps()", True), ("relax.transform.FoldConstant()", False)]
)
def test_arguments_are_spoken_of_only_if_a_pass_of_tvm_takes_some(
    tmp_path: Path, expression: str, advised: bool
) -> None:
    said = told(tmp_path, expression)
    assert "not minimized: the failure does not recur in a fresh process" in said
    assert ("give a pass with arguments" in said) is advised


RAISES = """
from tvm import relax


@relax.transform.function_pass(opt_level=0)
class Refuses:
    def transform_function(self, func, mod, ctx):
        if "R.exp" in str(func):
            raise ValueError("no exp")
        return func
"""
