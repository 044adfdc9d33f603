"""The nearest module that passes: edits of a text, and the search for one that the oracle is content with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.findings.script_parts import Nearest
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge, judge_request
from fuzzer.repro.markdown import _nearest
from fuzzer.repro.nearest.edits import MOST_LINES, edits_between, module_of, neighbours
from fuzzer.repro.nearest.search import Attempt, attempt_request, nearest_passing
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.render import render_repro
from fuzzer.repro.title import title_of
from fuzzer.triage.script import repro_script
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASS = '''
import os
import signal

import tvm


def picky(module, context):
    """Fails on one attribute of one operator."""
    if "axis=1" in module.script():
        raise RuntimeError("no such axis")
    return module


def slow(module, context):
    raise RuntimeError("always")


def strict(module, context):
    """Fails on a variable whose type lacks the dtype of its value."""
    binding = module["main"].body.blocks[0].bindings[-1]
    if binding.var.ty.dtype is None and binding.value.ty.dtype is not None:
        raise RuntimeError("no dtype")
    return module.with_attr("name", 1)


Strict = lambda: tvm.transform.module_pass(strict, opt_level=0, name="Strict")
Picky = lambda: tvm.transform.module_pass(picky, opt_level=0, name="Picky")
def renaming(module, context):
    """Fails on axis 1, leaves modules with axis 0 as they are, and changes all others."""
    picky(module, context)
    return module if "axis=0" in module.script() else module.with_attr("name", 1)


Renaming = lambda: tvm.transform.module_pass(renaming, opt_level=0, name="Renaming")
def two_axes(module, context):
    """Fails on two of three axes."""
    if "axis=1" in module.script() or "axis=2" in module.script():
        raise RuntimeError("no such axis")
    if "axis=-1" in module.script():
        raise RuntimeError("another error")
    return module


def deadly(module, context):
    """Dies where the other one fails."""
    try:
        return two_axes(module, context)
    except RuntimeError:
        os.kill(os.getpid(), signal.SIGSEGV)


Deadly = lambda: tvm.transform.module_pass(deadly, opt_level=0, name="Deadly")
def emptying(module, context):
    """Fails on axis 1, and drops all functions of other modules."""
    picky(module, context)
    return tvm.IRModule({})


Emptying = lambda: tvm.transform.module_pass(emptying, opt_level=0, name="Emptying")
TwoAxes = lambda: tvm.transform.module_pass(two_axes, opt_level=0, name="TwoAxes")
Always = lambda: tvm.transform.module_pass(slow, opt_level=0, name="Always")
'''
MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2, 3), dtype="float32") = R.nn.relu(x)
            gv: R.Tensor((2, 3), dtype="float32") = R.nn.softmax(lv, axis=1)
            R.output(gv)
        return gv
"""


def failing(folder: Path, name: str, module: Any = MODULE) -> tuple[Case, Verdict, Judge, IsolatedWorker]:
    path = folder / "passes_of_this_test.py"
    path.write_text(PASS)
    module = load(module) if isinstance(module, str) else module
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, f"user:{path}:{name}"),), 1)
    worker = IsolatedWorker()
    judge = Judge(worker, (OracleName.CRASH,))
    (verdict,) = judge.verdicts(case)
    return case, verdict, judge, worker


def test_the_nearest_module_has_another_attribute_which_the_title_tells(tmp_path: Path) -> None:
    case, verdict, judge, worker = failing(tmp_path, "Picky")
    with worker:
        nearest = nearest_passing(case, verdict, judge, 60)
    assert nearest is not None
    assert nearest.what == "another attribute"
    assert nearest.diff().splitlines()[0].strip().endswith("R.nn.softmax(lv, axis=1)")
    parts = render_repro(case, verdict, signature(verdict).text, nearest).parts
    assert parts.nearest == nearest
    assert parts.words.title == "Picky fails at passes_of_this_test.py:11 on relax.nn.softmax with axis=1: no such axis"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TwoAxes", " of the result of relax.nn.relu: no such axis"),
        ("Deadly", " of the result of relax.nn.relu: SIGSEGV"),
        ("Picky", " with axis=1: no such axis"),
    ],
)
def test_no_condition_is_claimed_that_a_failing_neighbour_lacks(tmp_path: Path, name: str, said: str) -> None:
    """A pass that fails on two of three axes was said to fail on the first of them."""
    case, verdict, judge, worker = failing(tmp_path, name, MODULE.replace("(2, 3)", "(2, 3, 4)"))
    with worker:
        nearest = nearest_passing(case, verdict, judge, 60)
    assert nearest is not None
    ((_, new),) = nearest.edits
    assert "axis=" not in new or "axis=0" in new or name == "Picky"
    assert any("axis=2" in other for edits in nearest.failing for _, other in edits) == (name != "Picky")
    title = render_repro(case, verdict, signature(verdict).text, nearest).parts.words.title
    assert f" on relax.nn.softmax{said}" in title


