"""The statements that a script in a Python file needs from the places around it, found by syntax.

What is taken is evaluated later: imports of a few libraries, and assignments of literals and of calls that only build a
value. Nothing else of the file is.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

RELAX_DECORATOR = "function"
KERNEL_DECORATOR = "prim_func"
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
_BUILTINS = frozenset(
    {"int", "float", "bool", "str", "range", "len", "tuple", "list", "dict", "min", "max", "sum", "abs"}
)
_NODES = (
    ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.BoolOp, ast.IfExp, ast.Subscript, ast.Slice, ast.Starred, ast.keyword, ast.Call, ast.ListComp, ast.GeneratorExp,
    ast.comprehension, ast.JoinedStr, ast.FormattedValue, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop,
    ast.boolop,
)  # fmt: skip
Scope = list[ast.stmt]


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and what surrounds it: statements before it, outermost scope first, and names of those scopes."""

    node: ast.ClassDef | ast.FunctionDef
    before: tuple[Scope, ...]
    names: tuple[str, ...]
    parameters: dict[str, ast.expr] = field(default_factory=dict)


def parameters_of(node: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return parameters of a test with one value each: of ``pytest.mark.parametrize`` the first, else the default."""
    parameters: dict[str, ast.expr] = {}
    arguments = [*node.args.posonlyargs, *node.args.args]
    for argument, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
        parameters[argument.arg] = default
    for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if value is not None:
            parameters[argument.arg] = value
    for each in node.decorator_list:
        if last_name(each) == "parametrize" and isinstance(each, ast.Call) and len(each.args) >= 2:
            parameters.update(_first_row(each.args[0], each.args[1]))
    return parameters


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
    if last_name(first) == "param" and isinstance(first, ast.Call) and len(first.args) == len(keys):
        return dict(zip(keys, first.args, strict=True))
    if len(keys) == 1:
        return {keys[0]: first}
    if isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) == len(keys):
        return dict(zip(keys, first.elts, strict=True))
    return {}


class Slice:
    """The statements around a candidate that it needs, in the order of the file."""

    def __init__(self, place: Definition) -> None:
        self.place = place
        self.taken: dict[tuple[int, str], tuple[tuple[int, int], str]] = {}
        self.seen: set[str] = set()

    def statements(self) -> list[str]:
        """Return their source, in an order in which they can be evaluated."""
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
            if depth > 0 and name in self.place.parameters:
                value = self.place.parameters[name]
                if _is_constant(value):
                    self._keep(value, (depth, 0), f"{name} = {ast.unparse(value)}")
                return

    def _take(self, node: ast.stmt, name: str, depth: int) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for text in _imports(node, name):
                self.taken[id(node), text] = ((-1, node.lineno), text)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _is_constant(node.value):
            self._keep(node.value, (depth, node.lineno), ast.unparse(node))
        elif isinstance(node, ast.FunctionDef) and (
            decorated(node, KERNEL_DECORATOR) or decorated(node, RELAX_DECORATOR)
        ):
            self._keep(node, (depth, node.lineno), ast.unparse(node))

    def _keep(self, node: ast.AST, place: tuple[int, int], text: str) -> None:
        """Take a text, and what it needs itself."""
        self.taken[id(node), ""] = (place, text)
        for inner in _free_names(node):
            self._need(inner)


def _imports(node: ast.Import | ast.ImportFrom, name: str) -> Iterator[str]:
    """Cut the import statement down to what binds ``name``, if it is one of a library that we know."""
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
    """Return names that a statement binds where it stands."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {each.asname or each.name.split(".")[0] for each in node.names}
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {inner.id for each in targets for inner in ast.walk(each) if isinstance(inner, ast.Name)}
    return set()


def _free_names(node: ast.AST) -> list[str]:
    """Return names that are read anywhere in a node, in order; too many is harmless."""
    read = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    return list(dict.fromkeys(name for name in read if name not in _IGNORED))


_IGNORED = frozenset(dir(builtins))


def _is_constant(node: ast.expr) -> bool:
    """Say whether an expression may be evaluated: literals and names, and calls of what :data:`_HARMLESS` lists."""
    for each in ast.walk(node):
        if not isinstance(each, _NODES):
            return False
        if isinstance(each, ast.Attribute) and (each.attr.startswith("_") or each.attr == "random"):
            return False
        if isinstance(each, ast.Call):
            names = dotted(each)
            if not names:  # a method of a call's result: np.arange(4).reshape(2, 2)
                if not (isinstance(each.func, ast.Attribute) and each.func.attr in _HARMLESS):
                    return False
            elif not (names[-1] in _HARMLESS or names in {(name,) for name in _BUILTINS}):
                return False
    return True


def decorated(node: ast.FunctionDef, name: str) -> bool:
    """Say whether a function has a decorator of that last name; one called ``function`` must be the Relax parser's."""
    named = [each for each in node.decorator_list if last_name(each) == name]
    return any(name != RELAX_DECORATOR or _RELAX_ROOTS & set(dotted(each)) for each in named)


def dotted(node: ast.expr) -> tuple[str, ...]:
    """Return ``("tvm", "script", "ir_module")`` of ``tvm.script.ir_module(...)``; empty when it is no dotted name."""
    if isinstance(node, ast.Call):
        node = node.func
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else []), *reversed(parts))


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, called or not; empty when there is none."""
    return (dotted(node) or ("",))[-1]
