"""Ways through a function: what is bound, in order, when each ``If`` has taken one of its branches.

Along one way everything is a straight line, so that "before", "after" and "is the same tensor as" are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx

from relaxkit.ir.walk import operator_of, places

MOST_BRANCHES = 6


@dataclass(frozen=True, slots=True)
class PathStep:
    """One binding along a way; that of an ``If`` has the result of the branch that was taken.

    A condition has no variable, nor has the result of the function, which is the last step.
    """

    var: Any
    value: Any


def ways(function: Any) -> Iterator[list[PathStep]]:
    """Yield the ways through a Relax function: all of them up to 64, and a few of more.

    Local functions are values here: what they bind is no step of the function around them.
    """
    branching = [place.value for place in places(function) if place.local == 0 and isinstance(place.value, relax.If)]
    seen: set[tuple[int, ...]] = set()
    for choice in _choices_of(len(branching)):
        taken = dict(zip(branching, choice, strict=True))
        met: list[int] = []
        steps = list(_steps_in(function.body, taken, met))
        if tuple(met) not in seen:
            seen.add(tuple(met))
            yield [*steps, PathStep(None, function.body.body)]


def _choices_of(count: int) -> Iterable[tuple[int, ...]]:
    """Return which side each branch takes: all choices, or, of many branches, one side of all and of all but one."""
    if count <= MOST_BRANCHES:
        return itertools.product((1, 0), repeat=count)
    all_but = (tuple(int(other != index) for other in range(count)) for index in range(min(count, 2**MOST_BRANCHES)))
    return itertools.chain([(1,) * count, (0,) * count], all_but)


def _steps_in(sequence: Any, taken: Mapping[Any, int], met: list[int]) -> Iterator[PathStep]:
    for block in sequence.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                yield PathStep(None, value.cond)
                met.append(taken[value])
                branch = value.true_branch if taken[value] else value.false_branch
                yield from _steps_in(branch, taken, met)
                value = branch.body
            yield PathStep(binding.var, value)


def builtin_of(value: Any) -> str:
    """Return the name of the packed function that a call calls, with the virtual machine's context or without."""
    if not isinstance(value, relax.Call):
        return ""
    callee = value.op
    if operator_of(value) == "relax.call_builtin_with_ctx":
        callee = value.args[0]
    return str(callee.global_symbol) if isinstance(callee, relax.ExternFunc) else ""


def number_of(expr: Any, values: Mapping[Any, int]) -> int | None:
    """Return the value of an integer expression over dims; ``None`` where it has other parts or unknown variables."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, tirx.IntImm):
        return int(expr.value)
    if isinstance(expr, (relax.Var, tirx.Var)):  # two classes in TVM 0.25
        return values.get(expr)
    if isinstance(expr, tirx.Cast) or type(expr).__name__ == "PrimValue":  # TVM 0.25 wraps scalars
        return number_of(expr.value, values)
    apply = ARITHMETIC.get(type(expr))
    if apply is None:
        return None
    left, right = number_of(expr.a, values), number_of(expr.b, values)
    if left is None or right is None:
        return None
    try:
        return int(apply(left, right))
    except ZeroDivisionError:
        return None


ARITHMETIC: dict[Any, Any] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Min: min,
    tirx.Max: max,
}


def symbols_of(expr: Any) -> list[Any]:
    """Return the variables of an integer expression over dims, each once; none of what :func:`number_of` rejects."""
    if isinstance(expr, (relax.Var, tirx.Var)):
        return [expr]
    if isinstance(expr, tirx.Cast) or type(expr).__name__ == "PrimValue":
        return symbols_of(expr.value)
    if type(expr) in ARITHMETIC:
        return list(dict.fromkeys([*symbols_of(expr.a), *symbols_of(expr.b)]))
    return []
