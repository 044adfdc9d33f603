"""Every name of TVM that our code mentions is there on the installed release, whichever it is."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import relaxkit.compat

assert relaxkit.compat.install  # importing it gives TVM the names, before it is looked at

ROOT = Path(__file__).parents[3]
ROOMS = ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus", "relaxfuzz")
LIBRARIES = ("tvm", "tvm_ffi")
ASKED_FOR = {
    "relaxkit/ir/sketch/kernels.py": {"tvm.ir.TensorLoad", "tvm_ffi.structural_map"},
    "relaxkit/runtime/compile/argument_checks.py": {
        "tvm.tirx.Return"
    },  # nothing calls a checker where there is no structural_map
    "relaxkit/runtime/compile/legalization.py": {"tvm.ir.Var", "tvm.tirx.stmt_functor", "tvm_ffi.structural_map"},
    "relaxkit/runtime/compile/constants.py": {"tvm_ffi.structural_map"},
    "relaxkit/runtime/compile/packed_functions.py": {"tvm.ir.Var", "tvm.tirx.BufferType", "tvm.tirx.Return"},
    "relaxkit/interpreter/machine.py": {"tvm.relax.DataTypeImm", "tvm.relax.PrimValue"},
}
"""Names that a file uses only where it found them, or another one of the same release, by ``hasattr``."""


def imported(tree: ast.Module) -> dict[str, str]:
    """What the names that a file imports from the libraries mean, as dotted paths."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                head = each.name.partition(".")[0]
                if head in LIBRARIES:
                    names[each.asname or head] = each.name if each.asname else head
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return names


def mentioned(tree: ast.Module) -> Iterator[str]:
    """The dotted paths into the libraries that a file has."""
    names = imported(tree)
    yield from names.values()
    for node in ast.walk(tree):
        parts: list[str] = []
        part: ast.expr | None = node if isinstance(node, ast.Attribute) else None
        while isinstance(part, ast.Attribute):
            parts.append(part.attr)
            part = part.value
        if parts and isinstance(part, ast.Name) and part.id in names:
            yield ".".join([names[part.id], *reversed(parts)])


def missing(path: str) -> str:
    """The first part of a path that is not there; empty when all is, or it leads into something else than modules."""
    head, *parts = path.split(".")
    here = importlib.import_module(head)
    for part in parts:
        if not isinstance(here, ModuleType):
            return ""
        head = f"{head}.{part}"
        try:
            here = getattr(here, part) if hasattr(here, part) else importlib.import_module(head)
        except ImportError:
            return head
    return ""


@pytest.mark.parametrize("room", ROOMS)
def test_names_are_there(room: str) -> None:
    lacking = set()
    for file in (ROOT / room).rglob("*.py"):
        if "cases" in file.parts:
            continue  # modules as TVMScript prints them
        name = str(file.relative_to(ROOT))
        for path in mentioned(ast.parse(file.read_text())):
            if (gone := missing(path)) and gone not in ASKED_FOR.get(name, ()):
                lacking.add(f"{name}: {gone}")
    assert sorted(lacking) == []


def test_what_is_not_there_is_found() -> None:
    text = "import tvm\nfrom tvm import relax as r\nimport os\nr.transform.Nothing(os.x)\ntvm.ir.Op.none\nr.gone.Gone\n"
    lacking = [gone for path in mentioned(ast.parse(text)) if (gone := missing(path))]
    assert sorted(set(lacking)) == ["tvm.relax.gone", "tvm.relax.transform.Nothing"]
