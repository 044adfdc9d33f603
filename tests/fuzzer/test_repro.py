"""Repro scripts: each oracle's script shows a planted defect, and passes with the pass mended."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from deaths import death
from tvm import relax

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.checks.numeric import NUMERIC_PIECES
from fuzzer.repro.literals import array_source, literal
from fuzzer.repro.module.format import wrapped
from fuzzer.repro.pieces.numeric import unpacked
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from fuzzer.repro.title import AGAIN
from oracles import calling as abi
from oracles.core.verdict import Breadcrumb, Details, Evidence, Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import cxx_available

PASSES = """
import itertools
import os
import signal
import time

import tvm
from tvm import relax

MENDED = False
serial = itertools.count()


def module_pass(name, run):
    def transform(module, context):
        return module if MENDED else run(module)

    return lambda: tvm.transform.module_pass(transform, opt_level=0, name=name)


def raising(module):
    raise RuntimeError("Check failed: (width == 3) is false: the width of the thing")


def overwriting(module):
    constant = module["main"].body.blocks[0].bindings[0].value.args[1]
    constant.value.copyfrom(constant.value.numpy() * 2)
    return module


def numbered(module):
    return module.with_attr("serial", next(serial))


def growing(module):
    return module.with_attr("grown", int(module.attrs["grown"]) + 1 if module.attrs and "grown" in module.attrs else 1)


def dangling(module):
    main = module["main"]
    stray = relax.Var("stray", main.params[0].ty)
    main = relax.Function(main.params, relax.SeqExpr([], stray), main.ret_ty, attrs=main.attrs)
    return tvm.IRModule({module.get_global_var("main"): main})


def other_parameters(module):
    main = module["main"]
    more = relax.Var("more", main.params[0].ty)
    main = relax.Function([*main.params, more], main.body, main.ret_ty, attrs=main.attrs)
    return tvm.IRModule({"main": main})


def forgotten_caller(module):
    builder = relax.BlockBuilder()
    x, y, more = (relax.Var(name, module["main"].params[0].ty) for name in ("x", "y", "more"))
    with builder.function("helper", [x], private=True):
        builder.emit_func_output(x)
    with builder.function("main", [y]):
        builder.emit_func_output(builder.emit(relax.Call(builder.get().get_global_var("helper"), [y])))
    made = builder.get()
    helper = made["helper"]
    made.update_func(made.get_global_var("helper"), relax.Function([x, more], helper.body, helper.ret_ty))
    return made


def one_percent(module):
    builder = relax.BlockBuilder()
    x = relax.Var("x", module["main"].params[0].ty)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(1.01, "float32"))))
    return builder.finalize()


def segfault(module):
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(module):
    time.sleep(600)


def leaving(code):
    return lambda module: os._exit(code)


def hungry(module):
    raise MemoryError


