"""What a test of a pass rests on: modules that the pass changed, several failures, what is known, and notes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from oracles.core.notes import STRICT
from relaxfuzz import OracleName, ir_modules
from relaxfuzz.pytest_plugin.child import advice
from relaxfuzz.pytest_plugin.plugin import _evidence

PASSES = """
import tvm
from hypothesis import given, settings
from relaxfuzz import OracleName, check, ir_modules
from relaxfuzz.pytest_plugin import child

child.SECONDS_MORE = 2.0  # the second failure is found in less; a third one, of which there is none, is looked for
QUICK = [OracleName.CRASH]


@tvm.transform.module_pass(opt_level=0, name="Nothing")
def nothing(module, context):
    return module


@tvm.transform.module_pass(opt_level=0, name="Refuses")
def refuses(module, context):
    if len(module.functions) > 1:
        raise ValueError("more than one function")
    raise TypeError("one function alone")


@tvm.transform.module_pass(opt_level=0, name="Counts")
def counts(module, context):
    number = int(module.attrs["runs"]) if module.attrs and "runs" in module.attrs else 0
    return module.with_attrs({"runs": number + 1})
"""


def run(folder: Path, tests: str, *arguments: str, ini: str = "") -> str:
    folder.joinpath("test_given.py").write_text(PASSES + tests)
    folder.joinpath("pytest.ini").write_text(f"[pytest]\n{ini}\n")
    command = [sys.executable, "-m", "pytest", "--relaxfuzz-seed", "1", "--relaxfuzz-minimize", "1s", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, check=False)
    return done.stdout + done.stderr


NOTHING = """
@settings(max_examples=20)
@given(ir_modules())
def test_nothing_20(module):
    check(module, nothing, oracles=QUICK)


@settings(max_examples=5)
@given(ir_modules())
def test_nothing_5(module):
    check(module, nothing, oracles=QUICK)
"""
TWO = """
@given(ir_modules())
def test_two(module):
    check(module, refuses, oracles=QUICK)
"""
OTHERS = """
@settings(max_examples=3)
@given(ir_modules())
def test_counts(module):
    check(module, counts, oracles=[OracleName.CRASH, OracleName.IDEMPOTENCE])


@given(ir_modules())
def test_wrong(module):
    check(module, nothing, oracles=QUICK)
    undefined
"""
DOUBLED = """
import numpy as np
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


@mutator
class Doubling(PyExprMutator):
    factor = 2

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op == tvm.ir.Op.get("relax.add") and call.args[0].same_as(call.args[1]) and call.ty.dtype:
            return relax.op.multiply(call.args[0], relax.const(np.array(self.factor, str(call.ty.dtype))))
        return call


@relax.transform.function_pass(opt_level=0, name="Doubled")
class Doubled:
    def transform_function(self, function, module, context):
        return Doubling(module).visit_expr(function)


@mutator
class Tripling(Doubling._cls):
    factor = 3


@relax.transform.function_pass(opt_level=0, name="Tripled")
class Tripled:
    def transform_function(self, function, module, context):
        return Tripling(module).visit_expr(function)


NUMBERS = [OracleName.NUMERIC]


@settings(max_examples=20)
@given(ir_modules(operators={"relax.add": 30}, max_bindings=6))
def test_doubled(module):
    check(module, Doubled, oracles=NUMBERS)


def test_never_executed():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        doubled = builder.emit(relax.op.add(x, x))
        builder.emit_func_output(builder.emit(relax.op.ewise_fma(doubled, x, x)))  # which has no kernel
    check(builder.get(), Tripled, oracles=NUMBERS)
"""
PROMISED = """
from dataclasses import replace

from relaxfuzz import Idempotence, default_contract

CONTRACT = replace(default_contract("Counts"), idempotence=Idempotence.IDEMPOTENT)


@given(ir_modules())
def test_promised(module):
    check(module, counts, oracles=[OracleName.IDEMPOTENCE], contract=CONTRACT)


@given(ir_modules())
def test_unsendable(module):
    promise = replace(CONTRACT, fixpoint_extra=lambda module: 0)
    check(module, counts, oracles=[OracleName.IDEMPOTENCE], contract=promise)
"""
MISTAKEN = """
@given(ir_modules())
def test_mistaken_{number}(module):
    check(module, {given})
