"""Equality by laws: an e-graph of terms, in which those that some laws make equal are in one class, within bounds.

What operators compute of constants is a law of its own, which the reference interpreter says.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.law import TUPLE, Called, Law, On
from relaxkit.proof.constants import FOLDED, computed, near
from relaxkit.proof.dims import DimTable
from relaxkit.proof.evaluate import SymbolicProgram
from relaxkit.proof.terms import Term, Terms
from relaxkit.proof.values import Closure

MOST_NODES = 4_000
MOST_SECONDS = 1.0
_BINDERS = ("function", "recursive")  # which stay whole: parameters in them are shared with others, of other types


Type = tuple[str, tuple[Term, ...]]
"""Dtype and dims of a tensor."""


class Equality:
    """Says which terms some laws make equal.

    Attributes:
        used: Names of the laws that have made terms equal, and whether each holds to the bit.
        operands: Terms of the variables that stand for operands of laws.
    """

    def __init__(self, terms: Terms, dims: DimTable, shapes: dict[Term, tuple[Term, ...]]) -> None:
        self._terms, self.dims, self._shapes = terms, dims, shapes
        self._program = SymbolicProgram(tvm.IRModule(), terms, dims, shapes)
        self._parent: dict[Term, Term] = {}
        self._members: dict[Term, list[Term]] = {}
        self._variables: dict[Term, Any] = {}
        self._types: dict[Term, Type | None] = {}
        self._tried: set[Any] = set()
        self._folded: set[Term] = set()
        self.used: dict[str, bool] = {}
        self.operands: dict[Any, Term] = {}

    def reach(self, goal: Callable[[], bool], laws: Sequence[Law]) -> bool:
        """Make terms of the graph equal by laws until a goal is reached, if it is; exact laws are tried first."""
        end = time.monotonic() + MOST_SECONDS
        for tried, exact in (([law for law in laws if law.exact], True), (laws, False)):
            while not goal():
                if len(self._parent) > MOST_NODES or not self._fold(exact, end) | self._apply(tried, end):
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
                for whole in self._of(node.children[0], "const") if node.head == "size" else ():
                    size = self._shapes[whole][node.label]
                    changed |= self._union(term, self._parent.setdefault(size, size))

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
        united = {law.name: law.exact for law, term, right in made if self._union(term, right)}
        self.used |= united
        self.add()
        return bool(united)

    def _fold(self, exact: bool, end: float) -> bool:
        """Make what operators compute of constants equal to that; say whether anything has become equal."""
        united = False
        for term in sorted(self._parent):
            node = self._terms[term]
            if node.head != "op" or len(node.label) != 2 or term in self._folded or time.monotonic() > end:
                continue
            operands = [self._constant(each) for each in node.children]
            if any(each is None for each in operands):
                continue
            found = computed(relax.Call(tvm.ir.Op.get(node.label[0]), operands, self._terms.objects.of[node.label[1]]))
            if found is None or found.exact or not exact:
                self._folded.add(term)
            if found is not None and (found.exact or not exact):
                value = self._program.term(found.value(self._program.array))
                if not self._may_be(self._type(term), self._type(value)):
                    continue
                alike = [] if found.exact else [each for each in self._terms.arrays if self._near(value, each)]
                self.add(value, *alike)
                for each in (value, *alike):
                    united |= self._union(term, each)
                self.used[FOLDED] = self.used.get(FOLDED, True) and found.exact
        self.add()
        return united

    def _may_be(self, declared: Type | None, computed: Type | None) -> bool:
        """Say whether a call of a type may have computed a constant of another one: its dims may depend on data."""
        if declared is None or computed is None:
            return declared is None
        (dtype, dims), (its_dtype, its_dims) = declared, computed
        numbers = [
            (one, other) for one, other in zip(dims, its_dims, strict=False) if self._terms[one].head == "number"
        ]
        return dtype == its_dtype and len(dims) == len(its_dims) and all(one == other for one, other in numbers)

    def _near(self, one: Term, other: Term) -> bool:
        """Say whether two constants are the same but for roundings."""
        return one in self._terms.arrays and near(self._terms.arrays[one], self._terms.arrays[other])

    def _constant(self, term: Term) -> Any:
        """Return a constant, a shape of numbers or a tuple of these as an expression, ``None`` for anything else."""
        for each in self._members[self._find(term)]:
            node = self._terms[each]
            if each in self._terms.arrays:
                array = self._terms.arrays[each]
                return relax.const(array, array.dtype.name)  # without a dtype it narrows what is of 64 bits
            if node.head == "number":
                return tvm.tirx.IntImm("int64", node.label)
            if node.head in ("shape", "tuple"):
                parts = [self._constant(its) for its in node.children]
                if all(each is not None for each in parts):
                    return relax.ShapeExpr(parts) if node.head == "shape" else relax.Tuple(parts)
        return None

    def _right(self, law: Law, named: Any) -> Term | None:
        """Return the right side of a law as a term; ``None`` where its condition fails, or TVM refuses to build it."""
        if law.condition is not None and not law.condition(named):
            return None
        try:
            module, function = module_of(law.right(named))
            program = SymbolicProgram(module, self._terms, self.dims, self._shapes)
            arguments = [self.operands[each] for each in function.params]
            value = program.term(program.invoke(Closure(function, {}, self.dims.itself()), arguments))
            return None if program.checks else value
        except Exception:
            return None

    def fits(self, pattern: On, term: Term, found: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the ways in which a call fits a pattern; one with type arguments never does."""
        node = self._terms[term]
        label: Any = node.label if node.head == "op" else (TUPLE, 0) if node.head == TUPLE else ()
        if len(label) != 2 or label[0] not in pattern.operators.split() or len(node.children) != len(pattern.operands):
            return
        op = None if label[0] == TUPLE else tvm.ir.Op.get(label[0])
        ways = [{**(found or {}), pattern.call: Called(op, self._terms.objects.of[label[1]])}]
        for operand, child in zip(pattern.operands, node.children, strict=True):
            ways = [each for way in ways for each in self._fits_class(operand, child, way)]
        yield from ways

    def _fits_class(self, pattern: On | str, term: Term, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if isinstance(pattern, str):
            variable = self._variable(self._find(term))
            if variable is not None and found.get(pattern, variable) is variable:
                yield {**found, pattern: variable}
        else:
            for each in self._of(term, TUPLE if pattern.operators == TUPLE else "op"):
                yield from self.fits(pattern, each, found)

    def _variable(self, root: Term) -> Any:
        """Return the variable that stands for a class of tensors, or its shape; ``None`` for what is neither."""
        if root not in self._variables and (shapes := self._of(root, "shape")):
            dims = self._terms[shapes[0]].children
            self._variables[root] = relax.ShapeExpr([self.dims.expression(each) for each in dims])
        if root not in self._variables and (ty := self._type(root)) is not None:
            sizes = [self.dims.expression(each) for each in ty[1]]
            self._variables[root] = relax.Var("operand", relax.TensorType(sizes, ty[0]))
            self.operands[self._variables[root]] = root
        return self._variables.get(root)

    def _type(self, term: Term) -> Type | None:
        """Return the dtype of a tensor and its dims, where both are known of a term of its class."""
        members = self._members[self._find(term)] if term in self._parent else [term]
        for each in (each for each in members if each in self._shapes):
            kind, dtype, *_ = self._terms.declared.get(each, "? ?").split(" ")
            if kind == "tensor" and dtype not in ("", "None", "void"):
                return dtype, self._shapes[each]
        return next(filter(None, map(self._inferred, members)), None)

    def _inferred(self, term: Term) -> Type | None:
        """Return the type that TVM infers for a call whose own type does not tell its dtype."""
        if term in self._types:
            return self._types[term]
        self._types[term] = None
        node = self._terms[term]
        if node.head == "op" and len(node.label) == 2 and term in self._parent:
            operands = [self._variable(self._find(each)) for each in node.children]
            if all(each is not None for each in operands):
                call = relax.Call(tvm.ir.Op.get(node.label[0]), operands, self._terms.objects.of[node.label[1]])
                with contextlib.suppress(Exception):  # what TVM does not type
                    ty = relax.BlockBuilder().normalize(call).ty
                    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and ty.dtype:
                        self._types[term] = str(ty.dtype), tuple(map(self.dims.number, ty.shape.values))
        return self._types[term]

    def _of(self, term: Term, head: str) -> list[Term]:
        return [each for each in self._members.get(self._find(term), ()) if self._terms[each].head == head]

    def root(self, term: Term) -> Term:
        """Return one term for all that are equal to a term."""
        return self._find(term) if term in self._parent else term

    def _find(self, term: Term) -> Term:
        while self._parent[term] != term:
            term = self._parent[term]
        return term

    def _union(self, one: Term, other: Term) -> bool:
        one, other = sorted((self._find(one), self._find(other)))
        self._parent[other] = one
        return one != other


def module_of(right: Any) -> tuple[tvm.IRModule, Any]:
    """Return the module and the function that the right side of a law is."""
    if not isinstance(right, tvm.IRModule):
        return tvm.IRModule(), function_of(right)
    (function,) = (each for _, each in right.functions_items() if isinstance(each, relax.Function))
    return right, function


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