def test_a_pass_that_always_fails_has_none(tmp_path: Path) -> None:
    case, verdict, judge, worker = failing(tmp_path, "Always")
    with worker:
        assert nearest_passing(case, verdict, judge, 1) is None
        assert nearest_passing(case, verdict, judge, 0) is None, "nothing is looked for"


def test_the_search_ends_after_so_many_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.repro.nearest.search.NEAREST_QUERIES", 3)
    case, verdict, judge, worker = failing(tmp_path, "Always")
    asked: list[str] = []
    with worker:
        ask = judge.ask

        def noted(function: Any, *arguments: Any) -> Any:
            asked.append(getattr(function, "name", "attempt"))
            return ask(function, *arguments)

        monkeypatch.setattr(judge, "ask", noted)
        assert nearest_passing(case, verdict, judge, 60) is None
    assert asked == ["neighbours", *["attempt"] * 3]


def test_neighbours_differ_in_few_lines_and_telling_edits_come_first() -> None:
    case = str(tvm.ir.save_json(load(MODULE)))
    found = neighbours(case)
    whats = [nearest.what for nearest, _ in found]
    assert {"another attribute", "another operator", "another dim", "another dtype", "another result"} <= set(whats)
    assert whats.index("another attribute") < whats.index("another operator") < whats.index("another result")
    assert len({text for _, text in found}) == len(found)
    assert all(len(nearest.edits) <= 3 for nearest, _ in found)


SYMBOLIC = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m", 3), dtype="float32")) -> R.Shape(ndim=2):
        lv: R.Tensor((), dtype="float32") = R.const(5.0, "float32")
        gv: R.Shape(ndim=2) = R.shape_of(R.add(x, lv))
        gv1 = R.add(R.zeros(R.shape([3]), "float32"), lv)
        return gv
"""


def test_neighbours_say_something() -> None:
    """Texts that are no Python, and dims and constants of one, which hide what is wrong, were shown as passing."""
    shown = [nearest for nearest, _ in neighbours(str(tvm.ir.save_json(load(SYMBOLIC))))]
    news = [new for nearest in shown for _, new in nearest.edits]
    assert "a static dim for a symbolic one" in {each.what for each in shown}
    assert not [new for new in news if "= R\n" in f"{new}\n" or '"4"' in new]
    assert not [new for new in news if "(1, 3)" in new or "R.const(1.0" in new]
    assert all(sum(max(map(len, map(str.splitlines, each))) for each in one.edits) <= MOST_LINES for one in shown)


ORDINARY = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32"), x1: R.Tensor((2, 2, 2), dtype="float32")) -> R.Tensor:
        lv = R.nn.adaptive_avg_pool1d(x1, output_size=None, layout="NCW", out_layout="NCW")
        lv1 = R.matmul(x, R.less(x, T.float32(1.0)))
        lv2 = R.sum(x1, axis=[0, 1])
        gv = R.call_pure_packed("outside", lv, ty_args=(R.Tensor,))
        return gv
"""


def test_an_ordinary_operand_is_tried_in_the_place_of_a_rare_one() -> None:
    """A scalar, an unknown shape and a dim less were left alone, and so was what changes the type of a result."""
    case = str(tvm.ir.save_json(load(ORDINARY)))
    found = {
        each.what: "\n".join(new for _, new in each.edits) for each, text in neighbours(case) if module_of(text, case)
    }
    assert 'R.less(x, R.const(1.0, "float32"))' in found["a tensor for a scalar"]
    assert "R.Tensor((2,), dtype=" in found["a known type"]
    assert "x: R.Tensor((2, 2)" in found["another rank"]
    for attribute in ("output_size=[1]", "axis=[0],"):
        assert any(attribute in each.diff() and module_of(text, case) for each, text in neighbours(case))


def test_a_module_of_which_nothing_is_left_does_not_count_as_passing(tmp_path: Path) -> None:
    case, verdict, judge, worker = failing(tmp_path, "Emptying")
    with worker:
        seen = judge.ask(
            attempt_request, case, MODULE.replace("axis=1", "axis=0"), judge.oracles, signature(verdict).id
        )
    assert seen is Attempt.UNTOLD


