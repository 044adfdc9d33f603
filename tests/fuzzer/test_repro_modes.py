"""The modes of a script beside running it: ``query`` for external reducers, ``shows`` and ``minimize`` for ours."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import tvm
from deaths import death

from fuzzer.core.case import Case
from fuzzer.core.module_file import read_module
from fuzzer.findings.signature import signature
from fuzzer.repro import run
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.render import expression, render_repro
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASS = """
import os
import signal

import tvm


def picky(module, context):
    if "softmax" in module.script():
        raise RuntimeError("Check failed: (false) is false: there is a softmax")
    return module


def deadly(module, context):
    if "softmax" in module.script():
        os.kill(os.getpid(), signal.SIGSEGV)
    return module


def refuse():
    raise ValueError("no")


def terse(module, context):
    if "softmax" in module.script():
        refuse()
    if "relu" in module.script():
        raise ValueError("no")
    return module


Terse = lambda: tvm.transform.module_pass(terse, opt_level=0, name="Terse")
Picky = lambda: tvm.transform.module_pass(picky, opt_level=0, name="Picky")
Deadly = lambda: tvm.transform.module_pass(deadly, opt_level=0, name="Deadly")
"""
MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        lv: R.Tensor((2, 3), dtype="float32") = R.nn.softmax(x, axis=1)
        return lv
"""
PICKY = Evidence("RuntimeError", "Check failed: (false) is false: there is a softmax")
DEADLY = death("signal 11")


def script_of(folder: Path, name: str, evidence: Evidence) -> Path:
    path = folder / "passes_of_this_test.py"
    path.write_text(PASS)
    case = Case(str(tvm.ir.save_json(load(MODULE))), (PassRef(name, f"user:{path}:{name}"),), 1)
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, name, evidence=evidence)
    script = folder / "repro.py"
    script.write_text(render_repro(case, verdict, signature(verdict).text).text)
    return script


def asked(script: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(script), *arguments]
    done = run.subprocess.run(command, capture_output=True, text=True, timeout=100, env=os.environ, cwd=script.parent)
    return done.returncode, done.stdout


def shows_a_softmax_and_no_relu(script: Path, other: Path) -> None:
    other.write_text(f"# mine\nfrom tvm.script import ir as I\nfrom tvm.script import relax as R\n{MODULE}")
    code, said = asked(script, "query", str(other))
    assert code == 0, said
    assert said.startswith("BUG: ")
    other.write_text(MODULE.replace("R.nn.softmax(x, axis=1)", "R.nn.relu(x)"))
    code, said = asked(script, "query", str(other))
    assert code == 1, "what C-Vise takes for no"
    assert said.startswith("OK: ")


def test_query_answers_for_another_module_whether_a_process_dies(tmp_path: Path) -> None:
    shows_a_softmax_and_no_relu(script_of(tmp_path, "Deadly", DEADLY), tmp_path / "other.py")


def test_query_answers_for_another_module(tmp_path: Path) -> None:
    script, other = script_of(tmp_path, "Picky", PICKY), tmp_path / "other.py"
    shows_a_softmax_and_no_relu(script, other)
    other.write_text(str(tvm.ir.save_json(load(MODULE))))
    assert asked(script, "query", str(other))[0] == 0, "JSON, too"
    other.write_text("@I.ir_module\nclass Module:\n    no module")
    code, said = asked(script, "query", str(other))
    assert code == 1
    assert said.startswith("ENVIRONMENT: ")
    other.write_text("")
    assert asked(script, "query", str(other))[0] == 1, "an empty file is no module, and not the one of the script"


def test_an_error_of_few_words_from_elsewhere_is_another_one(tmp_path: Path) -> None:
    """A reducer that took one for the other would end at a neighbour of the defect."""
    frames = ("passes_of_this_test.py:refuse", "passes_of_this_test.py:terse")
    script = script_of(tmp_path, "Terse", Evidence("ValueError", "no", frames))
    other = tmp_path / "other.py"
    other.write_text(MODULE)
    assert asked(script, "query", str(other)) == (0, "BUG: ValueError: no\n")
    other.write_text(MODULE.replace("R.nn.softmax(x, axis=1)", "R.nn.relu(x)"))
    assert asked(script, "query", str(other)) == (1, "DIFFERENT: ValueError: no\n")
    text = script.read_text()
    script.write_text(text.replace(repr(tvm.__version__), "'0.0.1'"))
    assert asked(script, "query", str(other))[0] == 0, "no place is asked for in another release"


def test_relaxfuzz_can_ask_the_script_and_read_its_module(tmp_path: Path) -> None:
    script = script_of(tmp_path, "Picky", PICKY)
    names = runpy.run_path(str(script))
    assert names["shows"](load(MODULE)) is True
    assert names["shows"](load(MODULE.replace("R.nn.softmax(x, axis=1)", "R.nn.relu(x)"))) is False
    tvm.ir.assert_structural_equal(tvm.ir.load_json(read_module(str(script))), load(MODULE))


def test_the_script_says_how_to_use_it(tmp_path: Path) -> None:
    text = script_of(tmp_path, "Picky", PICKY).read_text()
    for word in ("python FILE ", "python FILE query MODULE"):
        assert word in text
    assert text.index("MODULE = ") < text.index("def load(")
    assert text.index("def judged_passes") < text.index("def load(")
    assert expression(PassRef("FuseOps", "relax.transform.FuseOps()")) == "relax.transform.FuseOps()"
