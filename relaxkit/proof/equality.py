"""Equality by laws: an e-graph of terms, in which those that some laws make equal are in one class, within bounds."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.law import Called, Law, On
from relaxkit.proof.dims import DimTable
from relaxkit.proof.evaluate import SymbolicProgram
from relaxkit.proof.terms import Term, Terms
from relaxkit.proof.values import Closure

MOST_NODES = 4_000
MOST_SECONDS = 1.0
_BINDERS = ("function", "recursive")  # which stay whole: parameters in them are shared with others, of other types


class Equality:
    """Says which terms some laws make equal.

    Attributes:
        used: The laws that have made terms equal.
        operands: Terms of the variables that stand for operands of laws.
    """

    def __init__(self, terms: Terms, dims: DimTable, shapes: dict[Term, tuple[Term, ...]]) -> None:
        self._terms, self.dims, self._shapes = terms, dims, shapes
        self._program = SymbolicProgram(tvm.IRModule(), terms, dims, shapes)
        self._parent: dict[Term, Term] = {}
        self._members: dict[Term, list[Term]] = {}
        self._variables: dict[Term, Any] = {}
        self._tried: set[Any] = set()
        self.used: dict[Law, None] = {}
        self.operands: dict[Any, Term] = {}

    def equal(self, pairs: Sequence[tuple[Term, Term]], laws: Sequence[Law]) -> bool:
        """Say whether laws make each of some pairs of terms equal; exact laws are tried first."""
        end = time.monotonic() + MOST_SECONDS
        self.add(*itertools.chain(*pairs))
        for tried in dict.fromkeys((tuple(law for law in laws if law.exact), tuple(laws))):
            while any(self._find(one) != self._find(other) for one, other in pairs):
                if len(self._parent) > MOST_NODES or not self._apply(tried, end):
                    break
            else:
                return True
        return False

    def add(self, *terms: Term) -> None:
        """Put terms and their operands into the graph, and make equal what has equal operands."""
        waiting = list(terms)
        while waiting:
            term = waiting.pop()
            if term not in self._parent:
                self._parent[term] = term
                waiting += () if self._terms[term].head in _BINDERS else self._terms[term].children
        changed = True
        while changed:
            changed, known = False, dict[Any, Term]()
            self._members = defaultdict(list)
            for term in sorted(self._parent):  # operands first
                self._members[self._find(term)].append(term)
            for term in sorted(self._parent):
                node = self._terms[term]
                if node.head not in _BINDERS:
                    key = node.head, node.label, tuple(map(self._find, node.children))
                    changed |= self._union(term, known.setdefault(key, term))
                for whole in self._of(node.children[0], "tuple") if node.head == "item" else ():
                    changed |= self._union(term, self._terms[whole].children[node.label[0]])

    def _apply(self, laws: Sequence[Law], end: float) -> bool:
        """Apply laws wherever they fit; say whether anything has become equal."""
        made: list[tuple[Law, Term, Term]] = []
        for law, term in itertools.product(laws, list(self._parent)):
            for found in list(self.fits(law.left, term)):
                key = law, self._find(term), *found.values()
                if key not in self._tried and time.monotonic() < end:
                    self._tried.add(key)
                    right = self._right(law, SimpleNamespace(**found))
                    if right is not None and self._type(right) == self._type(term):
                        made.append((law, term, right))
        self.add(*(right for _, _, right in made))
        united = [law for law, term, right in made if self._union(term, right)]
        self.used.update(dict.fromkeys(united))
        self.add()
        return bool(united)

    def _right(self, law: Law, named: Any) -> Term | None:
        """Return the right side of a law as a term; ``None`` where its condition fails, or TVM refuses to build it."""
        if law.condition is not None and not law.condition(named):
            return None
        try:
            function = function_of(law.right(named))
            arguments = [self.operands[each] for each in function.params]
            return self._program.term(self._program.invoke(Closure(function, {}, self.dims.itself()), arguments))
        except Exception:
            return None

    def fits(self, pattern: On, term: Term, found: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the ways in which a call fits a pattern; one with type arguments never does."""
        node = self._terms[term]
        label: Any = node.label if node.head == "op" else ()
        if len(label) != 2 or label[0] not in pattern.operators.split() or len(node.children) != len(pattern.operands):
            return
        ways = [{**(found or {}), pattern.call: Called(tvm.ir.Op.get(label[0]), self._terms.objects.of[label[1]])}]
        for operand, child in zip(pattern.operands, node.children, strict=True):
            ways = [each for way in ways for each in self._fits_class(operand, child, way)]
        yield from ways

    def _fits_class(self, pattern: On | str, term: Term, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(pattern, str):
            variable = self._variable(self._find(term))
            if variable is not None and found.get(pattern, variable) is variable:
                yield {**found, pattern: variable}
        else:
            for each in self._of(term, "op"):
                yield from self.fits(pattern, each, found)

    def _variable(self, root: Term) -> Any:
        """Return the variable that stands for a class of tensors, ``None`` for what is none."""
        if root not in self._variables and (ty := self._type(root)) is not None:
            sizes = [self.dims.expression(each) for each in ty[1]]
            self._variables[root] = relax.Var("operand", relax.TensorType(sizes, ty[0]))
            self.operands[self._variables[root]] = root
        return self._variables.get(root)

    def _type(self, term: Term) -> tuple[str, tuple[Term, ...]] | None:
        """Return the dtype of a tensor and its dims, where both are known of a term of its class."""
        members = self._members[self._find(term)] if term in self._parent else [term]
        for each in (each for each in members if each in self._shapes):
            kind, dtype, *_ = self._terms.declared.get(each, "? ?").split(" ")
            if kind == "tensor" and dtype not in ("", "None", "void"):
                return dtype, self._shapes[each]
        return None

    def _of(self, term: Term, head: str) -> list[Term]:
        return [each for each in self._members.get(self._find(term), ()) if self._terms[each].head == head]

    def _find(self, term: Term) -> Term:
        while self._parent[term] != term:
            term = self._parent[term]
        return term

    def _union(self, one: Term, other: Term) -> bool:
        one, other = sorted((self._find(one), self._find(other)))
        self._parent[other] = one
        return one != other


def function_of(expression: Any) -> Any:
    """Make a typed function of an expression over its variables; raises what TVM raises of an ill-typed call."""
    bindings: list[Any] = []
    params: dict[Any, None] = {}
    builder = relax.BlockBuilder()

    def bound(part: Any) -> Any:
        if isinstance(part, relax.Tuple):
            return relax.Tuple([bound(each) for each in part.fields])
        if isinstance(part, relax.Var):
            params[part] = None
        if not isinstance(part, relax.Call):
            return part
        call = builder.normalize(relax.Call(part.op, [bound(each) for each in part.args], part.attrs))
        bindings.append(relax.VarBinding(relax.Var("part", call.ty), call))
        return bindings[-1].var

    result = builder.normalize(bound(expression))
    return relax.Function(list(params), relax.SeqExpr([relax.BindingBlock(bindings)], result), result.ty)