def test_a_text_of_no_module_is_no_neighbour() -> None:
    case = str(tvm.ir.save_json(load(MODULE)))
    assert module_of("no module", case) is None
    assert module_of(MODULE, case) is None, "the failing one"
    assert module_of(MODULE.replace("axis=1", "axis=0"), case) is not None
    assert module_of(MODULE.replace("(2, 3)", "(2, 4)", 1), case) is None, "types that contradict each other"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nc\n"),
        ("a\nb\nc\n", "a\nb\nx\nc\n"),
        ("b\na\nb\nb\n", "b\na\nx\nb\n"),
        ("a\nb\nc", "a\nb\nx"),
        ("a\nb\na\nb\nc\n", "a\nb\na\nx\nc\n"),
    ],
)
def test_edits_make_one_text_of_the_other(before: str, after: str) -> None:
    edits = edits_between(before, after)
    assert edits is not None
    nearest = Nearest("", edits)
    assert nearest.of(before)
    assert nearest.applied(before) == after


def test_edits_are_shown_without_what_both_sides_have() -> None:
    def shown(*edits: tuple[str, str]) -> list[str]:
        return Nearest("", edits).diff().splitlines()

    assert shown(("a\nb\nc", "a\nx\ny\nc"), ("d", "")) == ["- b", "+ x", "+ y", "- d"]
    assert shown(("a", "a\nb"), ("a\na", "a")) == ["+ b", "- a"]


@pytest.mark.timeout(30)  # `difflib` took hours for the first, or minutes for the second
def test_long_edits_are_read_once() -> None:
    numbers = range(50_000)
    unlike = ["\n".join(f"{word} {number}" for number in numbers) for word in ("some line", "another line")]
    alternating = ["\n".join(f"{number}\n{word} {number}" for number in numbers) for word in ("old", "new")]
    assert len(Nearest("", (tuple(unlike), tuple(alternating))).diff().splitlines()) == 6 * len(numbers) - 2


def test_too_many_edits_are_none() -> None:
    before = "".join(f"{number}\n" for number in range(20))
    assert edits_between(before, before.replace("1", "x")) is None
    assert edits_between(before, before) is None


IN_PLACE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tuple(R.Tensor((1,), dtype="float32")):
        with R.dataflow():
            lv: R.Tensor((1,), dtype="float32") = R.abs(x)
            lv1: R.Tuple(R.Tensor((1,), dtype="float32")) = (lv,)
            lv2: R.Tensor((1,), dtype="float32") = R.add(lv, lv)
            R.output(lv1, lv2)
        return lv1
