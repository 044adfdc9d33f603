"""Find TVMScript in Python files by their syntax: nothing of the files is run.

A candidate is a class of the IR parser (``@I.ir_module``), a bare class of functions of the Relax parser (``Before``
and ``Expected`` of tests), or such a function on its own. With it go the statements that it needs from the places
around it (``corpus.seed_import.preamble``): imports of TVM and NumPy, and constants.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.seed_import.preamble import (
    KERNEL_DECORATOR,
    RELAX_DECORATOR,
    Definition,
    Scope,
    Slice,
    decorated,
    last_name,
    parameters_of,
)

_MODULE_DECORATOR = "ir_module"


@dataclass(frozen=True, slots=True)
class FoundScript:
    """TVMScript found in a file.

    Attributes:
        file: The file, relative to what was searched.
        line: Line of the class or function.
        name: Its name, dotted from the outermost definition around it.
        source: Its source, decorated as the parser wants it.
        preamble: Statements to evaluate before it, in order.
    """

    file: str
    line: int
    name: str
    source: str
    preamble: tuple[str, ...]


class UnreadableFile(Exception):
    """A file that is no Python of this version, or no text; the message says why."""


def python_files(path: Path) -> list[Path]:
    """Find the files to search: ``path`` itself, or the Python files of its ``tests/python/relax``, or all below it."""
    if path.is_file():
        return [path]
    inner = path / "tests" / "python" / "relax"
    root = inner if inner.is_dir() else path
    return sorted(each for each in root.rglob("*.py") if each.is_file())


def candidates_of(path: Path, name: str) -> list[FoundScript]:
    """Find all candidates of one file; raises ``UnreadableFile``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of the file's string escapes: none of our business
            tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableFile(f"{type(error).__name__}: {error}") from error
    return [_candidate(name, place) for place in _places(tree.body, ())]


def _places(
    body: Sequence[ast.stmt],
    outer: tuple[Scope, ...],
    names: tuple[str, ...] = (),
    parameters: dict[str, ast.expr] | None = None,
) -> Iterator[Definition]:
    known = parameters or {}
    for index, node in enumerate(body):
        before = (*outer, list(body[:index]))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and _is_candidate(node):
            yield Definition(node, before, (*names, node.name), known)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            inner = {**known, **parameters_of(node)} if isinstance(node, ast.FunctionDef) else known
            yield from _places(node.body, before, (*names, node.name), inner)
        else:
            for block in _blocks(node):
                yield from _places(block, before, names, known)


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Return bodies of an ``if``, ``with``, ``for`` or ``try``."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block


def _is_candidate(node: ast.ClassDef | ast.FunctionDef) -> bool:
    if isinstance(node, ast.FunctionDef):
        return decorated(node, RELAX_DECORATOR)
    if any(last_name(each) == _MODULE_DECORATOR for each in node.decorator_list):
        return True
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    scripts = [each for each in methods if decorated(each, RELAX_DECORATOR) or decorated(each, KERNEL_DECORATOR)]
    return any(decorated(each, RELAX_DECORATOR) for each in methods) and len(scripts) == len(methods)


def _candidate(file: str, place: Definition) -> FoundScript:
    node = place.node
    if isinstance(node, ast.ClassDef):
        mine = [each for each in node.decorator_list if last_name(each) == _MODULE_DECORATOR]
        mine = mine or [ast.Attribute(ast.Name("I", ast.Load()), _MODULE_DECORATOR, ast.Load())]
        lead = node.body[0]
        described = len(node.body) > 1 and isinstance(lead, ast.Expr) and isinstance(lead.value, ast.Constant)
        body = node.body[described:]  # the parser does not know docstrings
        shown: ast.stmt = ast.ClassDef(node.name, [], [], body, mine)
        if hasattr(node, "type_params"):
            shown.type_params = []  # type: ignore[attr-defined]  # since Python 3.12
    else:
        shown = node
    source = ast.unparse(ast.fix_missing_locations(shown))
    return FoundScript(file, node.lineno, ".".join(place.names), source, tuple(Slice(place).statements()))
