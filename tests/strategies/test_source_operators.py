"""Operators that the source of a pass names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_aim
import tvm
from tvm import relax

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import operator_of, places
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
    assert set(source_operators(f"{project}/clips.py:LowerClip").weights) == BOTH | (
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
    assert source_operators("hidden_pass:LowerClip").weights == {"relax.multiply": 30}


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
    assert set(source_operators(f"{project}/two.py:{name}").weights) == operators


CONSTANTS = """
from tvm.ir import Op


def named(name):
    return Op.get("relax." + name)


SOFTMAX = named("reshape")
CONCAT = "relax.concat"
OTHER = "relax.abs"
SUMS = {Op.get("relax.sum"), Op.get("relax.mean")}
"""


@pytest.mark.parametrize(
    ("imported", "used", "operators"),
    [
        ("from mc.ops import SOFTMAX", "call.op == SOFTMAX", {"relax.reshape"}),
        ("from mc.ops import CONCAT as JOIN", "call.op.name == JOIN", {"relax.concat"}),
        ("from .ops import SUMS", "call.op in SUMS", {"relax.sum", "relax.mean"}),
        ("from mc.ops import *", "call.op == SOFTMAX", {"relax.reshape"}),
        ("from mc import ops", "call.op == ops.SOFTMAX", {"relax.reshape"}),
        ("import mc.ops", "call.op == mc.ops.SOFTMAX", {"relax.reshape"}),
        ("from mc import again", "call.op == again.SOFTMAX", {"relax.reshape"}),
    ],
)
def test_operators_in_constants_of_another_file_are_found(
    project: Path, imported: str, used: str, operators: set[str]
) -> None:
    (package := project / "mc").mkdir()
    (package / "__init__.py").touch()
    (package / "ops.py").write_text(CONSTANTS)
    (package / "again.py").write_text("from mc.ops import SOFTMAX\n")
    (package / "p.py").write_text(
        f"from tvm import relax\n{imported}\n\n\ndef run(call):\n    return relax.op.floor() if {used} else None\n"
    )
    found = source_operators(f"{package}/p.py:run")
    assert set(found.weights) == {"relax.floor"} | operators
    assert not found.elsewhere


def test_that_the_pass_itself_names_none_is_known(project: Path) -> None:
    (project / "clips.py").write_text(f"{SOURCE}\nNAME = 'relax.split'\n")
    assert source_operators(f"{project}/clips.py:LowerClip").elsewhere


PATTERN = """
from tvm import relax
from tvm.relax.dpl import is_op, wildcard

SHIFT = is_op("relax.subtract")(wildcard(), wildcard()).has_dtype("float32")
WIDE = is_op("relax.add")(wildcard(), is_op("relax.matmul")(wildcard(), wildcard()))
LowerClip = relax.transform.Normalize
SOFT = is_op("relax.nn.softmax")(SHIFT)
"""


def test_calls_of_calls_in_its_patterns_are_found_by_their_operands(project: Path) -> None:
    (project / "clips.py").write_text(PATTERN)
    found = source_operators(f"{project}/clips.py:LowerClip").weights
    nested = {name: weight for name, weight in found.items() if "(" in name}
    assert nested == {"relax.nn.softmax(relax.subtract)": 60, "relax.add(_, relax.matmul)": 60}
    assert found["relax.subtract"] == 30


def test_a_pass_as_text_draws_them_more_often(project: Path) -> None:
    (project / "clips.py").write_text(f"{SOURCE}\nNAME = 'relax.split'\n")
    assert test_aim.share_with("relax.split", operators=f"{project}/clips.py:LowerClip") > 0.5


FOLDED = """
TIMES = tvm.ir.Op.get("relax.multiply")


def is_scale(call):
    return call.op == TIMES and isinstance(call.args[1], tvm.ir.GenericConst)
"""


def scaled_twice(module: Any) -> list[tuple[np.ndarray[Any, Any], ...]]:
    """Return the constants of each product of a product, where both have one as their second factor."""
    found = []
    for _, function in relax_functions(module):
        made = {place.binding.var: place.value for place in places(function)}
        calls = [value for value in made.values() if operator_of(value) == "relax.multiply"]
        pairs = ((made.get(call.args[0]), call) for call in calls)
        both = [pair for pair in pairs if all(operator_of(each) == "relax.multiply" for each in pair)]
        constant = [pair for pair in both if all(isinstance(each.args[1], tvm.ir.GenericConst) for each in pair)]
        found += [tuple(each.args[1].value.numpy() for each in pair) for pair in constant]
    return found


def test_a_pass_that_asks_for_constants_is_given_them_in_chains_of_its_operator(project: Path) -> None:
    (project / "clips.py").write_text(f"import tvm\n{SOURCE}{FOLDED}\n\nclass Fold:\n    run = is_scale\n")
    drawn = map(scaled_twice, test_aim.modules(60, operators=f"{project}/clips.py:Fold"))
    found = [pairs for pairs in drawn if pairs]
    assert len(found) > 20  # where the source asks for none: 4
    assert sum(map(len, found)) > 100  # with as few constants as elsewhere: 48
    arrays = [each for pairs in found for pair in pairs for each in pair]
    assert {each.ndim for each in arrays} >= {0, 1, 2}
    wide = [each for each in arrays if each.size > 2]
    assert sum(len(np.unique(each)) > 2 for each in wide) > len(wide) / 3  # otherwise most are full of one number


def test_a_pass_that_is_not_there_is_told(project: Path) -> None:
    (project / "clips.py").write_text(SOURCE)
    with pytest.raises(PassReferenceError, match="did you mean LowerClip"):
        source_operators(f"{project}/clips.py:LowerClop")


def calls_in_branches(module: Any, operator: str) -> int:
    return sum(
        operator_of(binding.value) == operator
        for _, function in relax_functions(module)
        for place in places(function)
        if isinstance(place.value, relax.If)
        for branch in (place.value.true_branch, place.value.false_branch)
        for block in branch.blocks
        for binding in block.bindings
    )


def test_a_pass_that_visits_branches_is_given_its_operators_in_branches(project: Path) -> None:
    source = f"{SOURCE}\nADD = 'relax.add'\n\n\nclass Visitor:\n    def visit_if_(self, node):\n        return node\n"
    (project / "clips.py").write_text(source)
    aim = f"{project}/clips.py:LowerClip"
    assert source_operators(aim).weights == {"relax.add": 30, "relax.If": 30}
    inside = [calls_in_branches(module, "relax.add") > 0 for module in test_aim.modules(40, operators=aim)]
    assert sum(inside) > 20


def test_calls_in_branches_are_part_of_the_result() -> None:
    """Of a pass that acts in branches alone: else it changes dead code, of which no result tells anything."""
    live = [
        calls_in_branches(relax.transform.DeadCodeElimination()(module), "relax.subtract")
        for module in test_aim.modules(60, operators={"relax.subtract": 30, "relax.If": 30})
        if calls_in_branches(module, "relax.subtract")
    ]
    assert sum(map(bool, live)) > 0.8 * len(live) > 20
