"""Operators that the source of a pass names: those that it probably acts on."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from tvm.ir import Op

from relaxkit.files import read_text
from relaxkit.ir.functions import closed
from relaxkit.passes.pass_ref import imported, imported_from, load_module, load_named, own_files, split_target
from relaxkit.passes.reached import mentioned, reached
from strategies.operators import OPERATORS
from strategies.operators.nested import ANY
from strategies.scope.frame import CONST

_DEEPEST = 8
"""Calls of a pattern, one inside another, that are read."""
_CONSTANTS = re.compile(r"\b(?:GenericConst|Constant|is_const)\b|\.(?:data|value)\.numpy\(")
OFTEN = 30
"""The weight of an operator that the source of a pass names."""


@dataclass(frozen=True, slots=True)
class NamedOperators:
    """Weights of operators, and of nested calls in patterns.

    Attributes:
        weights: By name.
        elsewhere: Whether the pass and what it calls name none, so that these are all that its files name.
    """

    weights: dict[str, int] = field(default_factory=dict)
    elsewhere: bool = False


def source_operators(target: str) -> NamedOperators:
    """Return what a pass, or what it calls, names; else its file, else what that imports.

    Args:
        target: ``FILE.py:FACTORY`` or ``package.module:FACTORY``; the file is imported.

    Raises:
        PassReferenceError: The file cannot be imported, or does not define the name.
    """
    load_named(target)
    place, factory, _ = split_target(target)
    module, (_, own) = load_module(target), own_files(place)

    mine = closed([module], lambda each: [other for other in imported(each) if _file(other) in own])
    files = ([_file(module)], sorted(own & {*map(_file, mine)}))
    for elsewhere, texts in enumerate((_called(module, {factory}, own, set()), *map(_texts, files))):
        text = "\n".join(texts)
        if named := _named(text):
            named += ["relax.If"] * bool(re.search(r"\brelax\.If\b|\bimport\b.*\bIf\b|\bvisit_if_\b", text))
            weights = dict.fromkeys(named, OFTEN) | dict.fromkeys(_patterns(text, named), 2 * OFTEN)
            weights |= {CONST: 1} if _CONSTANTS.search(text) else {}
            return NamedOperators(weights, bool(elsewhere))
    return NamedOperators()


def _called(
    module: ModuleType, names: Collection[str], own: Collection[Path], seen: set[tuple[Path, str]]
) -> Iterator[str]:
    """Yield the text of what has some names in a module and of what that calls, also in the user's other files."""
    file = _file(module)
    fresh = {(file, name) for name in names} - seen
    seen |= fresh
    if not fresh or file not in own:
        return
    statements = reached(ast.parse(read_text(file)), {name for _, name in fresh})
    yield from map(ast.unparse, statements)
    used = mentioned(statements) | {*names}
    values = [vars(module)[name] for name in used & {*vars(module)}]
    yield from (repr(value.name) for value in values if isinstance(value, Op))  # however its name was put together
    for value in filter(inspect.ismodule, values):
        yield from _called(value, used, own, seen)
    for home, name in _imported(module, statements):
        yield from _called(home, used if name == "*" else {name}, own, seen)


def _imported(module: ModuleType, statements: Iterable[ast.stmt]) -> Iterator[tuple[ModuleType, str]]:
    """Yield the modules from which statements of a module import, and each name there."""
    inside = (node for each in statements for node in ast.walk(each) if isinstance(node, ast.ImportFrom))
    for node in inside:
        home = sys.modules.get(imported_from(module, node))
        yield from ((home, alias.name) for alias in node.names if home is not None)


def _texts(files: Iterable[Path]) -> Iterator[str]:
    return (read_text(file) for file in files if file.is_file())


def _file(module: ModuleType) -> Path:
    return Path(getattr(module, "__file__", None) or "").resolve()


def _patterns(text: str, named: Collection[str]) -> list[str]:
    """Return the nested calls among the patterns of a text: ``is_op("relax.nn.relu")(is_op("relax.add")(x, y))``."""
    nodes = [*ast.walk(ast.parse(text))]
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    bound = {ast.unparse(target): node.value for node in assigned for target in node.targets}

    def spelled(node: ast.expr, depth: int = 0) -> str:
        node = bound.get(ast.unparse(node), node) if depth < _DEEPEST else node
        if not isinstance(node, ast.Call):
            return ANY
        match node.func:
            case ast.Call(func=ast.Name("is_op") | ast.Attribute(attr="is_op"), args=[ast.Constant(str(name))]):
                inner = [spelled(each, depth + 1) for each in node.args] if name in named else []
                while inner[-1:] == [ANY]:
                    del inner[-1]
                return (f"{name}({', '.join(inner)})" if inner else name) if name in named else ANY
            case ast.Attribute(value=pattern) if isinstance(pattern, (ast.Call, ast.Name)):  # such as .has_dtype("...")
                return spelled(pattern, depth + 1)
        return ANY

    found = dict.fromkeys(spelled(node) for node in nodes if isinstance(node, ast.Call))
    return [each for each in found if "(" in each]


def _named(text: str) -> list[str]:
    named = set(re.findall(r"\b(?:relax|R|op)\.(?:op\.)?([a-z_0-9.]+)", text)) | set(re.findall(r"\bnn\.\w+", text))
    for room, names in re.findall(r"from tvm\.relax\.op\.?([\w.]*) import (\([^)]*\)|.*)", text):
        named.update(f"{room}.{each}".lstrip(".") for each in re.findall(r"\w+", names))
    return [row.name for row in OPERATORS if row.name.removeprefix("relax.") in named]
