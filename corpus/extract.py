"""Find TVMScript in Python files by their syntax: nothing of the files is run.

A candidate is a class of the IR parser (``@I.ir_module``), a bare class of functions of the Relax parser (the ``Before``
and ``Expected`` of tests), or such a function on its own. With it go the statements that it needs from the places around
it: imports of TVM and NumPy, and constants made of literals and of a few constructors (``tirx.Var``, ``np.array``).
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MODULE_DECORATOR = "ir_module"
_RELAX_DECORATOR = "function"
_KERNEL_DECORATOR = "prim_func"
_RELAX_ROOTS = frozenset({"R", "relax"})
_IMPORT_ROOTS = frozenset({"tvm", "numpy", "math", "typing", "ml_dtypes", "functools", "itertools"})
_HARMLESS = frozenset(
    {
        "Var", "SizeVar", "const", "array", "zeros", "ones", "arange", "full", "eye", "Target", "VDevice", "vdevice",
        "IntImm", "FloatImm", "dtype", "reshape", "astype", "float16", "float32", "float64", "int8", "int16", "int32",
        "int64", "uint8", "uint16", "uint32", "uint64", "bool", "DeviceMesh", "device_mesh", "TypeVar", "sqrt",
        "min_value", "max_value", "linspace", "log2", "ceil", "floor", "prod", "items", "format", "join",
    }
)  # fmt: skip
"""Last name of a call that may be evaluated, when its first name is an import or a constant of the file."""
_BUILTINS = frozenset({"int", "float", "bool", "str", "range", "len", "tuple", "list", "dict", "min", "max", "sum", "abs"})
_NODES = (
    ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.BoolOp, ast.IfExp, ast.Subscript, ast.Slice, ast.Starred, ast.keyword, ast.Call, ast.ListComp, ast.GeneratorExp,
    ast.comprehension, ast.JoinedStr, ast.FormattedValue, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop,
    ast.boolop,
)  # fmt: skip
_Scope = list[ast.stmt]


@dataclass(frozen=True, slots=True)
class Candidate:
    """TVMScript found in a file.

    Attributes:
        file: The file, relative to what was searched.
        line: Line of the class or function.
        name: Its name, dotted from the outermost definition around it.
        source: Its source, decorated as the parser wants it.
        preamble: Statements to evaluate before it, in order.
        is_module: Whether it is a class, that is, a whole module.
    """

    file: str
    line: int
    name: str
    source: str
    preamble: tuple[str, ...]
    is_module: bool


class UnreadableFile(Exception):
    """A file that is no Python of this version, or no text; the message says why."""


def python_files(path: Path) -> list[Path]:
    """The files to search: ``path`` itself, or the Python files of its ``tests/python/relax``, or all below it."""
    if path.is_file():
        return [path]
    inner = path / "tests" / "python" / "relax"
    root = inner if inner.is_dir() else path
    return sorted(each for each in root.rglob("*.py") if each.is_file())


def candidates_of(path: Path, name: str) -> list[Candidate]:
    """All candidates of one file; raises ``UnreadableFile``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of the file's string escapes: none of our business
            tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError, RecursionError) as error:
        raise UnreadableFile(f"{type(error).__name__}: {error}") from error
    return [_candidate(name, place) for place in _places(tree.body, ())]


@dataclass(frozen=True, slots=True)
class _Place:
    """A definition and what surrounds it: statements before it, outermost scope first, and names of those scopes."""

    node: ast.ClassDef | ast.FunctionDef
    before: tuple[_Scope, ...]
    names: tuple[str, ...]
    given: dict[str, ast.expr] = field(default_factory=dict)


