"""Which symbolic dims belong together: those that a call makes equal must become static together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Func, Sketch
from relaxkit.ir.sketch.slots import slots_of, types_of
from relaxkit.ir.types import dims_in, flat

_USUAL = (2, 3)


@dataclass(frozen=True, slots=True)
class Group:
    """Symbolic dims that calls make equal.

    Attributes:
        symbols: The vars, in order of appearance.
        sizes: Extents that they can take: what callers give, where they give numbers.
    """

    symbols: tuple[Any, ...]
    sizes: tuple[int, ...]


def groups(sketch: Sketch) -> list[Group]:
    """Return the symbolic dims of all types of vars, grouped, in order of appearance."""
    own = {param for func in sketch.relax_functions().values() for param in func.params}
    leader: dict[Any, Any] = {}
    for ty in types_of(sketch):
        for item in uses.leaves_of_type(ty):
            if uses.is_symbol(item) and item not in own:
                leader.setdefault(item, item)

    def find(symbol: Any) -> Any:
        while leader[symbol] is not symbol:
            symbol = leader[symbol]
        return symbol

    given: list[tuple[Any, int]] = []
    for declared, dim in _meetings(sketch):
        if declared not in leader:
            continue
        if isinstance(dim, tvm.tirx.IntImm):
            given.append((declared, int(dim)))
        elif dim in leader:
            leader[find(declared)] = find(dim)
    members: dict[Any, list[Any]] = {}
    for symbol in leader:
        members.setdefault(find(symbol), []).append(symbol)
    sizes: dict[Any, list[int]] = {}
    for symbol, size in given:
        sizes.setdefault(find(symbol), []).append(size)
    return [Group(tuple(items), tuple(dict.fromkeys(sizes.get(first, _USUAL)))) for first, items in members.items()]


def _meetings(sketch: Sketch) -> Iterator[tuple[Any, Any]]:
    """Yield a symbolic dim of a parameter, and the dim of the argument of a call."""
    slots = slots_of(sketch)
    local = {slot.binding.var: slot.binding.value for slot in slots if isinstance(slot.binding.value, Func)}
    for slot in slots:
        call = slot.binding.value
        if not isinstance(call, tvm.ir.Call):
            continue
        if isinstance(call.op, tvm.ir.GlobalVar):
            callee = sketch.functions.get(str(call.op.name_hint))
        else:
            callee = local.get(call.op) if isinstance(call.op, relax.Var) else None
        if isinstance(callee, Func):
            for param, argument in zip(callee.params, call.args, strict=False):
                yield from matched(param.ty, argument.ty)


def matched(declared: Any, given: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the symbolic vars that stand alone in a declared type, each with what a given type has in that place."""
    for left, right in zip(flat(declared), flat(given), strict=False):
        yield from (pair for pair in zip(dims_in(left), dims_in(right), strict=False) if isinstance(pair[0], uses.VARS))
