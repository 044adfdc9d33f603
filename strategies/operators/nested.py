"""Calls of calls: rows that draw an operator of the results of others."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

from strategies.operators.row import OperatorRow
from strategies.scope.frame import Infeasible, setting
from strategies.scope.scope import Scope

ANY = "_"
"""Stands for an operand that may be anything."""


def nested_row(text: str, find: Callable[[str], OperatorRow]) -> OperatorRow:
    """Return the row of ``relax.nn.relu(relax.add(_, relax.matmul))``, or of a single operator.

    Args:
        text: The calls.
        find: Gives the row of an operator by its name.

    Raises:
        ValueError: The text is no such calls, or what ``find`` raises.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return find(text)  # which says what it is not
    return _row(tree, find)


def _row(tree: ast.expr, find: Callable[[str], OperatorRow]) -> OperatorRow:
    if not isinstance(tree, ast.Call):
        return find(ast.unparse(tree))
    outer = find(ast.unparse(tree.func))
    inner = [None if ast.unparse(each) == ANY else _row(each, find) for each in tree.args]
    name = f"{outer.name}({', '.join(ANY if each is None else each.name for each in inner)})"

    def draw(scope: Scope) -> Any:
        operands: list[Any] = [None] * len(inner)
        for place, row in enumerate(inner):
            with contextlib.suppress(Infeasible):
                operands[place] = made.expr if row is not None and (made := row.draw(scope)) is not None else None
        with setting(scope, again=tuple(operands), aim="", eager=False):
            return outer.draw(scope)

    return OperatorRow(name, outer.family, draw, outer.executable, outer.feature)
