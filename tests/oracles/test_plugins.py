"""Plugins: how they are found, what clashes, and what of them reaches the contracts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plugins import VARIABLE, PluginError, active, require

HEAD = """
from relaxkit.passes.contract import Contract
from relaxkit.passes.plugins import OwnOracle, Plugin
"""


@pytest.fixture(autouse=True)
def _no_plugins() -> Iterator[None]:
    before = os.environ.pop(VARIABLE, None)
    yield
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before


def plugin(folder: Path, text: str, name: str = "given") -> str:
    path = folder / f"{name}.py"
    path.write_text(HEAD + text)
    return str(path)


def test_contract_and_oracle_reach_the_pass(tmp_path: Path) -> None:
    text = """
def wrong(ran):
    return ""

PLUGIN = Plugin(contracts=(Contract("Mine", fixpoint_runs=7),),
                oracles=(OwnOracle("nothing is wrong", wrong, "me", frozenset({"Mine"})),))
"""
    ref, other = PassRef("Mine", 'tvm.get_global_func("mine.Mine")()'), PassRef("FoldConstant", "")
    assert contract_for(ref).fixpoint_runs == 1
    require([plugin(tmp_path, text)])
    assert contract_for(ref).fixpoint_runs == 7
    assert [claim.claim for claim in contract_for(ref).postconditions] == ["nothing is wrong"]
    assert "nothing is wrong" not in [claim.claim for claim in contract_for(other).postconditions]
    del os.environ[VARIABLE]
    assert active().oracles == ()
    assert contract_for(ref).postconditions == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no PLUGIN .*there is none"),
        ("PLUGIN = 3", "has no PLUGIN .*its type is int"),
        ("PLUGIN = Plugin()", "provides nothing"),
        ("raise KeyError('x')", "cannot be imported: KeyError"),
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit"),
        ("PLUGIN = Plugin(passes=('nowhere',))", "has no function 'nowhere'"),
        ("PLUGIN = Plugin(contracts=(Contract('FoldConstant'),))", "'FoldConstant' has the name of a TVM pass"),
        ("PLUGIN = Plugin(contracts=(Contract('A'), Contract('A')))", "contract of 'A' is defined twice"),
        ("PLUGIN = Plugin(oracles=(OwnOracle('numeric', str, 's'),))", "has the name of an oracle of relaxfuzz"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PluginError, match=said) as error:
        require([plugin(tmp_path, text)])
    assert "\n" not in str(error.value)
    assert VARIABLE not in os.environ


def test_two_plugins_clash(tmp_path: Path) -> None:
    text = "PLUGIN = Plugin(contracts=(Contract('Mine'),))"
    with pytest.raises(PluginError, match=r"two.py': contract of 'Mine' is defined twice"):
        require([plugin(tmp_path, text, "one"), plugin(tmp_path, text, "two")])


@pytest.mark.parametrize("target", ["no_such_module_at_all", "no/such.py"])
def test_an_unknown_module(target: str) -> None:
    with pytest.raises(PluginError, match=r"no_such_module_at_all|not a file"):
        require([target])