def _places(
    body: Sequence[ast.stmt], outer: tuple[_Scope, ...], names: tuple[str, ...] = (), given: dict[str, ast.expr] | None = None
) -> Iterator[_Place]:
    known = given or {}
    for index, node in enumerate(body):
        before = (*outer, list(body[:index]))
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and _is_candidate(node):
            yield _Place(node, before, (*names, node.name), known)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            inner = {**known, **_parameters(node)} if isinstance(node, ast.FunctionDef) else known
            yield from _places(node.body, before, (*names, node.name), inner)
        else:
            for block in _blocks(node):
                yield from _places(block, before, names, known)


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Bodies of an ``if``, ``with``, ``for`` or ``try``."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block


def _is_candidate(node: ast.ClassDef | ast.FunctionDef) -> bool:
    if isinstance(node, ast.FunctionDef):
        return _decorated(node, _RELAX_DECORATOR)
    if any(_last_name(each) == _MODULE_DECORATOR for each in node.decorator_list):
        return True
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    scripts = [each for each in methods if _decorated(each, _RELAX_DECORATOR) or _decorated(each, _KERNEL_DECORATOR)]
    relax = any(_decorated(each, _RELAX_DECORATOR) for each in methods)
    return relax and len(scripts) == len(methods)


def _decorated(node: ast.FunctionDef, name: str) -> bool:
    for each in node.decorator_list:
        if _last_name(each) == name and (name != _RELAX_DECORATOR or _RELAX_ROOTS & set(_dotted(each))):
            return True
    return False


def _dotted(node: ast.expr) -> tuple[str, ...]:
    """``("tvm", "script", "ir_module")`` of ``tvm.script.ir_module(...)``; empty when it is no dotted name."""
    if isinstance(node, ast.Call):
        node = node.func
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else []), *reversed(parts))


def _last_name(node: ast.expr) -> str:
    return (_dotted(node) or ("",))[-1]


def _candidate(file: str, place: _Place) -> Candidate:
    node = place.node
    is_module = isinstance(node, ast.ClassDef)
    if isinstance(node, ast.ClassDef):
        shown: ast.stmt = ast.ClassDef(node.name, [], [], _module_body(node), _class_decorators(node))
        if hasattr(node, "type_params"):
            shown.type_params = []  # type: ignore[attr-defined]
    else:
        shown = node
    source = ast.unparse(ast.fix_missing_locations(shown))
    return Candidate(file, node.lineno, ".".join(place.names), source, tuple(_Slice(place).statements()), is_module)


def _class_decorators(node: ast.ClassDef) -> list[ast.expr]:
    mine = [each for each in node.decorator_list if _last_name(each) == _MODULE_DECORATOR]
    return mine or [ast.Attribute(ast.Name("I", ast.Load()), _MODULE_DECORATOR, ast.Load())]


def _module_body(node: ast.ClassDef) -> list[ast.stmt]:
    """The class's body without its docstring, which the parser does not know."""
    body = list(node.body)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
        body = body[1:]
    return body


def _parameters(node: ast.FunctionDef) -> dict[str, ast.expr]:
    """Parameters of a test with one value each: of ``pytest.mark.parametrize`` the first, else the default."""
    given: dict[str, ast.expr] = {}
    arguments = [*node.args.posonlyargs, *node.args.args]
    for argument, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
        given[argument.arg] = default
    for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if value is not None:
            given[argument.arg] = value
    for each in node.decorator_list:
        if _last_name(each) == "parametrize" and isinstance(each, ast.Call) and len(each.args) >= 2:
            given.update(_first_row(each.args[0], each.args[1]))
    return given


