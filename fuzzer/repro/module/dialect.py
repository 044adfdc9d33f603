"""TVMScript in words that every supported release reads, from what one of them prints.

Releases differ less in what they read than in what they print. What is changed, each only where it occurs:

- the newest release declares dims at the top (``n = TypeVar("n")``), the others in the functions (``n = T.int64()``,
  quoted in the signature), which all read;
- kernels over such dims: a handle and ``T.match_buffer`` instead of a ``T.Buffer`` in the signature;
- ``out_ty=`` and ``out_sinfo=`` are left away where all take the type in the same place;
- ``R.Any`` is ``R.Object``, the type ``T.int64`` of a scalar is ``R.Prim("int64")``;
- arguments that only some releases have are left away where they are at their defaults.

Only text moves, and whoever prints a script reads it back and compares (``fuzzer.repro.module.source``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_OUT = ("out_ty", "out_sinfo", "ty_args", "sinfo_args")
_PLACES = {"call_tir": 2, "call_dps_packed": 2, "call_tir_with_grad": 2, "invoke_closure": 2, "invoke_pure_closure": 2}
"""Where in the call the type stands, by position."""
_DEFAULTS: dict[str, dict[str, tuple[str, ...]]] = {
    "layout_transform": {"axis_separators": ("[]", "None"), "input_axis_separators": ("[]", "None")},
    "affine_grid": {"align_corners": ("True",)},
    "multibox_transform_loc": {"apply_softmax": ("True",)},
    # The dtype of the operands is "void" until TVM 0.25 and None since, and is meant when nothing is said.
    **{
        name: {"out_dtype": ('"void"',)}
        for name in ("matmul", *(f"conv{dims}d{way}" for dims in (1, 2, 3) for way in ("", "_transpose")))
    },
}
"""Arguments that not all releases have or read alike, and what they may be to be left away."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class _TextEdit:
    """The characters from ``start`` up to, not with, ``stop`` become ``text``."""

    start: int
    stop: int
    text: str


