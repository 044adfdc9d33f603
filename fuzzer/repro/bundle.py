"""Source text of the pieces of a repro script: only what a script uses, found by the names that it mentions.

Pieces come from ``fuzzer/repro/pieces`` and, so that a script judges exactly as the oracle does, from the numeric
oracle's own files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_OURS = ("oracles", "fuzzer", "strategies", "relaxkit")
_ALWAYS = {"import sys"}
OPTIONAL = {
    "np": "import numpy as np", "tvm": "import tvm", "tvm_ffi": "import tvm_ffi", "relax": "from tvm import relax",
    "tirx": "from tvm import tirx", "Op": "from tvm.ir import Op", "GenericConst": "from tvm.ir import GenericConst",
    "is_const": "from tvm.relax.dpl import is_const", "is_op": "from tvm.relax.dpl import is_op",
    "is_tuple": "from tvm.relax.dpl import is_tuple",
    "is_tuple_get_item": "from tvm.relax.dpl import is_tuple_get_item",
    "wildcard": "from tvm.relax.dpl import wildcard", "I": "from tvm.script import ir as I",
    "R": "from tvm.script import relax as R", "T": "from tvm.script import tirx as T",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Segment:
    """One top-level definition.

    Attributes:
        names: The names that it binds.
        mentions: The names that running it may look up: those outside annotations.
        written: All names in its text.
        text: Its text.
    """

    names: frozenset[str]
    mentions: frozenset[str]
    written: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The definitions and imports that a script needs.

    Attributes:
        text: Definitions, in the order of their files.
        standard: Import lines of the standard library, one name each.
        tvm: Import lines of TVM and NumPy.
    """

    text: str
    standard: tuple[str, ...]
    tvm: tuple[str, ...]


def select(paths: Iterable[str], tail: str) -> Selection:
    """Find the definitions in ``paths`` (relative to the packages' parent) that ``tail``, the script's end, needs."""
    segments: list[Segment] = []
    imports: set[tuple[str, str]] = set()
    for path in dict.fromkeys(paths):
        source = (_ROOT / path).read_text(encoding="utf-8")
        tree = ast.parse(source)
        segments += _segments(source, tree)
        imports.update(_standard(tree))
    wanted = set(_mentions(ast.parse(tail)))
    kept: set[int] = set()
    while True:
        more = {index for index, item in enumerate(segments) if index not in kept and item.names & wanted}
        if not more:
            break
        kept |= more
        for index in more:
            wanted |= segments[index].mentions
    text = "\n\n\n".join(segments[index].text for index in sorted(kept))
    written = wanted.union(*(segments[index].written for index in kept))
    return Selection(
        text,
        tuple(sorted({line for name, line in imports if name in written} | _ALWAYS)),
        tuple(line for name, line in OPTIONAL.items() if name in wanted),
    )


def import_lines(lines: Iterable[str]) -> str:
    """Import statements as people write them: plain ones first, what comes from one module on one line."""
    plain: set[str] = set()
    grouped: dict[str, set[str]] = {}
    for line in lines:
        head, _, names = line.partition(" import ")
        if line.startswith("from "):
            grouped.setdefault(head.removeprefix("from "), set()).add(names)
        else:
            plain.add(line)
    return "\n".join(
        [*sorted(plain), *(f"from {module} import {', '.join(sorted(grouped[module]))}" for module in sorted(grouped))]
    )


def _segments(source: str, tree: ast.Module) -> Iterator[Segment]:
    lines = source.splitlines()
    previous = 0
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [item for item in node.decorator_list if not _is_claim(item)]
        start = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))]) - 1
        end = node.end_lineno or node.lineno
        while start > previous and lines[start - 1].startswith("#"):
            start -= 1
        previous = end
        names = _bound(node)
        if names:
            written = frozenset(item.id for item in ast.walk(node) if isinstance(item, ast.Name))
            yield Segment(names, frozenset(_mentions(node)), written, "\n".join(lines[start:end]))


def _is_claim(decorator: ast.expr) -> bool:
    """Say whether a decorator states a claim (``relaxkit.passes.contract.claimed``): a script needs none."""
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in ("claimed", "nothing_left")


def _bound(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return frozenset({node.name})
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    parts = [part for item in targets for part in (item.elts if isinstance(item, ast.Tuple) else [item])]
    return frozenset(item.id for item in parts if isinstance(item, ast.Name))


def _mentions(node: ast.AST) -> Iterator[str]:
    """Names that running ``node`` may look up; annotations are text only."""
    if isinstance(node, ast.Name):
        yield node.id
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield from _mentions(item)


def _standard(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name bound and import line of each import from the standard library, those inside functions left alone."""
    guarded = (line for node in tree.body if isinstance(node, ast.If) for line in node.body)  # for type checkers
    for node in (*tree.body, *guarded):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.partition(".")[0] not in ("tvm", "tvm_ffi", "numpy", *_OURS):
                    yield item.asname or item.name.partition(".")[0], f"import {item.name}"
        elif isinstance(node, ast.ImportFrom) and node.module not in (None, "__future__"):
            assert node.module is not None
            if node.module.partition(".")[0] not in ("tvm", "tvm_ffi", "numpy", *_OURS):
                for item in node.names:
                    yield item.asname or item.name, f"from {node.module} import {item.name}"