def _first_row(names: ast.expr, rows: ast.expr) -> dict[str, ast.expr]:
    if isinstance(names, ast.Constant) and isinstance(names.value, str):
        keys = [name.strip() for name in names.value.split(",") if name.strip()]
    elif isinstance(names, (ast.List, ast.Tuple)):
        keys = [each.value for each in names.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    else:
        return {}
    if not isinstance(rows, (ast.List, ast.Tuple)) or not rows.elts:
        return {}
    first = rows.elts[0]
    if _last_name(first) == "param" and isinstance(first, ast.Call) and len(first.args) == len(keys):
        return dict(zip(keys, first.args, strict=True))
    if len(keys) == 1:
        return {keys[0]: first}
    if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == len(keys):
        return dict(zip(keys, first.elts, strict=True))
    return {}


class _Slice:
    """The statements around a candidate that it needs, in the order of the file."""

    def __init__(self, place: _Place) -> None:
        self.place = place
        self.taken: dict[tuple[int, str], tuple[tuple[int, int], str]] = {}
        self.seen: set[str] = set()

    def statements(self) -> list[str]:
        for name in _free_names(self.place.node):
            self._need(name)
        return list(dict.fromkeys(text for _, text in sorted(self.taken.values())))

    def _need(self, name: str) -> None:
        if name in self.seen:
            return
        self.seen.add(name)
        for depth in range(len(self.place.before) - 1, -1, -1):
            found = [node for node in self.place.before[depth] if name in _bound_by(node)]
            if found:
                for node in found:
                    self._take(node, name, depth)
                return
            if depth > 0 and name in self.place.given:
                self._assign(name, self.place.given[name], depth)
                return

    def _take(self, node: ast.stmt, name: str, depth: int) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for text in _imports(node, name):
                self.taken[id(node), text] = ((-1, node.lineno), text)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _is_constant(node.value):
            self.taken[id(node), ""] = ((depth, node.lineno), ast.unparse(node))
            for inner in _free_names(node.value):
                self._need(inner)
        elif isinstance(node, ast.FunctionDef) and (_decorated(node, _KERNEL_DECORATOR) or _decorated(node, _RELAX_DECORATOR)):
            self.taken[id(node), ""] = ((depth, node.lineno), ast.unparse(node))
            for inner in _free_names(node):
                self._need(inner)

    def _assign(self, name: str, value: ast.expr, depth: int) -> None:
        if _is_constant(value):
            self.taken[id(value), ""] = ((depth, 0), f"{name} = {ast.unparse(value)}")
            for inner in _free_names(value):
                self._need(inner)


def _imports(node: ast.Import | ast.ImportFrom, name: str) -> Iterator[str]:
    """The import statement cut down to what binds ``name``, if it is one of a library that we know."""
    if isinstance(node, ast.ImportFrom):
        root = (node.module or "").split(".")[0]
        kept = [each for each in node.names if (each.asname or each.name) == name]
        if node.level == 0 and kept and (root in _IMPORT_ROOTS or root == "__future__"):
            yield ast.unparse(ast.ImportFrom(node.module, kept, 0))
        return
    for each in node.names:
        if (each.asname or each.name.split(".")[0]) == name and each.name.split(".")[0] in _IMPORT_ROOTS:
            yield ast.unparse(ast.Import([each]))


def _bound_by(node: ast.stmt) -> set[str]:
    """Names that a statement binds where it stands."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {each.asname or each.name.split(".")[0] for each in node.names}
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {inner.id for each in targets for inner in ast.walk(each) if isinstance(inner, ast.Name)}
    return set()


def _free_names(node: ast.AST) -> list[str]:
    """Names that are read anywhere in a node, in order; too many is harmless."""
    read = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    return list(dict.fromkeys(name for name in read if name not in _IGNORED))


_IGNORED = frozenset(dir(builtins))


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression may be evaluated: literals and names, and calls of what :data:`_HARMLESS` lists."""
    for each in ast.walk(node):
        if not isinstance(each, _NODES):
            return False
        if isinstance(each, ast.Attribute) and (each.attr.startswith("_") or each.attr == "random"):
            return False
        if isinstance(each, ast.Call):
            dotted = _dotted(each)
            if not dotted:  # a method of a call's result: np.arange(4).reshape(2, 2)
                if not (isinstance(each.func, ast.Attribute) and each.func.attr in _HARMLESS):
                    return False
            elif not (dotted[-1] in _HARMLESS or dotted in {(name,) for name in _BUILTINS}):
                return False
    return True
