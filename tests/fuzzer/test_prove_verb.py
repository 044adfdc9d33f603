"""``relaxfuzz prove``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzer.cli.options import parser_of
from fuzzer.cli.verbs.prove import VERB
from fuzzer.core.verb import UsageError

MODULE = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.{operator}(x, y)
            unused = R.exp(a)
            R.output(a)
        return a
"""
PASSES = """
import tvm

def raises():
    def run(module, context):
        raise ValueError("no such luck\\nsecond line")
    return tvm.transform.module_pass(run, opt_level=0, name="raises")

def dies():
    def run(module, context):
        import os
        os._exit(3)
    return tvm.transform.module_pass(run, opt_level=0, name="dies")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, operator in (("add", "add"), ("again", "add"), ("subtract", "subtract")):
        (tmp_path / f"{name}.py").write_text(MODULE.replace("{operator}", operator))
    (tmp_path / "broken.py").write_text("this is no module")
    (tmp_path / "mine.py").write_text(PASSES)
    return tmp_path


def run(*arguments: object) -> int:
    return VERB.run(parser_of(VERB).parse_args([str(each) for each in arguments]))


def test_two_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder / "add.py", folder / "again.py") == 0
    assert capsys.readouterr().out == "proved\n"
    assert run(folder / "add.py", folder / "subtract.py") == 1
    said = capsys.readouterr().out
    assert said.startswith(
        "different in main: the result was relax.add and is relax.subtract\nThis does not prove a defect:"
    )


def test_a_pass_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--module", folder / "add.py", "--pass", "DeadCodeElimination", "--pass", "ToNonDataflow", "--json") == 0
    said = {"result": "proved", "function": "", "reason": "", "laws": [], "exact": True}
    assert json.loads(capsys.readouterr().out) == said
    assert run("--module", folder / "add.py", "--pass", "relax.transform.LegalizeOps()") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add.py"], "give BEFORE.py and AFTER.py"),
        (["--module", "add.py"], "needs --pass"),
        (["add.py", "broken.py"], "broken.py' is not TVMScript"),
        (["add.py", "missing.py"], "missing.py' cannot be read"),
        (["--module", "add.py", "--pass", "NoSuchPass"], "no 'NoSuchPass'"),
        (["--module", "add.py", "--pass", "mine.py:raises"], "raises ValueError: no such luck (at "),
        (["--module", "add.py", "--pass", "mine.py"], "'mine.py' is not FILE.py:FACTORY or"),
        (["--module", "add.py", "--pass", "mine.py:dies"], "the process that compared the modules died: exit 3"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError) as error:
        run(*arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_names_in_a_module_are_only_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = MODULE.partition("        with")[0].replace("@R.function", "@R.function(pure=False)")
    for name, called in (("one", "f\\x1b]0;PWN\\x07\\n::error::x"), ("other", "g")):
        call = f'R.call_packed("{called}", x, ty_args=R.Tensor((2,), "float32"))'
        (folder / f"{name}.py").write_text(f"{head}        return {call}\n")
    assert run(folder / "one.py", folder / "other.py") == 1
    said = capsys.readouterr().out
    assert "PWN" in said
    assert "\x1b" not in said
    assert "\n::error" not in said
