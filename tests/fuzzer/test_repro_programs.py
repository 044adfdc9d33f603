"""Scripts of programs that do not build, do not run, return something else, or end their process."""

from __future__ import annotations

import runpy
import signal
from pathlib import Path
from typing import Any

import pytest
import tvm
from deaths import death

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.script_parts import RenderedScript
from fuzzer.findings.signature import signature
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import ReproResult, check_repro
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import cxx_available

pytestmark = pytest.mark.skipif(not cxx_available(), reason="plain relax.build needs a C++ compiler")

PASSES = """
import tvm
from tvm import relax

MENDED = False


def rewriting(old, new):
    def transform(module, context):
        return module if MENDED else tvm.script.from_source(module.script().replace(old, new))

    return lambda: tvm.transform.module_pass(transform, opt_level=0, name="Rewriting")


Negating = rewriting("R.abs(x)", "R.negative(x)")
Unbuildable = rewriting("R.abs(x)", 'R.call_pure_packed("a.b", x, ty_args=(R.Tensor((2, 3), dtype="float32"),))')
Unlowered = rewriting("R.abs(x)", "R.grad.no_grad(x)")
"""
MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        lv: R.Tensor((2, 3), dtype="float32") = R.abs(x)
        return lv
"""


def script_of(case: Case, verdict: Verdict, folder: Path) -> Path:
    path = folder / "repro.py"
    path.write_text(render_repro(case, verdict, signature(verdict).text).text)
    return path


def said_here(path: Path) -> str:
    """The first word of what a script says, in this process, which has loaded TVM already."""
    return str(runpy.run_path(str(path))["judged"]()[0])


@pytest.mark.parametrize("name", ["Negating", "Unbuildable", "Unlowered"])
def test_a_script_shows_the_failure_and_its_absence(name: str, tmp_path: Path) -> None:
    passes = tmp_path / "planted_passes.py"
    passes.write_text(PASSES)
    case = Case(str(tvm.ir.save_json(load(MODULE))), (PassRef(name, f"user:{passes}:{name}"),), 3)
    (verdict,) = [item for item in judge_case(case, (OracleName.NUMERIC,)) if item.outcome is Outcome.FAIL]
    path = script_of(case, verdict, tmp_path)
    if name == "Negating":  # a process of its own costs seconds
        result = check_repro(path)
        assert result.confirmed, result
    assert said_here(path) == "BUG"
    passes.write_text(PASSES.replace("MENDED = False", "MENDED = True"))
    assert said_here(path) == "OK"


def killed(stage: Phase, entry: str, mode: str) -> Verdict:
    evidence = death("signal 11", OracleName.NUMERIC, stage, entry, mode)
    return Verdict(OracleName.CRASH, Outcome.FAIL, "Negating", evidence=evidence)


@pytest.mark.parametrize(
    ("stage", "entry", "mode"),
    [
        (Phase.BUILD_ORIGINAL, "", ""),
        pytest.param(Phase.BUILD, "", "bytecode", marks=pytest.mark.slow),
        (Phase.RUN, "main", "bytecode"),
        pytest.param(Phase.RUN_ORIGINAL, "main", "", marks=pytest.mark.slow),
    ],
)
def test_a_program_that_kills_its_process_is_not_run_to_write_its_script(
    stage: Phase, entry: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = tmp_path / "planted_passes.py"
    passes.write_text(PASSES)
    case = Case(str(tvm.ir.save_json(load(MODULE))), (PassRef("Negating", f"user:{passes}:Negating"),), 3)
    with IsolatedWorker() as worker:
        script = worker.call(deadly_render, (case, killed(stage, entry, mode)))
    assert isinstance(script, RenderedScript), script
    path = tmp_path / "repro.py"
    path.write_text(script.text)
    result: ReproResult = check_repro(path)
    assert (result.exit_code, result.said) == (0, "OK: the child process ends normally")


def deadly_render(given: tuple[Case, Verdict]) -> RenderedScript:
    """Runs in a worker in which building a program would end the process."""
    import os

    from relaxkit.runtime import run

    def die(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    run.Session.build = die  # type: ignore[method-assign]  # nobody else uses this process
    tvm.relax.build = die
    return render_repro(*given, "signature")
