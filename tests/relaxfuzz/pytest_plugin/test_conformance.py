"""The conformance test of plugins accepts the examples and refuses what breaks a rule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxfuzz.pytest_plugin.conformance import NotConforming, conforms
from relaxkit.passes.pass_ref import import_file
from relaxkit.passes.plugins import VARIABLE

PLUGINS = Path(__file__).resolve().parents[3] / "docs" / "examples" / "plugins"
ORACLE = PLUGINS / "own_oracle.py"


@I.ir_module
class Relu:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y


@pytest.fixture(autouse=True)
def _no_plugins() -> Iterator[None]:
    before = os.environ.pop(VARIABLE, None)
    yield
    os.environ.pop(VARIABLE, None)
    if before is not None:
        os.environ[VARIABLE] = before


def test_the_examples_conform() -> None:
    conforms(str(PLUGINS / "own_contract.py"), sound=[(Relu, relax.transform.Normalize())])
    conforms(str(PLUGINS / "own_strategy.py"))


def test_the_oracle_of_the_example_conforms() -> None:
    conforms(
        str(ORACLE),
        faulty=[(Relu, import_file(ORACLE).ReluToClip())],
        sound=[(Relu, relax.transform.DeadCodeElimination())],
    )


def test_an_oracle_that_sees_nothing_does_not_conform() -> None:
    with pytest.raises(NotConforming, match="does not fail on any faulty example"):
        conforms(
            str(ORACLE),
            faulty=[(Relu, relax.transform.Normalize())],
            sound=[(Relu, relax.transform.DeadCodeElimination())],
        )


def test_an_oracle_that_sees_too_much_does_not_conform() -> None:
    wrong = import_file(ORACLE).ReluToClip()
    with pytest.raises(NotConforming, match="fails on a sound example"):
        conforms(str(ORACLE), faulty=[(Relu, wrong)], sound=[(Relu, wrong)])


MOODY = """
import itertools
from relaxkit.passes.plugins import OwnOracle, Plugin

COUNT = itertools.count()

def moody(ran):
    return str(next(COUNT))

PLUGIN = Plugin(oracles=(OwnOracle("moody", moody, ""), OwnOracle("lambda", lambda ran: "", "its author")))
"""


def test_an_oracle_must_be_steady_sourced_and_sendable(tmp_path: Path) -> None:
    (tmp_path / "moody.py").write_text(MOODY)
    with pytest.raises(NotConforming) as broken:
        conforms(str(tmp_path / "moody.py"), faulty=[(Relu, relax.transform.Normalize())])
    for rule in ("names no source", "a different answer when called again", "cannot be sent to another process"):
        assert rule in str(broken.value)
