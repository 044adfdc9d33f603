"""Which rewrite of a pass computes another value: the one that makes the results right where it is undone.

Both programs are interpreted on the inputs of the failure.  Of what the pass has made, the first variable is looked for
which, given the value that some variable had before, makes the function return what it should.  What both are bound to
is told whole, down to values that both programs have; only where one operand makes all the difference, and is computed
in both, that operand is told instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.literals import nested
from oracles.measure.comparison import compare
from oracles.semantics.single import given_to
from relaxkit.interpreter import Interpreter, Undefined
from relaxkit.ir.first_difference import value_text
from relaxkit.ir.functions import name_in, public_functions
from relaxkit.ir.walk import callee_name, is_constant, name_of, operands_of, operator_of, places
from relaxkit.runtime.values import Value

_MOST_TRIED = 400
_DEPTH = 4
_MOST_ELEMENTS = 4  # of a constant that is written out
_NEAR = 1e-3
_KERNEL_CALLS = ("relax.call_tir", "relax.call_pure_packed")


def miscomputed(before: tvm.IRModule, after: tvm.IRModule, symbol: str, arguments: Sequence[Any]) -> Iterator[str]:
    """Tell the rewrite, the longest text first; nothing where the interpreter does not see the failure.

    Raises:
        Unsupported: It cannot run one of them; ``Raised`` as it does.
    """
    names = (name_in(module, public_functions(module)[symbol]) for module in (before, after))
    old, new = (
        _TracedFunction(each, name, tuple(arguments)) for each, name in zip((before, after), names, strict=True)
    )
    yield from _told(old, new)


def _told(old: _TracedFunction, new: _TracedFunction) -> Iterator[str]:
    if old.result is None or _near(old.result, new.result):
        return
    pair = _descended(old, new, *(_repaired(old, new) or (old.function.body.body, new.function.body.body)))
    was, now = (each.resolved(expr) for each, expr in zip((old, new), pair, strict=True))
    if isinstance(was, relax.Var) and isinstance(now, relax.Var):
        return  # the cause is inside of a branch
    if _alike(was, now) and not _differing(old, new, was, now):
        if isinstance(was, relax.Call) and (name := str(getattr(was.op, "name_hint", ""))):
            inner = [
                _TracedFunction(each.module, name, each.values(call.args)) for each, call in ((old, was), (new, now))
            ]
            yield from _told(*inner)
        return  # else the cause is inside of a function that is a value
    shorter, (name, other) = [], [_short(operator_of(each)) for each in (was, now)]
    where = " inside an If" * any(place.branches for place in places(old.function) if place.var.same_as(pair[0]))
    for depth in (_DEPTH, 1):
        texts = old.text(was, new.values_in(pair[1]), depth), new.text(now, old.values_in(pair[0]), depth)
        yield f"wrongly turns {texts[0]} into {texts[1]}{where}"
        shorter += [f"wrongly turns {texts[0]} into {other}{where}"] if other and other != name else []
    yield from shorter
    if name and other and name != other:
        yield f"wrongly turns {name} into {other}{where}"


@dataclass
class _TracedFunction:
    """A function of a module, and its values on some arguments."""

    module: tvm.IRModule
    name: str
    arguments: tuple[Any, ...]

    @cached_property
    def function(self) -> Any:
        return self.module[self.name]

    @cached_property
    def bound(self) -> dict[relax.Var, Any]:
        """What the variables are bound to, in order, those in branches instead of the ``If``."""
        kinds = (relax.If, relax.Function)
        return {each.var: each.value for each in places(self.function) if not isinstance(each.value, kinds)}

    @cached_property
    def _ran(self) -> tuple[Value | None, Mapping[relax.Var, Any]]:
        frames: list[Mapping[relax.Var, Any]] = [dict(zip(self.function.params, self.arguments, strict=True))]
        result = self._result(observer=lambda request, _: frames.append(request.values))
        mine = {each.var for block in self.function.body.blocks for each in block.bindings}
        return result, max(frames, key=lambda frame: len(mine & {*frame}))  # others are of functions that it calls

    def _result(self, **options: Any) -> Value | None:
        """Run it; return nothing where what it does is not defined."""
        try:
            result: Value = Interpreter(self.module, **options).call(self.name, self.arguments)
        except Undefined:
            return None
        return result

    @property
    def result(self) -> Value | None:
        return self._ran[0]

    def with_value(self, var: relax.Var, value: Any) -> Value | None:
        """Return the result where a variable has another value."""
        return self._result(instead={var: value})

    def value(self, expr: Any) -> Any:
        """Return the value of a variable, a constant, or a tuple of these; ``None`` of everything else."""
        if isinstance(expr, relax.Var):
            return self._ran[1].get(expr)
        if is_constant(expr):
            return expr.value.numpy()
        return self.values(expr.fields) if isinstance(expr, relax.Tuple) else None

    def values(self, expressions: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of some of these."""
        return tuple(map(self.value, expressions))

    def resolved(self, expr: Any) -> Any:
        """Return what a variable is bound to in the end."""
        while isinstance(expr, relax.Var) and expr in self.bound:
            expr = self.bound[expr]
        return expr

    def values_in(self, expr: Any) -> list[tuple[str, Any]]:
        """Return names and values of the variables that an expression is computed from."""
        inner = [self.bound.get(expr)] if isinstance(expr, relax.Var) else operands_of(expr)
        mine = [(name_of(expr), self.value(expr))] if isinstance(expr, relax.Var) else []
        return [*mine, *(value for each in inner if each is not None for value in self.values_in(each))]

    def text(self, expr: Any, known: Sequence[tuple[str, Any]], depth: int) -> str:
        """Write an expression, down to a depth with what it is computed from, up to variables that are known."""
        if isinstance(expr, relax.Var):
            inner = expr in self.bound and depth > 0
            return self.text(self.bound[expr], known, depth) if inner else name_of(expr)
        if is_constant(expr):
            array = expr.value.numpy()
            return nested(array) if array.size <= _MOST_ELEMENTS else "a constant"
        if isinstance(expr, relax.Tuple):
            return f"({', '.join(self._operand(each, known, depth) for each in expr.fields)})"
        if isinstance(expr, relax.TupleGetItem):
            return f"{self._operand(expr.tuple_value, known, depth)}[{expr.index}]"
        if not isinstance(expr, relax.Call):
            return value_text(expr)
        name, operands = _short(operator_of(expr)) or callee_name(expr.op), list(expr.args)
        if operator_of(expr) in _KERNEL_CALLS:
            name, operands = callee_name(operands[0]), operands_of(operands[1])
        given = given_to(expr, needed=True) if operator_of(expr) else {}
        listed = [self._operand(each, known, depth) for each in operands]
        return f"{name}({', '.join([*listed, *(f'{key}={_attribute(each)}' for key, each in given.items())])})"

    def _operand(self, expr: Any, known: Sequence[tuple[str, Any]], depth: int) -> str:
        shared = isinstance(expr, relax.Var) and any(
            name == name_of(expr) and _near(self.value(expr), each) for name, each in known
        )
        return self.text(expr, known, 0 if shared else depth - 1)


