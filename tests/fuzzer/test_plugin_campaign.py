"""A campaign with a plugin: its pass, its oracle and its strategy in workers, triage, scripts and later verbs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from relaxkit.passes.plugins import VARIABLE

RELAXFUZZ = [sys.executable, "-m", "fuzzer.cli.main"]
PLUGIN = '''
import tvm
from hypothesis import strategies as st
from tvm import relax

from relaxkit.passes.contract import Contract
from relaxkit.passes.plugins import OwnOracle, Plugin


def adds_mark(ran):
    """Whether the mark is new."""
    return "a mark is new" if "mark" in ran.after.script() and "mark" not in ran.before.script() else ""


@tvm.transform.module_pass(opt_level=0, name="marks")
class marks:
    def transform_module(self, module, context):
        """Mark the module."""
        return module.with_attr("mark", 1)


@st.composite
def modules(draw):
    x = relax.Var("x", relax.TensorType((draw(st.integers(1, 4)),), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("only_from_the_plugin", [x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    return builder.get()


PLUGIN = Plugin(
    passes=("marks",), oracles=(OwnOracle("nothing is marked", adds_mark, "this file"),), modules=modules
)
'''


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(
        [*RELAXFUZZ, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=500, check=False
    )


@pytest.mark.slow
def test_a_plugin_reaches_workers_triage_script_and_later_verbs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    options = ("--max-examples", "20", "--seed", "1", "--workers", "1", "--oracles", "postcondition,crash")
    done = run(tmp_path, "run", "--plugin", "mine.py", *options, "--out", "campaign")
    assert done.returncode == 0, done.stdout + done.stderr
    (finding,) = json.loads(run(elsewhere, "findings", "../campaign", "--json").stdout)
    assert (finding["state"], finding["pass"]) == ("confirmed", "marks"), finding
    assert finding["message"] == "nothing is marked: a mark is new"
    script = run(elsewhere, "repro", "../campaign", finding["id"], "--full")
    assert str(tmp_path / "mine.py") in script.stdout
    checked = run(elsewhere, "repro", "../campaign", finding["id"], "--check")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    small = run(elsewhere, "minimize", "../campaign", finding["id"])
    assert small.returncode == 0, small.stdout + small.stderr
    assert "I.ir_module" in small.stdout


@pytest.mark.parametrize(
    ("verb", "target", "said"),
    [
        ("run", "no_such_plugin", "'no_such_plugin' cannot be imported: ModuleNotFoundError"),
        ("run", "no_such.py", "is not a file"),
        ("run", "json", "has no PLUGIN"),
        ("minimize", "json", "has no PLUGIN"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_2(tmp_path: Path, verb: str, target: str, said: str) -> None:
    done = run(tmp_path, verb, "--plugin", target)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_half_of_the_modules_come_from_the_plugins_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzer.core.config import Config
    from fuzzer.shard.draw import draw_subjects
    from relaxkit.passes.contract import OracleName
    from relaxkit.passes.plugins import require

    (tmp_path / "mine.py").write_text(PLUGIN)
    monkeypatch.setenv(VARIABLE, "")
    plugins = require([str(tmp_path / "mine.py")]).targets
    config = Config(1, ("FoldConstant",), (), tuple(OracleName), 10, None, 1, plugins=plugins)
    drawn = [draw_subjects(config, 0, number) for number in range(16)]
    theirs = ["only_from_the_plugin" in each.module.script() for each in drawn if each is not None]
    assert 3 <= sum(theirs) <= 13
    assert config.identity != Config(1, ("FoldConstant",), (), tuple(OracleName), 10, None, 1).identity
    assert Config.from_json(config.to_json()) == config
