"""The contents of one module, read off its IR in one walk: operators, their operands, and who takes whose result.

This is the only place that says what a *pair of operators* is: ``(producer, consumer)``, where the consumer takes a
result of the producer as an argument within one Relax function (local functions and branches included), directly or
through tuples (built, taken apart, or both), aliases, ``match_cast`` and the result of an ``If``.  A tuple that is
taken apart gives the pair of the field that was taken, and no other.  Calls of functions are no operators: nothing is
passed through them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

UNKNOWN_RANK = -1

Operand = tuple[str, str, int]
"""Operator, dtype and rank of one of its tensor operands (:data:`UNKNOWN_RANK` where the type does not say)."""
Pair = tuple[str, str]
"""Producer and consumer."""

_Made = Any
"""What made a value: a frozen set of operators, or for a tuple of known fields a tuple of the same."""
_NOBODY: frozenset[str] = frozenset()


@dataclass(slots=True)
class Profile:
    """The contents of a module.

    Attributes:
        operators: Calls by operator, ``relax.add``.
        parts: What else there is: ``function``, ``kernel``, ``call`` (of a function by its name), ``closure-call``,
            ``packed-call``, ``if``, ``tuple``, ``take`` (of a field), ``cast`` (``match_cast``), ``alias``, ``shape``
            and ``constant`` (each bound to a variable).
        operands: Operators with dtype and rank of their operands.
        pairs: Pairs of operators, as this module defines them.
        bindings: Bindings in all Relax functions, local functions and branches included.
    """

    operators: Counter[str] = field(default_factory=Counter)
    parts: Counter[str] = field(default_factory=Counter)
    operands: set[Operand] = field(default_factory=set)
    pairs: set[Pair] = field(default_factory=set)
    bindings: int = 0

    @property
    def counts(self) -> Counter[str]:
        """Operators and parts together: the multiset that rewrites are read from."""
        return self.operators + self.parts


def profile_of(module: tvm.IRModule, operands: bool = True) -> Profile:
    """Return the profile of a module; without ``operands`` neither those nor the pairs, which makes it cheaper."""
    walk = _ProfileWalk(operands)
    for function in module.functions.values():
        if isinstance(function, relax.Function):
            walk.function(function)
        else:
            walk.profile.parts["kernel"] += 1
    return walk.profile


class _ProfileWalk:
    """One walk over all functions of a module; variables are unique in it, so that one table serves all of them."""

    def __init__(self, operands: bool) -> None:
        self.profile = Profile()
        self._deep = operands
        self._made: dict[Any, _Made] = {}

    def function(self, function: Any) -> None:
        self.profile.parts["function"] += 1
        self._sequence(function.body)

    def _sequence(self, sequence: Any) -> _Made:
        made, profile = self._made, self.profile
        for block in sequence.blocks:
            bindings = block.bindings
            profile.bindings += len(bindings)
            for binding in bindings:
                value = binding.value
                kind = type(value)
                if type(binding) is relax.MatchCast:
                    profile.parts["cast"] += 1
                    result = self._value(value)
                elif kind is relax.Call:
                    result = self._call(value)
                elif kind is relax.Function:
                    self.function(value)
                    continue
                elif kind is relax.If:
                    profile.parts["if"] += 1
                    result = _either(self._sequence(value.true_branch), self._sequence(value.false_branch))
                else:
                    profile.parts[_PARTS.get(kind, "constant")] += 1
                    result = self._value(value)
                if result:
                    made[binding.var] = result
        return self._value(sequence.body)

    def _call(self, call: Any) -> _Made:
        operator = call.op
        if type(operator) is not tvm.ir.Op:
            self.profile.parts[_CALLEES.get(type(operator), "closure-call")] += 1
            return _NOBODY
        name = str(operator.name)
        self.profile.operators[name] += 1
        if not self._deep:
            return _NOBODY
        for argument in call.args:
            self._argument(name, argument)
        return frozenset((name,))

    def _argument(self, name: str, argument: Any) -> None:
        kind = type(argument)
        if kind is relax.Tuple:
            for item in argument.fields:
                self._argument(name, item)
            return
        if kind is relax.ShapeExpr:
            return
        if (made := self._value(argument)) is not _NOBODY:
            pairs = self.profile.pairs
            for producer in _flat(made):
                pairs.add((producer, name))
        self._operand(name, getattr(argument, "ty", None))

    def _operand(self, name: str, ty: Any) -> None:
        if type(ty) is relax.TensorType:
            dtype = ty.dtype
            self.profile.operands.add((name, "unknown" if dtype is None else str(dtype), int(ty.ndim)))
        elif type(ty) is relax.TupleType:
            for item in ty.fields:
                self._operand(name, item)

    def _value(self, value: Any) -> _Made:
        """Return what made the value of an expression."""
        kind = type(value)
        if kind is relax.Call:
            return self._call(value)
        if not self._deep:
            return _NOBODY
        if kind is relax.Var or kind is relax.DataflowVar:
            return self._made.get(value, _NOBODY)
        if kind is relax.Tuple:
            return tuple(self._value(item) for item in value.fields)
        if kind is relax.TupleGetItem:
            made = self._value(value.tuple_value)
            return made[value.index] if type(made) is tuple else made
        return _NOBODY


_CALLEES = {relax.GlobalVar: "call", relax.ExternFunc: "packed-call"}
_PARTS = {
    relax.Var: "alias", relax.DataflowVar: "alias", relax.GlobalVar: "alias", relax.Tuple: "tuple",
    relax.TupleGetItem: "take", relax.ShapeExpr: "shape",
}  # fmt: skip


def _flat(made: _Made) -> frozenset[str]:
    """Return the operators that made a value or a part of it."""
    if type(made) is tuple:
        return frozenset().union(*map(_flat, made))
    assert isinstance(made, frozenset)
    return made


def _either(left: _Made, right: _Made) -> _Made:
    """Return what made a value that is one of two."""
    if type(left) is tuple and type(right) is tuple and len(left) == len(right):
        return tuple(_either(*pair) for pair in zip(left, right, strict=True))
    return _flat(left) | _flat(right)
