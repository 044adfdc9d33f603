"""Symbolic dims: each is the size of a value, or a scalar; expressions of them are compared by TVM's analyzer."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from relaxkit.ir.walk import nodes
from relaxkit.proof.terms import Open, Term, Terms

MOST_COMPARED = 64
"""Dims that a new one is compared with beyond its normal form; most are told apart by their variables."""


class DimTable:
    """Numbers for integer expressions over dims: equal for all values means equal numbers.

    A dim that a value defines (``n`` of ``x: R.Tensor((n, 4))``) is a variable of this table, the same for the same
    term and axis, whatever the variable in the module is called.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._analyzer = tvm.sym.Analyzer()
        self._variables: dict[Term, Any] = {}
        self._sources: dict[Any, Term] = {}
        self._known: list[tuple[Any, frozenset[Any], Term]] = []

    def copy(self, terms: Terms) -> DimTable:
        """Return a table of the same dims over a copy of the terms, to which others may be added."""
        other = DimTable(terms)
        other._variables, other._sources, other._known = dict(self._variables), dict(self._sources), [*self._known]
        return other

    def number(self, expression: Any) -> Term:
        """Return the term of an integer expression over variables of this table."""
        if isinstance(expression, int):
            return self._terms.make("number", expression)
        if isinstance(expression, tirx.Var) and expression in self._sources:
            return self._sources[expression]
        if isinstance(expression, tirx.IntImm) and str(expression.ty) == "int64":
            return self._terms.make("number", int(expression))
        (divisions,) = nodes(expression, (tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod))
        if not all(getattr(each.b, "value", 0) for each in divisions):
            raise Open("a divisor that may be zero")
        whole = str(expression.ty).startswith(("int", "uint"))
        simple = self._analyzer.canonical_simplify(expression) if whole else expression
        if isinstance(simple, tirx.IntImm) and str(simple.ty) == "int64":  # what dims are; others keep their type
            return self._terms.make("number", int(simple.value))
        if simple in self._sources:
            return self._sources[simple]
        variables = frozenset(_variables(simple))
        alike = [each for each in self._known if each[1] == variables]
        for known, _, term in alike:
            if tvm_ffi.structural_equal(known, simple):
                return term
        for known, _, term in alike[:MOST_COMPARED]:
            if whole and str(known.ty) == str(simple.ty) and self._analyzer.can_prove_equal(known, simple):
                return term
        children = tuple(sorted(self._sources[each] for each in variables))
        term = self._terms.make("dim", (len(self._known), str(simple)), children)
        self._known.append((simple, variables, term))
        return term

    def at_least(self, one: Term, other: Any) -> bool | None:
        """Say whether a dim is not less than an expression over variables of this table; ``None`` where both may be."""
        difference = self._analyzer.canonical_simplify(self.expression(one) - other)
        if isinstance(difference, tirx.IntImm):
            return int(difference) >= 0
        return True if self._analyzer.can_prove(difference >= 0) else None

    def variable(self, source: Term, ty: Any = None) -> Any:
        """Return the variable that stands for a term: the size of a value, or a scalar."""
        known = self._variables.get(source)
        if known is None:
            dtype = "int64" if ty is None else str(getattr(ty, "dtype", "int64"))
            known = self._variables[source] = tirx.Var(f"d{len(self._variables)}", dtype)
            self._sources[known] = source
        return known

    def expression(self, term: Term) -> Any:
        """Return an expression whose number a term is, or the variable that stands for it."""
        node = self._terms[term]
        if node.head == "number":
            return tirx.IntImm("int64", node.label)
        known = next((each for each, _, other in self._known if other == term), None)
        return self.variable(term) if known is None else known

    def itself(self) -> dict[Any, Any]:
        """Return the variables of this table, each as its own value."""
        return {each: each for each in self._sources}

    def substituted(self, expression: Any, values: dict[Any, Any]) -> Any:
        """Rewrite an expression of the module over the variables of this table.

        Raises:
            Open: A dim in it has no value.
        """
        if isinstance(expression, (int, tirx.IntImm)):
            return expression
        if isinstance(expression, tirx.Var) and expression in values:
            return values[expression]
        missing = [each for each in _variables(expression) if each not in values]
        if missing:
            raise Open("a dim without a value")
        return tvm_ffi.structural_map(expression, (tirx.Var, values.__getitem__)) if values else expression


def _variables(expression: Any) -> list[Any]:
    return list(dict.fromkeys(nodes(expression, tirx.Var)[0]))
