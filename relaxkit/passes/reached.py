"""The statements of a Python file that a definition in it may run, by the names that they mention."""

from __future__ import annotations

import ast
from collections.abc import Collection

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def reached(tree: ast.Module, names: Collection[str]) -> list[ast.stmt]:
    """Return the top-level statements that bind some names, or what these mention, in order.

    A decorator or a statement that fills a table belongs to whatever reads the table.
    """
    found: set[ast.stmt] = set()
    while more := {each for each in tree.body if each not in found} & _next(tree, {*names, *mentioned(found)}):
        found |= more
    return [each for each in tree.body if each in found]


def mentioned(statements: Collection[ast.AST]) -> set[str]:
    """Return the names, and the names of attributes, that are read in some statements."""
    inside = [node for each in statements for node in ast.walk(each)]
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    return names | {node.attr for node in inside if isinstance(node, ast.Attribute)}


def _next(tree: ast.Module, names: set[str]) -> set[ast.stmt]:
    plain = [each for each in tree.body if not isinstance(each, (*_DEFINITIONS, ast.Import, ast.ImportFrom))]
    tables = {name for each in plain for name in _bound(each)} & names
    return {each for each in tree.body if _bound(each) & names or (tables and _run_at_once(tree, each) & tables)}


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    inside = [*ast.walk(statement)]
    names = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in inside if isinstance(node, _DEFINITIONS)}
    return names | {node.asname or node.name.partition(".")[0] for node in inside if isinstance(node, ast.alias)}


def _run_at_once(tree: ast.Module, statement: ast.stmt) -> set[str]:
    """Return the names that run when the file is imported: of decorators, of a statement that binds nothing."""
    if isinstance(statement, _DEFINITIONS):
        names = mentioned(statement.decorator_list)
    else:
        names = set() if _bound(statement) else mentioned([statement])
    called = [each for each in tree.body if isinstance(each, _DEFINITIONS) and each.name in names]
    return names | mentioned(called)
