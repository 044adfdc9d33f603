"""Values of a program that is evaluated symbolically, as terms: what it holds now, what it has done."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from relaxkit.proof.dims import DimTable
from relaxkit.proof.legalize import Legalizer
from relaxkit.proof.memory import Refuted, State, Storage, Tensor
from relaxkit.proof.terms import Open, Term, Terms
from relaxkit.proof.values import Callback, Closure, External, Kernel, ShapeHeap, TupleValue, Value, memory_of, outline

KILLED = TupleValue((TupleValue(()),))
"""What a variable holds behind its kill."""


Checks = list[tuple[tuple[tuple[Term, bool], ...], Term]]
"""Conditions of branches, from the outermost, and what is checked under them."""


@dataclass(slots=True)
class Frame:
    """A function that is being evaluated: its variables, and its dims and scalars over the variables of the table."""

    values: dict[Any, Value]
    dims: dict[Any, Any]


class Values(ABC):
    """The part of an evaluator that knows values.

    Args:
        terms: The table, shared by the modules that are compared.
        shapes: Dims of terms that are known to be tensors or shapes, shared like the table.
        dims: The dims of that table.

    Attributes:
        legalizer: Says what operators compute; without it they are uninterpreted.
        conditions: Terms of the branches that the evaluation is in: the condition, and whether it holds.
        checks: Conditions and what is taken for granted under them: a program that does not raise has these dims.
        ran: Conditions and what is computed under them, whether or not the result is used.
        foreign: Those of ``ran`` that kernels and packed functions compute, which may fail as by a division by zero.
    """

    def __init__(self, terms: Terms, shapes: dict[Term, tuple[Term, ...]], dims: DimTable) -> None:
        self.terms = terms
        self.shapes = shapes
        self.dims = dims
        self.state = State(terms.make("start"))
        self.allocated = 0
        self._depth = 0
        self._apart = itertools.count(1)
        self.legalizer: Legalizer | None = None
        self.conditions: tuple[tuple[Term, bool], ...] = ()
        self.checks: Checks = []
        self.ran: Checks = []
        self.foreign: Checks = []

    @abstractmethod
    def invoke(self, closure: Closure, arguments: Sequence[Value]) -> Value:
        """Call a function value."""

    def take_for_granted(self, what: str, *terms: Term) -> None:
        """Note that the program raises where something does not hold."""
        self.checks.append((self.conditions, self.terms.make("check", what, terms)))

    def run(self, term: Term, foreign: bool = True) -> Term:
        """Note that something pure is computed, by a kernel or a packed function or not."""
        self.ran.append((self.conditions, term))
        if foreign:
            self.foreign.append((self.conditions, term))
        return term

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Evaluate what need not be run here: its effects and checks are its own, and what it learns by them, too."""
        outside = self.state, self.conditions, self.checks, self.ran, self.foreign
        self.state = self.state.copy()
        self.state.effect = self.terms.make("start")
        self.conditions = ((-next(self._apart), True),)
        self.checks, self.ran, self.foreign = [], [], []
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.state, self.conditions, self.checks, self.ran, self.foreign = outside

    def _generic(self, head: str, closure: Closure, call: Callable[[Closure, Sequence[Value]], Value]) -> Term:
        """Return the term of a function: result, effects and checks of a call with parameters that stand for any."""
        params = closure.function.params[: len(closure.function.params) - len(closure.bound)]
        state, allocated = self.state, self.allocated
        with self.apart():
            result = call(closure, [self.leaf((head, self._depth, at), each.ty) for at, each in enumerate(params)])
            outside = {key: held for key, held in self.state.holders.items() if key <= allocated}
            if self.state.consumed != state.consumed or outside != state.holders:
                raise Open("a function that may overwrite memory, of which only a term is known")
            ends = self.term(result), self.state.effect
            used = self.terms.below(*ends)
            calls = [each for each in self.ran if self.terms[each[1]].head != "op" or each in self.foreign]
            checks = {
                self.terms.make("under", tuple(holds for _, holds in some), (*(each for each, _ in some), check))
                for (_, *some), check in [*self.checks, *(each for each in calls if each[1] not in used)]
            }
            return self.terms.make(head, len(params), (*ends, *sorted(checks)))

    def term(self, value: Value) -> Term:
        """Return the term of a value; a function value is the term of its result on parameters of its own."""
        if isinstance(value, int):
            return int(value)
        if isinstance(value, TupleValue):
            children = tuple(self.term(self.held(each)) for each in value.fields)
            return self._whole_tuple(children) or self.terms.make("tuple", None, children)
        if isinstance(value, External):
            return self.terms.make("function", value.name)
        if isinstance(value, Kernel) and value.stored is None:
            raise Open("a kernel that runs external code")
        if isinstance(value, Kernel):
            return self.terms.make("kernel function", value.number)
        if isinstance(value, Tensor):
            return self.state.read(value)
        if isinstance(value, Storage | ShapeHeap):
            raise Open("a storage that is used as a value")
        if isinstance(value, Callback):
            raise Open("a callback that is used as a value")
        return self._generic("function", value, self.invoke)

    def _whole_tuple(self, children: tuple[Term, ...]) -> Term | None:
        """Return the tuple whose elements, all of them and in their order, these are."""
        if not children or self.terms[children[0]].head != "item":
            return None
        whole = self.terms[children[0]].children[0]
        arity = self.terms[children[0]].label[1]
        same = all(
            self.terms[each].head == "item"
            and self.terms[each].children[0] == whole
            and self.terms[each].label == (index, arity)
            for index, each in enumerate(children)
        )
        return whole if same and arity == len(children) else None

    def leaf(self, label: tuple[Any, ...], ty: Any) -> Value:
        """Return a parameter; raises ``Open`` for a function."""
        if isinstance(ty, relax.FuncType):
            raise Open("a function is a parameter")
        return self.unpacked(self.terms.make("param", (*label, outline(ty))), ty)

    def held(self, value: Value) -> Value:
        """Return the value of a variable.

        Raises:
            Refuted: Nobody may read it any more.
            Open: It may lie where a call in place has written.
        """
        if value is KILLED:
            raise Refuted("a variable is read after its kill")
        memory = memory_of(value) if isinstance(value, int) and self.state.consumed else frozenset()
        if over := [self.state.consumed[each] for each in memory if each in self.state.consumed]:
            if all(over) and len(memory) == 1:
                raise Refuted("a tensor is read that a call in place has overwritten")
            raise Open("a tensor is read that a call in place may have overwritten")
        return value

    def settled(self, value: Value) -> Value:
        """Take a value out of memory: what a tensor holds at the end of a branch."""
        if isinstance(value, TupleValue):
            return TupleValue(tuple(self.settled(each) for each in value.fields))
        return self.state.read(value) if isinstance(value, Tensor) else value

    def array(self, array: np.ndarray[Any, Any]) -> Term:
        """Return the term of a constant: its dtype, its shape and its bytes."""
        digest = hashlib.sha256(array.tobytes()).hexdigest()
        term = self.terms.make("const", (array.dtype.name, tuple(int(dim) for dim in array.shape), digest))
        self.shapes.setdefault(term, tuple(self.dims.number(int(dim)) for dim in array.shape))
        self.terms.declared.setdefault(term, f"tensor {array.dtype.name} {array.ndim}")
        self.terms.arrays.setdefault(term, array)
        return term

    def shape(self, dims: tuple[Term, ...]) -> Term:
        """Return the shape of some dims: all dims of a shape, in order, are that shape."""
        whole = self.terms[dims[0]].children[0] if dims and self.terms[dims[0]].head == "size" else -1
        if self.terms.declared.get(whole) == f"shape {len(dims)}" and dims == tuple(
            self.terms.make("size", axis, (whole,)) for axis in range(len(dims))
        ):
            return whole
        term = self.terms.make("shape", None, dims)
        self.shapes.setdefault(term, dims)
        return term

    def dims_of_shape(self, shape: Value) -> tuple[Term, ...]:
        """Return the dims of a shape; raises ``Open`` where they are not known one by one."""
        term = self.term(shape)
        if self.terms[term].head == "shape":
            return self.terms[term].children
        kind, _, rank = self.terms.declared.get(term, "").partition(" ")
        if kind != "shape" or not rank.isdigit():
            raise Open("memory of a computed shape")
        return self.shapes.get(term) or tuple(self.terms.make("size", axis, (term,)) for axis in range(int(rank)))

    def reshaped(self, tensor: Tensor, shape: Value, call: Any = None) -> Tensor:
        """Give a tensor another shape: a view of it."""
        self.allocated += 1
        dims, operands = self.dims_of_shape(shape), (self.state.read(tensor), self.term(shape))
        contents = self.legalizer.value(call, operands) if self.legalizer is not None and call is not None else None
        if not isinstance(contents, int):
            contents = self.terms.make("op", ("relax.reshape", 0), operands)
        return self.state.view(tensor, self.allocated, dims, contents)

    def impure(self, term: Term) -> Term:
        """Put a call behind the effects so far; what it returns depends on them."""
        self.state.effect = self.terms.make("effect", None, (self.state.effect, term))
        return self.terms.make("after", None, (self.state.effect,))

    def unpacked(self, term: Term, ty: Any) -> Value:
        """Return a term as the value of its type: a tuple is a tuple of its elements."""
        if not isinstance(ty, relax.TupleType):
            return term
        arity = len(ty.fields)
        items = [self.terms.make("item", (index, arity), (term,)) for index in range(arity)]
        return TupleValue(tuple(self.unpacked(item, each) for item, each in zip(items, ty.fields, strict=True)))