def _repaired(old: _TracedFunction, new: _TracedFunction) -> tuple[relax.Var, relax.Var] | None:
    """Return the first variable of the old program whose value repairs the new one, and the last that it repairs there.

    A value that the old program had, too, is right in itself; but the last may have one that it had elsewhere.
    """
    had = [old.value(each) for each in old.bound]
    wrong = [now for now in new.bound if not any(_near(each, new.value(now)) for each in had)]
    fits = _fits if new.result is not None else lambda due, seen: due is not None and seen is None
    pairs = [(was, now) for now in wrong for was in reversed(old.bound) if fits(old.value(was), new.value(now))]
    pairs.sort(key=lambda pair: _mismatch(old.value(pair[0]), new.value(pair[1])) == "wrong-shape")
    for was, now in pairs[:_MOST_TRIED]:
        if _near(old.result, new.with_value(now, old.value(was))):
            last = (each for each in reversed(new.bound) if fits(old.value(was), new.value(each)))
            return was, next(each for each in last if _near(old.result, new.with_value(each, old.value(was))))
    return None


def _fits(expected: Any, seen: Any) -> bool:
    return _mismatch(expected, seen) in ("wrong-value", "wrong-shape")


def _mismatch(expected: Any, seen: Any) -> str:
    found = compare(expected, seen)
    return "" if found is None else found.kind


def _descended(old: _TracedFunction, new: _TracedFunction, was: Any, now: Any) -> tuple[Any, Any]:
    """Return the innermost operands that differ alone, of what is computed alike."""
    left, right = old.resolved(was), new.resolved(now)
    differing = _differing(old, new, left, right) if _alike(left, right) else []
    if len(differing) == 1 and _is_made(old, differing[0][0], new) and _is_made(new, differing[0][1], old):
        return _descended(old, new, *differing[0])
    return was, now


def _differing(old: _TracedFunction, new: _TracedFunction, left: Any, right: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of operands that have other values, or are written otherwise where they have none."""
    pairs = itertools.zip_longest(operands_of(left), operands_of(right))
    return [each for each in pairs if not (_near(old.value(each[0]), new.value(each[1])) or _is_same_text(*each))]


def _is_same_text(was: Any, now: Any) -> bool:
    valued = any(each is None or isinstance(each, relax.Var) or is_constant(each) for each in (was, now))
    return not valued and bool(tvm_ffi.structural_equal(was, now, map_free_vars=True))


def _is_made(function: _TracedFunction, expr: Any, other: _TracedFunction) -> bool:
    """Say whether an expression is computed here, and is no variable that the other function has, too."""
    if isinstance(expr, relax.Tuple):
        return True
    return expr in function.bound and not any(
        name_of(each) == name_of(expr) and _near(function.value(expr), other.value(each)) for each in other.bound
    )


def _alike(left: Any, right: Any) -> bool:
    """Say whether two expressions do the same to their operands."""
    if isinstance(left, relax.TupleGetItem) and isinstance(right, relax.TupleGetItem):
        return bool(left.index == right.index)
    if isinstance(left, relax.Call) and isinstance(right, relax.Call):
        alike = operator_of(left) == operator_of(right) and callee_name(left.op) == callee_name(right.op)
        return alike and bool(tvm_ffi.structural_equal(left.attrs, right.attrs))
    return isinstance(left, relax.Tuple) and isinstance(right, relax.Tuple)


def _near(left: Any, right: Any) -> bool:
    """Say whether two values are known, and the same up to roundings; another wrong value is farther off."""
    if left is None or right is None:
        return False

    def tolerance(_path: tuple[int, ...], expected: Any, _observed: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return _NEAR * (np.abs(expected.astype("float64")) + _NEAR)

    return compare(left, right, tolerance) is None


def _attribute(value: Any) -> str:
    return f"[{', '.join(map(value_text, value))}]" if isinstance(value, tvm_ffi.Array) else value_text(value)


def _short(operator: str) -> str:
    return operator.replace("relax.", "R.", 1)