Raising = module_pass("Raising", raising)
Overwriting = module_pass("Overwriting", overwriting)
Numbered = module_pass("Numbered", numbered)
Growing = module_pass("Growing", growing)
Dangling = module_pass("Dangling", dangling)
OtherParameters = module_pass("OtherParameters", other_parameters)
ForgottenCaller = module_pass("ForgottenCaller", forgotten_caller)
OnePercent = module_pass("OnePercent", one_percent)
Segfault = module_pass("Segfault", segfault)
Hang = module_pass("Hang", hang)
Hungry = module_pass("Hungry", hungry)
Exit0, Exit1, Exit2, Exit3, Exit4 = (module_pass(f"Exit{code}", leaving(code)) for code in range(5))
"""


def sample() -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(np.ones((2, 3), "float32"), "float32"))))
    return builder.finalize()


@pytest.fixture
def passes(tmp_path: Path) -> Path:
    path = tmp_path / "planted_passes.py"
    path.write_text(PASSES)
    return path


def case_of(path: Path, name: str) -> Case:
    return Case(str(tvm.ir.save_json(sample())), (PassRef(name, f"user:{path}:{name}"),), 5)


def failure(case: Case, oracle: OracleName) -> Verdict:
    (verdict,) = [item for item in judge_case(case, (oracle,)) if item.outcome is Outcome.FAIL]
    return verdict


def script_of(case: Case, verdict: Verdict, folder: Path) -> Path:
    path = folder / "repro.py"
    path.write_text(render_repro(case, verdict, signature(verdict).text).text)
    return path


ORACLES = [
    ("Raising", OracleName.CRASH, "RuntimeError: Check failed: (width == 3)"),
    ("Overwriting", OracleName.MUTATION, "modified in place"),
    ("Numbered", OracleName.DETERMINISM, "gave a different module"),
    ("Growing", OracleName.IDEMPOTENCE, ""),
    ("Dangling", OracleName.WELL_FORMED, "is not defined"),
    ("OtherParameters", OracleName.WELL_FORMED, "parameter"),
    ("ForgottenCaller", OracleName.WELL_FORMED, "which does not fit"),
    ("OnePercent", OracleName.NUMERIC, "expected"),
]


@pytest.mark.parametrize(("name", "oracle", "says"), ORACLES, ids=[item[0] for item in ORACLES])
def test_a_script_shows_the_defect_and_its_absence(
    name: str, oracle: OracleName, says: str, passes: Path, tmp_path: Path
) -> None:
    if oracle is OracleName.NUMERIC and not cxx_available():
        pytest.skip("plain relax.build needs a C++ compiler")
    case = case_of(passes, name)
    if oracle is OracleName.IDEMPOTENCE:
        # A user's pass promises no idempotence: this verdict stands for one under a contract that does.
        verdict = Verdict(oracle, Outcome.FAIL, name, evidence=Evidence("not-equal", "other attributes"))
    else:
        verdict = failure(case, oracle)
    path = script_of(case, verdict, tmp_path)
    shown = check_repro(path)
    assert shown.confirmed, shown
    assert [line.startswith("BUG: ") for line in shown.output.splitlines()].count(True) == 1
    assert says in shown.output
    passes.write_text(PASSES.replace("MENDED = False", "MENDED = True"))
    gone = check_repro(path)
    assert gone.exit_code == 0, gone
    assert gone.output.startswith("OK: ")


def test_the_title_of_a_second_run_is_told_as_what_that_does(passes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzer.repro.render.title_of", lambda *_: f"Growing{AGAIN}adds relax.negative")
    evidence = Evidence("not-equal", "another Function", expected="a second run changes nothing")
    verdict = Verdict(OracleName.IDEMPOTENCE, Outcome.FAIL, "Growing", evidence=evidence)
    words = render_repro(case_of(passes, "Growing"), verdict, "").parts.words
    assert (words.title, words.observed) == (f"Growing{AGAIN}adds relax.negative", "the second run adds relax.negative")


def test_another_error_is_not_mistaken_for_the_defect(passes: Path, tmp_path: Path) -> None:
    case = case_of(passes, "Raising")
    path = script_of(case, failure(case, OracleName.CRASH), tmp_path)
    passes.write_text(PASSES.replace("is false: the width of the thing", "is false: something about the height"))
    result = check_repro(path)
    assert result.exit_code == 0
    assert result.output.startswith("DIFFERENT: ")


def death_script(passes: Path, name: str, kind: str, folder: Path) -> Path:
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, name, evidence=death(kind))
    path = script_of(case_of(passes, name), verdict, folder)
    path.write_text(path.read_text().replace(", 10.0", ", 1.0"))
    return path


DEATHS = [
    ("Segfault", "signal 11", "killed by signal 11"),
    ("Hang", "hang", "did not end within 1 s"),
    ("Hungry", "memory", "memory exhausted"),
    *((f"Exit{code}", f"exit {code}", f"exited with code {code}") for code in range(5)),
]


# A script ends with 0, 1 or 2 for reasons of its own; 3 is any other code.
MORE_DEATHS = {"Hang", "Exit1", "Exit4"}
# A script whose defect is gone is the same for each death: one of each way to end is enough.
ENDS_ALIKE = {"Exit2", "Exit3", "Hungry"}


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [pytest.param(*each, id=each[0], marks=[pytest.mark.slow] * (each[0] in MORE_DEATHS)) for each in DEATHS],
)
def test_deaths_are_judged_from_outside(name: str, kind: str, says: str, passes: Path, tmp_path: Path) -> None:
    path = death_script(passes, name, kind, tmp_path)
    shown = check_repro(path)
    assert shown.confirmed, shown
    assert f"BUG: {says}" in shown.output
    if name in ENDS_ALIKE:
        return
    passes.write_text(PASSES.replace("MENDED = False", "MENDED = True"))
    gone = check_repro(path)
    assert gone.exit_code == 0, gone
    assert gone.output.startswith("OK: the child process ends normally\n")


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("Exit3", "exit 1", "expected exit 1, the child process ended with exit 3"),
        ("Exit4", "memory", "expected memory, the child process ended with exit 4"),
        ("Raising", "exit 3", "an exception instead: RuntimeError"),
        ("Hungry", "exit 4", "expected exit 4, the child process ended with memory"),
        ("Segfault", "hang", "ended with signal 11"),
        pytest.param("Hang", "signal 14", "ended with hang", marks=pytest.mark.slow),
    ],
)
def test_another_end_is_not_mistaken_for_the_death(
    name: str, kind: str, says: str, passes: Path, tmp_path: Path
) -> None:
    path = death_script(passes, name, kind, tmp_path)
    if name == "Hang":
        path.write_text(path.read_text().replace(", 90.0", ", 8.0"))  # loading TVM counts
    result = check_repro(path)
    assert result.exit_code == 0, result
    assert result.output.startswith("DIFFERENT: ")
    assert says in result.output


def test_a_child_that_cannot_begin_is_the_environments_fault(passes: Path, tmp_path: Path) -> None:
    path = death_script(passes, "Exit2", "exit 2", tmp_path)
    passes.unlink()
    result = check_repro(path)
    assert result.exit_code == 2, result
    assert result.output.startswith("ENVIRONMENT: FileNotFoundError")


def test_a_preparing_pass_that_dies_does_so_in_the_child(passes: Path, tmp_path: Path) -> None:
    evidence = death("signal 11", stage=Phase.PREPARE)
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "LegalizeOps", evidence=evidence)
    case = Case(case_of(passes, "Raising").module_json, (PassRef("FuseTIR", "relax.transform.FuseTIR()"),), 5)
    path = script_of(case, verdict, tmp_path)
    text = path.read_text()
    assert "relax.transform.LegalizeOps()" in text[text.index("def judged_passes") :]
    path.write_text(text.replace("relax.transform.LegalizeOps()", "lambda module: os.kill(os.getpid(), 11)"))
    assert check_repro(path).confirmed


def test_an_environment_that_does_not_fit_is_told_apart(passes: Path, tmp_path: Path) -> None:
    case = case_of(passes, "Raising")
    path = script_of(case, failure(case, OracleName.CRASH), tmp_path)
    whole = path.read_text()
    path.write_text(whole.replace("    import tvm\n", "    import tvm_that_is_not_there as tvm\n"))
    assert check_repro(path).exit_code == 2
    path.write_text(whole.replace("R.add", "R.operator_that_is_gone"))
    result = check_repro(path)
    assert result.exit_code == 2
    assert result.output.startswith("ENVIRONMENT: ")


def test_a_script_needs_only_tvm_and_numpy(passes: Path, tmp_path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "tvm", "tvm_ffi", "numpy"}
    for name, oracle, _ in ORACLES:
        if oracle is OracleName.IDEMPOTENCE:
            continue
        case = case_of(passes, name)
        text = script_of(case, failure(case, oracle), tmp_path).read_text()
        for node in ast.walk(ast.parse(text)):
            names = [item.name for item in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert {item.partition(".")[0] for item in names} <= allowed


def test_the_header_says_what_and_with_what(passes: Path, tmp_path: Path) -> None:
    case = case_of(passes, "Raising")
    verdict = failure(case, OracleName.CRASH)
    docstring = ast.get_docstring(ast.parse(script_of(case, verdict, tmp_path).read_text()))
    assert docstring is not None
    told = " ".join(docstring.split())
    for part in (
        "[Bug][Relax] Raising fails at planted_passes.py:",
        ": the width of the thing expected: ",
        "expected: the pass returns without raising an exception",
        "observed: RuntimeError: Check failed: (width == 3) is false: the width of the thing",
        "oracle: crash",
        f"tvm {tvm.__version__[:4]}",
        "python 3.",
        signature(verdict).text[:100],
    ):
        assert part in told


@pytest.mark.parametrize(
    "value",
    [
        np.array([[1.5, -2.0]], "float16"),
        np.arange(1000, dtype="int64").reshape(10, 100),
        np.array([np.nan, np.inf], "float32"),
        np.zeros((0, 3), "float32"),
        np.array(True),
        (np.ones(2, "int8"), (3, 0.5)),
    ],
    ids=["float16", "large", "not finite", "empty", "scalar", "nested"],
)
def test_arguments_come_back_from_their_literals(value: Any) -> None:
    again = eval(literal(value), {"np": np, "unpacked": unpacked, "tvm": tvm})

    def same(left: Any, right: Any) -> bool:
        if isinstance(left, tuple):
            return len(left) == len(right) and all(map(same, left, right))
        if isinstance(left, np.ndarray):
            return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
        return bool(left == right)

    assert same(value, again)


def test_an_array_of_many_dims_takes_no_more_lines_than_its_numbers() -> None:
    array = np.linspace(0, 1, 144).reshape(2, 3, 2, 4, 3)
    text = wrapped(array_source(array))
    assert eval(text, {"np": np}).tobytes() == array.tobytes()
    assert eval(text, {"np": np}).shape == array.shape
    assert len(text.splitlines()) < 40


def test_a_breadcrumb_gives_back_its_fields() -> None:
    details = Details(OracleName.NUMERIC, Phase.RUN, "original", mode="bytecode")
    crumb = Breadcrumb.of(details, "FuseOps")
    assert crumb.title == "numeric run original bytecode: FuseOps"
    assert Breadcrumb.read(crumb.text) == crumb
    assert Breadcrumb.read(crumb.text[:-5]) == Breadcrumb(crumb.words, crumb.culprit), "cut off"
    assert Breadcrumb.read("traits") == Breadcrumb("traits")
    assert Breadcrumb.of(Details(stage=Phase.PREPARE), "Normalize").title == "prepare: Normalize"


def test_scripts_can_use_every_adapter() -> None:
    adapters = {f"oracles/calling/{path.name}" for path in Path(abi.__file__).parent.glob("[a-z]*.py")}
    assert adapters <= set(NUMERIC_PIECES)
