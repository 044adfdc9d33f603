"""Operators that the source of a pass names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import test_aim

from relaxkit.passes.pass_ref import PassReferenceError
from strategies.source_operators import source_operators

BOTH = {"relax.multiply", "relax.nn.layer_norm"}
SOURCE = "from tvm import relax\n\nLowerClip = relax.transform.Normalize\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is on Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    importlib.invalidate_caches()
    return tmp_path


@pytest.mark.parametrize(
    "named",
    [
        'import tvm\nfrom tvm.relax import op\nTIMES = tvm.ir.Op.get("relax.multiply")\nNORM = op.nn.layer_norm\n',
        "from tvm.relax.op import (\n    multiply as times,\n    nn,\n)\nNORM = nn.layer_norm\n",
        "from tvm.relax.op import multiply\nfrom tvm.relax.op.nn import layer_norm, relu as layer\n",
        "NAMES = ['relax.multiply', 'relax.nn.layer_norm']\n",
    ],
)
def test_each_way_to_name_an_operator_is_found(project: Path, named: str) -> None:
    (project / "clips.py").write_text(f"{SOURCE}\n{named}")
    assert set(source_operators(f"{project}/clips.py:LowerClip")) == BOTH | (
        {"relax.nn.relu"} if "relu" in named else set()
    )


def test_where_the_file_names_none_those_of_what_it_imports_count(project: Path) -> None:
    package = project / "hidden_pass"
    package.mkdir()
    (package / "__init__.py").write_text("from hidden_pass.inner import LowerClip\n")
    (package / "inner.py").write_text(f"{SOURCE}\nfrom hidden_pass import deeper\n")
    (package / "deeper.py").write_text("NAMES = 'relax.multiply'\n")
    (project / "unrelated_pass.py").write_text("NAMES = 'relax.abs'\n")
    importlib.import_module("unrelated_pass")
    assert source_operators("hidden_pass:LowerClip") == {"relax.multiply": 30}


TWO = """
from tvm import relax
import two_helpers, two_tables
from two_helpers import lower as lowered

TABLE = {}


def rule(function):
    TABLE[function.__name__] = function
    return function


@rule
def one(x):
    return relax.op.floor(x)


def helper(x):
    return relax.op.exp(x)


class Base:
    def visit(self, x):
        return helper(x)


class First(Base):
    def run(self):
        return TABLE


class Second:
    def run(self, x):
        return relax.op.sum(lowered(two_tables.reciprocal(x)))


def make_first():
    return First


TWICE = relax.op.matmul
"""


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("make_first", {"relax.exp", "relax.floor"}),
        ("Second", {"relax.sum", "relax.tanh", "relax.divide"}),
        ("helper", {"relax.exp"}),
        ("TWICE", {"relax.matmul"}),
    ],
)
def test_operators_are_those_of_the_pass_and_of_what_it_calls(project: Path, name: str, operators: set[str]) -> None:
    (project / "two.py").write_text(TWO)
    (project / "two_helpers.py").write_text(
        "from tvm import relax\ndef lower(x):\n    return relax.op.tanh(x)\ndef other(x):\n    return relax.op.cos(x)\n"
    )
    (project / "two_tables.py").write_text(
        "from tvm import relax\ndef reciprocal(x):\n    return relax.op.divide(1, x)\nOTHER = relax.op.sin\n"
    )
    assert set(source_operators(f"{project}/two.py:{name}")) == operators


def test_a_pass_as_text_draws_them_more_often(project: Path) -> None:
    (project / "clips.py").write_text(f"{SOURCE}\nNAME = 'relax.split'\n")
    assert test_aim.share_with("relax.split", operators=f"{project}/clips.py:LowerClip") > 0.5


def test_a_pass_that_is_not_there_is_told(project: Path) -> None:
    (project / "clips.py").write_text(SOURCE)
    with pytest.raises(PassReferenceError, match="did you mean LowerClip"):
        source_operators(f"{project}/clips.py:LowerClop")