"""
MISTAKES = (
    ('"test_given:nothng"', "'test_given' has no 'nothng'; did you mean nothing"),
    ('"test_given.nothing"', "'test_given.nothing'; did you mean test_given:nothing?"),
    ("None", "check was given None, not a pass;"),
    ("lambda module: module", "<lambda>() raised TypeError"),
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one run of pytest prints of all these tests, without settings."""
    mistaken = [MISTAKEN.format(number=number, given=given) for number, (given, _) in enumerate(MISTAKES)]
    return run(tmp_path_factory.mktemp("all"), "".join([NOTHING, TWO, OTHERS, DOUBLED, PROMISED, *mistaken]))


def section(said: str, test: str) -> str:
    """What is said of a failed test."""
    _, _, behind = said.partition(f"_ {test} _")
    assert behind, said
    return re.split(r"^(?:__+ test_|=====+ |relaxfuzz: )", behind.partition("\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def is_green_where_nothing_changed(said: str, examples: int, green: bool) -> bool:
    """Return whether there is a warning."""
    line = rf"test_nothing_{examples}: \d+ examples, \d+ modules judged, 0 of them changed by the pass, \d+ operators"
    assert re.search(line, said), said
    assert (f"FAILED test_given.py::test_nothing_{examples} " not in said) is green, said
    assert (f"the pass changed 0 of {examples} modules and none of " in said) is not green
    return f"test_nothing_{examples}: warning: the pass changed none of the {examples} modules. Use ir_mod" in said


def test_green_and_empty_is_not_green(said: str) -> None:
    is_green_where_nothing_changed(said, 20, False)
    assert is_green_where_nothing_changed(said, 5, True)


@pytest.mark.parametrize(("least", "marked"), [(1, 0), pytest.param(0, 1, marks=pytest.mark.slow)])
def test_how_many_must_change_can_be_said(tmp_path: Path, least: int, marked: int) -> None:
    """For all tests, and for one by its marker."""
    first, found, second = NOTHING.partition("@settings(max_examples=5)")
    marker = f"import pytest\n\n\n@pytest.mark.relaxfuzz(min_changed={marked})\n"
    said = run(tmp_path, f"{first}{marker}{found}{second}", ini=f"relaxfuzz_min_changed = {least}")
    is_green_where_nothing_changed(said, 20, least == 0)
    assert not is_green_where_nothing_changed(said, 5, marked == 0)


def test_two_failures_are_told_and_where_the_first_was_raised(said: str) -> None:
    told = section(said, "test_two")
    assert "1 other failure, not minimized: " in told, said
    assert "more than one function" in told
    assert "one function alone" in told
    assert re.search(r"test_given\.py:\d+ in refuses: raise \w+Error\(", told)


@pytest.mark.slow
def test_what_is_known_is_accepted(tmp_path: Path) -> None:
    first = run(tmp_path, TWO)
    (known,) = re.findall(r"its id ([0-9a-f]{10})", first)
    entry = f'[[known]]\nid = "{known}"\nreference = "here"\nreason = "a test"\n'
    tmp_path.joinpath("known.toml").write_text(entry)
    again = run(tmp_path, TWO, "--relaxfuzz-known", "known.toml")
    assert "1 failed" in again, again
    assert known not in again
    assert "other failure" not in again
    # The file that the configuration names does the same.
    again = run(tmp_path, TWO, ini="relaxfuzz_known = known.toml")
    assert "1 failed" in again, again
    assert known not in again
    assert "there.toml" in run(tmp_path, TWO, ini="relaxfuzz_known = there.toml")
    known_in_code = TWO.replace("oracles=QUICK", 'oracles=QUICK, known=["crash: Refuses"]')
    assert "1 passed" in run(tmp_path, known_in_code, ini="relaxfuzz_min_changed = 0")


def test_how_many_results_were_compared_is_said(said: str) -> None:
    (line,) = re.findall(r"test_doubled: (\d.*)", said)
    told = r"(\d+) of them changed .*; results compared for (\d+) of (\d+) \((.*?)\)[^;]*;"
    found = re.search(told, line)
    assert found is not None, line
    changed, compared, of = (int(each) for each in found.groups()[:3])
    # How each result was compared depends on what was drawn; that every one of them is counted does not.
    ways = re.findall(r"(\d+) (proved|interpreted|executed)", found[4])
    assert sum(int(number) for number, _ in ways) == compared, line
    assert changed == of >= compared > changed / 2 > 0, line


@pytest.mark.parametrize(
    ("judged", "changed", "failed", "warned"),
    [(100, 6, 0, True), (100, 10, 0, False), (10, 1, 0, False), (100, 6, 1, False)],
)
def test_a_pass_that_changed_few_modules_is_said_to_be_hardly_tested(
    judged: int, changed: int, failed: int, warned: bool
) -> None:
    counts = {"examples": judged, "checks": judged, "changed": changed, "compared": changed, "fail": failed}
    said = told_of(counts, {})
    assert (f"warning: the pass changed only {changed} of {judged} modules" in said) is warned, said


@pytest.mark.parametrize(
    ("judged", "dead", "failed", "warned"),
    [(100, 13, 0, True), (100, 11, 0, False), (100, 13, 1, False), (19, 13, 0, False)],
)
def test_dead_code_in_over_half_of_the_changed_modules_is_a_warning(
    judged: int, dead: int, failed: int, warned: bool
) -> None:
    """A test whose pass changed dead code alone in most modules was green on a wrong rewrite."""
    counts = {"examples": judged, "checks": judged, "changed": 23, "compared": 22, "dead": dead, "fail": failed}
    said = told_of(counts, {})
    expected = f"warning: in {dead} of the 22 modules whose results were compared, the pass changed only dead code"
    assert (expected in said) is warned, said
    assert ("plant=" in said) is warned, said


def told_of(counts: dict[str, int], uncompared: dict[str, int], notes: dict[str, int] | None = None) -> str:
    nothing: dict[str, int] = {}
    rest = {"notes": notes or nothing, "removed": nothing, "added": nothing, "advice": "Use it.", "unshown": False}
    return "\n".join(_evidence({"counts": counts, "uncompared": uncompared, **rest}))


def test_a_test_that_fails_prints_no_note() -> None:
    """The message has 40 lines at most, and a failure comes first."""
    assert "note (2 modules): why" in told_of({"checks": 3}, {}, {"why": 2})
    assert "note" not in told_of({"checks": 3, "fail": 1}, {}, {"why": 2})


MANY = ("add", "abs", "split", "concat", "tanh", "exp", "log", "sum", "mean", "max")


def advice_with(operators: dict[str, int] | str | None) -> str:
    return advice(given(ir_modules(operators=operators))(lambda module: None))


def test_the_advice_is_not_what_the_test_does_already(tmp_path: Path) -> None:
    counts = {"examples": 100, "checks": 100, "changed": 6, "compared": 6}
    assert "warning: the pass changed only 6 of 100 modules. Use it." in told_of(counts, {})
    assert 'Use ir_modules(operators="FILE.py:PASS") to generate the operators' in advice_with(None)
    aimed = advice_with({"split": 3, "relax.add(_, relax.abs)": 1})
    assert (
        "Generating relax.split and relax.add(_, relax.abs) more often was not enough. "
        "Keep `operators`, and add plant=Fragment(...) to" in aimed
    )
    assert "FILE.py:PASS" not in aimed
    assert "relax.sum and 2 more more often" in advice_with(dict.fromkeys(MANY, 1))
    (tmp_path / "named_beside.py").write_text("def run():\n    return 1\n\n\nNAME = 'relax.split'\n")
    beside = advice_with(f"{tmp_path}/named_beside.py:run")
    assert (
        "Generating relax.split (all that its files name, because the source of the pass itself names no op" in beside
    )


DEAD_AND_REFUSED = """
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.relax.expr_functor import PyExprMutator, mutator

from relaxfuzz import Refusal, default_contract
from dataclasses import replace


@mutator
class Multiplying(PyExprMutator):
    def visit_call_(self, call):
        if call.op == tvm.ir.Op.get("relax.subtract"):
            return relax.op.multiply(call.args[1], call.args[0])
        return call


@relax.transform.function_pass(opt_level=0, name="Multiplied")
class Multiplied:
    def transform_function(self, function, module, context):
        return Multiplying(module).visit_expr(function)


def subtracted(call, matched):
    return relax.op.subtract(call.args[0], relax.op.negative(call.args[1]))


@relax.transform.function_pass(opt_level=0, name="Both")
class Both:
    def transform_function(self, function, module, context):
        function = Multiplying(module).visit_expr(function)
        return rewrite_call(is_op("relax.add")(wildcard(), wildcard()), subtracted, function)


@tvm.transform.module_pass(opt_level=0, name="Never")
def never(module, context):
    raise ValueError("not supported")


REFUSES = replace(default_contract("Never"), refusals=(Refusal("ValueError", "not supported", "ours", "here"),))


def dead_subtract():
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit(relax.op.subtract(x, relax.op.abs(x)))
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.op.abs(x))))
    return builder.get()


def test_dead():
    check(dead_subtract(), Multiplied, oracles=[OracleName.NUMERIC])


def test_partly_dead():
    check(dead_subtract(), Both, oracles=[OracleName.NUMERIC])


@settings(max_examples=20)
@given(ir_modules())
def test_refused(module):
    check(module, never, contract=REFUSES)
"""


def test_changes_of_dead_code_and_refusals_are_told(tmp_path: Path) -> None:
    said = run(tmp_path, DEAD_AND_REFUSED)
    assert re.search(
        r"test_dead: .* for 1 of 1 \(.*\); in 1 of these modules, the pass changed only dead code;", said
    ), said
    assert "test_dead: calls removed" not in said, said
    assert re.search(r"test_partly_dead: .* compared for 1 of 1 \([^()]*\); verdicts", said), said
    assert re.search(r"the pass refused (\d+) and changed 0 of \1 modules; at least 1 is required.\n", said)


LATE = """
import pytest

SEEN = []


@tvm.transform.module_pass(opt_level=0)
def late(module, context):
    return module.with_attr("late", 1) if len(SEEN) > 25 else module


@pytest.mark.relaxfuzz
@settings(max_examples=20)
@given(ir_modules())
def test_late(module):
    SEEN.append(module)
    check(module, late, oracles=QUICK)
"""


@pytest.mark.parametrize(("first", "marker"), [(20, "relaxfuzz"), (10, "relaxfuzz(min_changed=1)")])
def test_a_pass_that_changed_no_module_is_given_more(tmp_path: Path, first: int, marker: str) -> None:
    said = run(tmp_path, LATE.replace("mark.relaxfuzz", f"mark.{marker}").replace("=20", f"={first}"))
    found = re.search(r"test_late: (\d+) examples, (\d+) modules judged, (\d+) of them changed by the pass", said)
    assert found, said
    examples, judged, changed = map(int, found.groups())
    assert first < judged == first + changed < examples <= 40
    assert "1 passed" in said
    assert "changed none" not in said


def test_what_was_not_compared_is_accounted_for_and_what_is_known_is_counted() -> None:
    said = told_of({"examples": 60, "checks": 60, "changed": 52, "compared": 49, "known": 2}, {"known": 2, "why": 1})
    assert "results compared for 49 of 52; 3 not compared: known failures (2), why (1);" in said
    assert said.endswith("0 failed; 2 failures accepted as known")
    many = {str(number): 10 - number for number in range(6)}
    assert "0 (10), 1 (9), 2 (8), other reasons (18);" in told_of({"checks": 60, "changed": 52}, many)


def test_where_no_result_was_compared_a_warning_is_printed(said: str) -> None:
    (line,) = re.findall(r"test_never_executed: (warning: .*)", said)
    assert line.startswith("warning: none of the changed modules' results were compared"), line
    assert "reason: original does not build" in line


def test_a_note_fails_nothing(said: str) -> None:
    assert "FAILED test_given.py::test_counts" not in said, said
    assert re.search(
        r"note \(\d modules?\): Running the pass a second time changes .*, and no contract .* is allowed\.\n", said
    )
    assert re.search(
        r"test_counts: To allow this, add: `\w+\.contract = .*NEVER\)`\. To make the pass promise not to do this, ",
        said,
    )
    assert f"test_counts: {STRICT}" in said


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_in_naming_the_pass_is_a_few_lines(said: str, number: int) -> None:
    given, expected = MISTAKES[number]
    told = section(said, f"test_mistaken_{number}")
    assert expected in told.splitlines()[0], said
    assert f"in test_mistaken_{number}: check(module, {given})" in told
    assert len(told.splitlines()) <= 8
    assert not re.search(rf"^.*test_mistaken_{number}: .*\b0 modules judged", said, re.MULTILINE)
    assert f"FAILED test_given.py::test_mistaken_{number} - PassReferenceError: " in said
    assert "class Module" not in told


def test_another_exception_is_named_first_and_no_frame_of_the_plugin_is_shown(said: str) -> None:
    assert "FAILED test_given.py::test_wrong - NameError: name 'undefined' is not defined" in said
    assert "child.py" not in section(said, "test_wrong")


def test_a_contract_given_to_check_is_that_of_every_process(said: str) -> None:
    told = section(said, "test_promised")
    assert "expected: a second run changes nothing" in told, told
    assert "what the second run changes:\n" in told, told
    assert "; reproduced 3/3 times" in told
    assert "to reproduce the failure, run: " in told
    assert "the contract given to check cannot be pickled" in section(said, "test_unsendable")


OWN_PASS = (Path(__file__).resolve().parents[3] / "docs" / "own-pass.md").read_text(encoding="utf-8")
(REFUSING,) = re.findall(r"```python\n(# refusing\.py\n.*?)```", OWN_PASS, re.DOTALL)
REFUSED = """
from refusing import LowerClip


@settings(max_examples=20)
@given(ir_modules())
def test_refuses(module):
    check(module, LowerClip())
"""


def counted(said: str, test: str) -> dict[str, int]:
    """The numbers in a test's line, by the word that follows."""
    (line,) = re.findall(rf"{test}: (\d+ examples, .*)", said)
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}


@pytest.mark.slow
def test_a_declared_refusal_is_counted_and_fails_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("refusing.py").write_text(REFUSING)
    said = run(tmp_path, REFUSED, ini="relaxfuzz_min_changed = 0")
    assert "1 passed" in said, said
    found = counted(said, "test_refuses")
    assert found["rejected"] > 0
    assert sum(found[each] for each in ("passed", "skipped", "rejected", "failed")) == 20 * len(OracleName)


@pytest.mark.slow
def test_an_undeclared_refusal_says_how_to_declare_it(tmp_path: Path) -> None:
    """And its line counts no module twice, nor those of the search for other failures."""
    tmp_path.joinpath("refusing.py").write_text(REFUSING.partition("LowerClip.contract")[0])
    said = run(tmp_path, REFUSED)
    assert "1 failed" in said, said
    declared = 'replace(default_contract("LowerClip"), refusals=(Refusal("ValueError", r"rank 3 is not supported", '
    assert declared in re.sub("rank [0-9]", "rank 3", said), said
    found = counted(said, "test_refuses")
    assert found["examples"] == found["modules"] <= 20
    assert found["failed"] == found["module"] == 1, said
    assert found["passed"] + found["skipped"] + found["failed"] == found["examples"] * len(OracleName)


RAISING = """\
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


def _factor(call):
    return call.args[1].data.numpy().item()


@mutator
class _Rewriter(PyExprMutator):
    def visit_call_(self, call):
        call = self.visit_expr_post_order(call)
        if getattr(call.op, "name", "") == "relax.multiply" and not isinstance(call.args[1], relax.Var):
            if _factor(call) == 2.0:
                return relax.op.add(call.args[0], call.args[0])
        return call


@relax.transform.function_pass(opt_level=0)
class DoubleToAdd:
    def transform_function(self, func, mod, ctx):
        return _Rewriter(mod).visit_expr(func)
"""
DOUBLE = """
from raising import DoubleToAdd


@given(ir_modules(operators={"relax.multiply": 5}))
def test_double(module):
    check(module, DoubleToAdd())
"""


@pytest.mark.slow
def test_the_sample_failure_is_what_is_printed(tmp_path: Path) -> None:
    tmp_path.joinpath("raising.py").write_text(RAISING)
    said = run(tmp_path, DOUBLE).replace(str(tmp_path), "/home/me/project")
    (sample,) = re.findall(r"```text\n(DoubleToAdd fails.*?)minimized from", OWN_PASS, re.DOTALL)
    assert sample in said, said


def test_the_calls_that_a_pass_removed_and_added_are_counted(said: str) -> None:
    found = re.search(
        r"test_doubled: calls removed by the pass, dead code aside: relax\.add (\d+); "
        r"calls added: relax\.multiply (\d+)\n",
        said,
    )
    assert found, said
    assert int(found[1]) == int(found[2]) > 0
    assert "test_nothing_5: calls" not in said