"""


def test_a_module_that_passes_on_ones_alone_does_not_pass() -> None:
    """1 * 1 is 1: that the product overwrites the result was not seen, and it was shown as passing."""
    passes = (PassRef("DataflowUseInplaceCalls", "relax.transform.DataflowUseInplaceCalls()"),)
    case = Case(str(tvm.ir.save_json(load(IN_PLACE))), passes, -1)

    def attempt(old: str, new: str, sought: str = "") -> Attempt:
        return attempt_request(case, IN_PLACE.replace(old, new), (OracleName.NUMERIC,), sought)

    (verdict,) = judge_request(case, (OracleName.NUMERIC,))
    assert attempt("R.add(lv, lv)", "R.multiply(lv, lv)", signature(verdict).id) is Attempt.FAILS
    assert attempt("R.add(lv, lv)", "R.multiply(lv, lv)") is Attempt.UNTOLD, "another failure"
    assert attempt("= (lv,)", "= (x,)") in (Attempt.CHANGED, Attempt.LEFT)
    assert attempt("R.add(lv, lv)", "R.add(lv)") is Attempt.UNTOLD, "no module"


def test_the_short_script_is_run_with_the_edit_that_is_shown(tmp_path: Path) -> None:
    """The edit was that of annotated bindings, and the script failed with it as well."""
    case, verdict, _, worker = failing(tmp_path, "Picky")
    with worker:
        script = repro_script(case, verdict, full=False)
    shown = script.parts.passing
    assert shown is not None
    assert [each.strip() for each in re.split(r"^[+-]", shown.diff(), flags=re.MULTILINE)] == [
        "", "gv = R.nn.softmax(lv, axis=1)", "gv = R.nn.softmax(lv, axis=0)",
    ]  # fmt: skip
    assert shown.what == "another attribute"
    assert check_pristine(shown.applied(script.text), script.parts.ending).exit_code == 0
    assert shown.diff() in _nearest(script.parts)


def test_an_edit_with_which_the_script_fails_as_well_is_not_shown(tmp_path: Path) -> None:
    case, verdict, _, worker = failing(tmp_path, "Picky")
    line = next(each for each in MODULE.splitlines() if "relu" in each)
    wrong = Nearest("another operator", ((line, line.replace("relu", "silu")),))
    with worker:
        parts = repro_script(case, verdict, nearest=wrong, full=False).parts
    assert parts.nearest == wrong
    assert parts.passing is None
    assert _nearest(parts) == ""


def test_a_module_that_the_pass_changes_comes_before_one_that_it_leaves(tmp_path: Path) -> None:
    """That a pass does no harm where it does nothing was told instead."""
    case, verdict, judge, worker = failing(tmp_path, "Renaming")
    with worker:
        nearest = nearest_passing(case, verdict, judge, 60)
    assert nearest is not None
    assert "axis=0" not in nearest.applied(MODULE)


def test_a_dim_of_several_functions_becomes_static_in_all_of_them() -> None:
    function = "    @R.function{}\n    def {}(x: R.Tensor(('n',), 'float32')) -> R.Tensor(('n',), 'float32'):\n"
    body = "        lv: R.Tensor((n,), 'float32') = {}\n        return lv\n"
    text = (
        "@I.ir_module\nclass Module:\n"
        + function.format("(private=True)", "f1") + "        n = T.int64()\n" + body.format("R.exp(x)")
        + function.format("", "main") + "        n = T.int64()\n        cls = Module\n" + body.format("cls.f1(x)")
    )  # fmt: skip
    found = [pair for pair in neighbours(str(tvm.ir.save_json(load(text)))) if pair[0].what.startswith("a static dim")]
    assert any({"4"} == {*re.findall(r'Tensor\(\("?(\w+)', other)} for _, other in found)
    assert all(near.tells for near, _ in found)


def loose() -> tvm.IRModule:
    """Return a module with a variable whose type lacks the dtype of its value, which its text does not give back."""
    x, y, z = (relax.Var(name, relax.TensorType((1, 1), "float32")) for name in "xyz")
    first, second = relax.Var("lv", x.ty), relax.Var("lv1", relax.TensorType((1, 1), dtype=None))
    values = relax.op.matmul(x, z), relax.op.matmul(x, y, out_dtype="float64")
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y, z]):
        for var, value in zip((first, second), values, strict=True):
            builder.emit_normalized(relax.VarBinding(var, builder.normalize(value)))
        builder.emit_func_output(second)
    return builder.get()


KERNEL = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def tir_abs(x: T.Buffer((T.int64(1),), "float32"), y: T.Buffer((T.int64(1),), "float32")):
        for i0 in range(T.int64(1)):
            with T.sblock("y"):
                v0 = T.axis.spatial(T.int64(1), i0)
                y[v0] = x[v0]

    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        cls = Module
        lv = R.call_tir(cls.tir_abs, (x,), R.Tensor((1,), dtype="float32"))
        return lv
"""
ROTATED = 'tvm.transform.module_pass(lambda mod, _: relaid(mod, "rotated"), 0, name="suggest_layout_transforms")'


@pytest.mark.parametrize(
    ("module", "ref", "what", "title"),
    [
        (loose(), PassRef("CombineParallelMatmul", "relax.transform.CombineParallelMatmul()"), "a known type",
         "CombineParallelMatmul fails when a variable has no dtype: an empty Optional is read"),
        (load(KERNEL), PassRef("suggest_layout_transforms", ROTATED), "another dim",
         "suggest_layout_transforms fails on a dim of 1"),
    ],
)  # fmt: skip
def test_types_and_sizes_are_changed_everywhere_at_once(module: Any, ref: PassRef, what: str, title: str) -> None:
    case = Case(str(tvm.ir.save_json(module)), (ref,), 1)
    with IsolatedWorker() as worker:
        judge = Judge(worker, (OracleName.CRASH,))
        (verdict,) = judge.verdicts(case)
        nearest = nearest_passing(case, verdict, judge, 60)
    assert nearest is not None
    assert nearest.what == what
    assert title_of(case, verdict, nearest) == title


def test_nothing_is_said_of_a_module_that_does_not_fail_as_it_is_read(tmp_path: Path) -> None:
    case, verdict, judge, worker = failing(tmp_path, "Strict", loose())
    with worker:
        assert nearest_passing(case, verdict, judge, 60) is None