def common(text: str) -> str:
    """Return the same module in words that all releases read; ``text`` itself when it is not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    edits = sorted(_Rewriter(text, tree).edits(), key=lambda edit: (edit.start, edit.stop))
    parts, place = [], 0
    for edit in edits:
        if edit.start < place:  # inside of what is rewritten already
            continue
        parts += [text[place : edit.start], edit.text]
        place = edit.stop
    return "".join([*parts, text[place:]])


class _Rewriter:
    """Finds what is to be changed in one text."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.tree = tree
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.dims = {name for node in tree.body if (name := _declared_dim(node))}

    def edits(self) -> Iterator[_TextEdit]:
        """All changes."""
        for line in self.tree.body:
            if _declared_dim(line):
                yield _TextEdit(self.lines[line.lineno - 1], self.lines[line.end_lineno or line.lineno], "")
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                yield from self._kernel(node) if _kind(node) == "prim_func" else self._function(node)
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif _is_named(node, "R", "Any"):
                yield self._replace(node, "R.Object")

    # -- functions ----------------------------------------------------------------------------------------------

    def _function(self, function: ast.FunctionDef) -> Iterator[_TextEdit]:
        """Quote the dims of the signature, declare them in the body, and spell out types of scalars."""
        called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and _is_named(node, "T", node.attr) and id(node) not in called:
                yield self._replace(node, f'R.Prim("{node.attr}")')
        used: list[str] = []
        for annotation in (*(argument.annotation for argument in function.args.args), function.returns):
            for node in _outermost(annotation, self.dims) if annotation is not None else ():
                used += _words(self._source(node), self.dims)
                if not isinstance(node, ast.Constant):
                    yield self._replace(node, f'"{self._source(node)}"')
        yield from self._declarations(function, [f"{name} = T.int64()" for name in dict.fromkeys(used)])

    def _kernel(self, function: ast.FunctionDef) -> Iterator[_TextEdit]:
        """Match the buffers whose dims are not numbers in the body."""
        parameters = {argument.arg for argument in function.args.args}
        lines: list[str] = []
        used: list[str] = []
        for argument in function.args.args:
            annotation = argument.annotation
            if not (isinstance(annotation, ast.Call) and _is_named(annotation.func, "T", "Buffer") and annotation.args):
                continue
            shape = annotation.args[0]
            if not any((isinstance(node, ast.Name) and node.id != "T") or _text_of(node) for node in ast.walk(shape)):
                continue
            dims = ", ".join(_text_of(dim) or self._source(dim) for dim in getattr(shape, "elts", [shape]))
            used += _words(dims, None)
            others = "".join(f", {self._source(each)}" for each in (*annotation.args[1:], *annotation.keywords))
            comma = "," if len(getattr(shape, "elts", [shape])) == 1 else ""
            lines.append(f"{argument.arg} = T.match_buffer(var_{argument.arg}, ({dims}{comma}){others})")
            yield self._replace(argument, f"var_{argument.arg}: T.handle")
        declared = [f"{name} = T.int64()" for name in dict.fromkeys(used) if name in self.dims - parameters]
        yield from self._declarations(function, [*declared, *lines])

    def _declarations(self, function: ast.FunctionDef, lines: list[str]) -> Iterator[_TextEdit]:
        """Put lines in front of the body, but behind its attributes and the declarations that it has."""
        present = [line for line in map(self._source, function.body) if line in lines]
        lines = [line for line in lines if line not in present]
        if not lines:
            return
        first = next((node for node in function.body if not _leads(node)), function.body[-1])
        start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])
        place = self.lines[start - 1]
        margin = " " * first.col_offset
        yield _TextEdit(place, place, "".join(f"{margin}{line}\n" for line in lines))

    # -- calls --------------------------------------------------------------------------------------------------

    def _call(self, call: ast.Call) -> Iterator[_TextEdit]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        keywords = {each.arg: each for each in call.keywords}
        out = next((keywords[word] for word in _OUT if word in keywords), None)
        if name in _PLACES and out is not None and len(call.args) == _PLACES[name] and call.keywords[0] is out:
            yield _TextEdit(self._start(out), self._start(out.value), "")
        elif name == "call_tir_inplace" and out is not None and "inplace_indices" in keywords and len(call.args) == 2:
            places = self._source(keywords["inplace_indices"].value)
            yield _TextEdit(self._start(call.keywords[0]), self._stop(call) - 1, f"{places}, {self._source(out.value)}")
        for word, values in _DEFAULTS.get(name, {}).items():
            if word in keywords and self._source(keywords[word].value) in values:
                start = self.text.rindex(",", 0, self._start(keywords[word]))
                yield _TextEdit(start, self._stop(keywords[word]), "")

    # -- places in the text -------------------------------------------------------------------------------------

    def _start(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]  # all that come have a place

    def _stop(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]  # as above

    def _offset(self, line: int, column: int) -> int:
        """Place of a position of ``ast``'s, whose columns are bytes."""
        start = self.lines[line - 1]
        return start + len(self.text[start : self.lines[line]].encode()[:column].decode())

    def _source(self, node: ast.AST) -> str:
        return self.text[self._start(node) : self._stop(node)]

    def _replace(self, node: ast.AST, text: str) -> _TextEdit:
        return _TextEdit(self._start(node), self._stop(node), text)


def _declared_dim(node: ast.stmt) -> str:
    """Return the name in ``n = TypeVar("n")``."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        target = node.targets[0]
        if node.value.func.id == "TypeVar" and isinstance(target, ast.Name):
            return target.id
    return ""


def _leads(node: ast.stmt) -> bool:
    """Say whether a statement stands in front of all others: attributes, and declarations such as ``n = T.int64()``."""
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr == "func_attr" or (
        isinstance(node, ast.Assign) and not call.args and _is_named(call.func, "T", call.func.attr)
    )


def _outermost(node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """Yield the outermost expressions over ``names`` in an annotation: a name, arithmetic, or quoted text."""
    if isinstance(node, (ast.Name, ast.BinOp, ast.UnaryOp)) or _text_of(node):
        if any(_words(_text_of(part) or (part.id if isinstance(part, ast.Name) else ""), names)
               for part in ast.walk(node)):  # fmt: skip
            yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child, names)


def _words(text: str, names: Iterable[str] | None) -> list[str]:
    """Names in a text, in order; of ``names`` only, when they are given."""
    known = None if names is None else set(names)
    return [word for word in _WORD.findall(text) if known is None or word in known]


def _text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _kind(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(made, ast.Attribute):
            return made.attr
    return ""


def _is_named(node: ast.AST, root: str, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name)
        and node.value.id == root
    )  # fmt: skip
