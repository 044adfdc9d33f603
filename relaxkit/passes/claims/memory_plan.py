"""Claims of ``StaticPlanBlockMemory`` and ``LowerAllocTensor`` about the memory that they hand out.

The plan is checked along every way through a function, with liveness of our own: a tensor is in use from the first to
the last step that reads or writes it under any of its names (aliases, casts, views, tuples, results of branches). So a
plan is wrong here only when some run of the function does overwrite a tensor that it still needs.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvm import relax, tirx

from relaxkit.ir.functions import closed, functions_by_name, has_attribute, relax_functions
from relaxkit.ir.lowered import KILLING
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.claims.common import relax_pairs, variables_read
from relaxkit.passes.claims.paths import PathStep, builtin_of, number_of, symbols_of, ways
from relaxkit.passes.contract import Harm, claimed, nothing_left

_PLAN = "header of src/relax/transform/static_plan_block_memory.cc"
LENDING = frozenset({"relax.memory.alloc_tensor", "relax.vm.alloc_tensor"})
STORING = frozenset({"relax.memory.alloc_storage", "relax.vm.alloc_storage"})
VIEWING = frozenset({"relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"})
# Packed functions of the runtime whose result is their first argument, or a view of it. What another packed function
# returns counts as new, which is what the pass assumes of all of them.
RETURNING = frozenset({"vm.builtin.copy", "vm.builtin.reshape"})


@dataclass(frozen=True, slots=True)
class Lent:
    """A tensor in a storage, ``offset`` bytes from its beginning; the call need not say its shape."""

    var: Any
    storage: Any
    offset: Any
    shape: tuple[Any, ...] | None
    dtype: str


@dataclass(slots=True)
class Trace:
    """Tensors in storages, in order, with the positions of the steps that may read or write each, along one way."""

    lent: list[Lent] = field(default_factory=list)
    used: list[list[int]] = field(default_factory=list)


def follow(steps: list[PathStep], kernels: frozenset[str]) -> Trace:
    """Follow the tensors of a way.

    Args:
        kernels: Names of the module's PrimFuncs. What any other function of the module, or an operator, is given may
            be kept in its result.
    """
    result = Trace()
    held: dict[Any, Any] = {}
    storages: dict[Any, Any] = {}
    for position, step in enumerate(steps):
        var, value, name = step.var, step.value, operator_of(step.value)
        if name in STORING:
            storages[var] = var
        elif name in LENDING:
            held[var] = frozenset({len(result.lent)})
            result.lent.append(_lent_by(var, value, storages))
            result.used.append([])
        elif name in KILLING:
            continue
        elif name in VIEWING or builtin_of(value) in RETURNING:
            held[var] = _whole(_held_in(value.args[0], held))
        elif isinstance(value, relax.Call):
            taken = _whole(tuple(held.get(read, frozenset()) for read in variables_read(value)))
            _use(result, taken, position)
            held[var] = frozenset() if _takes_nothing(value, kernels) else taken
        elif var is None:
            _use(result, _whole(_held_in(value, held)), position)
        else:
            held[var] = _held_in(value, held)
            if isinstance(value, relax.Var) and value in storages:
                storages[var] = storages[value]
    return result


def _lent_by(var: Any, call: Any, storages: Mapping[Any, Any]) -> Lent:
    shape = tuple(call.args[2].values) if isinstance(call.args[2], relax.ShapeExpr) else None
    return Lent(var, storages.get(call.args[0], call.args[0]), call.args[1], shape, str(call.args[3].value))


def _takes_nothing(call: Any, kernels: frozenset[str]) -> bool:
    # "It assumes external function calls via 'call_packed' do not retain memory from the arguments." (the pass)
    if isinstance(call.op, relax.GlobalVar):
        return str(call.op.name_hint) in kernels
    return isinstance(call.op, relax.ExternFunc)


def _held_in(value: Any, held: Mapping[Any, Any]) -> Any:
    """Return the numbers of the tensors that a value is or holds: a set, or a tuple of such."""
    if isinstance(value, relax.Var):
        return held.get(value, frozenset())
    if isinstance(value, relax.Tuple):
        return tuple(_held_in(item, held) for item in value.fields)
    if isinstance(value, relax.TupleGetItem):
        whole = _held_in(value.tuple_value, held)
        return whole[value.index] if isinstance(whole, tuple) else whole
    if isinstance(value, relax.Function):
        return _whole(tuple(held.get(var, frozenset()) for var in relax.analysis.free_vars(value)))
    return frozenset()


def _whole(held: Any) -> frozenset[int]:
    if isinstance(held, tuple):
        return frozenset(itertools.chain.from_iterable(_whole(item) for item in held))
    return frozenset(held)


def _use(result: Trace, taken: frozenset[int], position: int) -> None:
    for number in taken:
        result.used[number].append(position)


def kernel_names(module: Any) -> frozenset[str]:
    """Return the names of the PrimFuncs of a module."""
    return frozenset(
        name for name, function in functions_by_name(module).items() if isinstance(function, tirx.PrimFunc)
    )


@claimed(
    "tensors in use at the same time share no memory", _PLAN, Harm.WRONG,
    shown='assert After.script().count("R.memory.alloc_storage(") > 1',
)  # fmt: skip
def shared_while_in_use(ran: Any) -> str:
    """Find two tensors of one storage that are in use at the same time, in some run of the function.

    A function whose tensors lie in storages already is not planned again. What passes behind the plan made of it, as
    RewriteCUDAGraph does whose calls return some of what they are given, is followed here too roughly for a claim.
    """
    kernels, before = kernel_names(ran.after), functions_by_name(ran.before)
    for name, function in relax_functions(ran.after):
        if name in before and any(operator_of(place.value) in LENDING for place in places(before[name])):
            continue
        for steps in ways(function):
            traced = follow(steps, kernels)
            for (one, ones), (other, others) in itertools.combinations(
                [(lent, used) for lent, used in zip(traced.lent, traced.used, strict=True) if used], 2
            ):
                if not one.storage.same_as(other.storage) or ones[0] > others[-1] or others[0] > ones[-1]:
                    continue
                if _overlap(one, other):
                    return (
                        "two tensors that are in use at the same time share a storage\n"
                        f"puts {one.var.name} and {other.var.name} of {name}, both in use, into {one.storage.name}\n"
                        f"{one.var.name}: used from step {ones[0]} to {ones[-1]}\n"
                        f"{other.var.name}: used from step {others[0]} to {others[-1]}"
                    )
    return ""


def _overlap(one: Lent, other: Lent) -> bool:
    """Say whether both have elements, and one begins before the other's end, where all dims are 3."""
    ends = []
    for lent in (one, other):
        if lent.shape is None:
            return False
        size = math.prod(lent.shape, start=element_bytes(lent.dtype))
        values = dict.fromkeys(_symbols_of_all([*lent.shape, lent.offset]), 3)
        start, length = number_of(lent.offset, values), number_of(size, values)
        if start is None or not length:
            return False
        ends.append((start, start + length))
    return ends[0][0] < ends[1][1] and ends[1][0] < ends[0][1]


def element_bytes(dtype: str) -> int:
    """Return the bytes that one element of a dtype takes in memory."""
    found = re.match(r"[a-z]+(\d+)(?:_\w*?)?(?:x(\d+))?$", dtype)
    return 1 if found is None else (int(found[1]) * int(found[2] or 1) + 7) // 8


@claimed("storages hold their tensors", f"{_PLAN}, and what the runtime checks", Harm.WRONG)
def storage_too_small(ran: Any) -> str:
    """Find a tensor that does not fit into its storage, with dims for which that is so."""
    for name, function in relax_functions(ran.after):
        bounds = upper_bounds(function)
        sizes: dict[Any, Any] = {}
        for place in places(function):
            var, value = place.var, place.value
            if operator_of(value) in STORING and isinstance(value.args[0], relax.ShapeExpr):
                sizes[var] = value.args[0].values[0]
            elif operator_of(value) in LENDING:
                lent = _lent_by(var, value, {})
                if lent.storage not in sizes or lent.shape is None:
                    continue
                if values := _misfit(lent, sizes[lent.storage], bounds):
                    return (
                        "a tensor is larger than its storage\n"
                        f"puts {var.name} of {name}, {lent.dtype} {list(lent.shape)}, in {sizes[lent.storage]} bytes\n"
                        f"for: {values}"
                    )
    return ""


def _misfit(lent: Lent, size: Any, bounds: Mapping[Any, tuple[int, int]]) -> str:
    symbols = _symbols_of_all([*(lent.shape or ()), lent.offset, size])
    for values in _assignments(symbols, bounds):
        dims = [number_of(dim, values) for dim in lent.shape or ()]
        start, have = number_of(lent.offset, values), number_of(size, values)
        if start is None or have is None or any(dim is None or dim < 0 for dim in dims):
            continue
        if start + math.prod(dim or 0 for dim in dims) * element_bytes(lent.dtype) > have:
            return ", ".join(f"{symbol.name}={value}" for symbol, value in values.items()) or "all dims"
    return ""


def _symbols_of_all(exprs: list[Any]) -> list[Any]:
    return list(dict.fromkeys(itertools.chain.from_iterable(symbols_of(expr) for expr in exprs)))


def _assignments(symbols: list[Any], bounds: Mapping[Any, tuple[int, int]]) -> Iterator[dict[Any, int]]:
    """Yield the values of symbols that the function may meet: the bounds, and some that differ from each other."""
    lows_highs = [bounds.get(symbol, (1, 17)) for symbol in symbols]
    yield {symbol: high for symbol, (_, high) in zip(symbols, lows_highs, strict=True)}
    for turn in range(len(symbols) if len(symbols) > 1 else 0):
        yield {
            symbol: high if index == turn else low
            for index, (symbol, (low, high)) in enumerate(zip(symbols, lows_highs, strict=True))
        }
    yield {
        symbol: min(high, low + 2 + 3 * index)
        for index, (symbol, (low, high)) in enumerate(zip(symbols, lows_highs, strict=True))
    }


def upper_bounds(function: Any) -> dict[Any, tuple[int, int]]:
    """Return the least and greatest values of the dims of a signature that ``tir_var_upper_bound`` bounds."""
    if not has_attribute(function, "tir_var_upper_bound"):
        return {}
    uppers = {str(name): int(bound) for name, bound in function.attrs["tir_var_upper_bound"].items()}
    lowers: dict[str, int] = {}
    if has_attribute(function, "tir_var_lower_bound"):
        lowers = {str(name): int(bound) for name, bound in function.attrs["tir_var_lower_bound"].items()}
    signature = relax.TupleType([param.ty for param in function.params])
    return {
        symbol: (lowers.get(str(symbol.name), 0), uppers[str(symbol.name)])
        for symbol in relax.analysis.tir_vars_in_type(signature)
        if str(symbol.name) in uppers
    }


@nothing_left("upper bounds of dims make sizes static", _PLAN)
def bound_not_used(ran: Any) -> str:
    """Find a planned storage whose size still depends on nothing but dims that have an upper bound."""
    before = functions_by_name(ran.before)
    for name, function in relax_functions(ran.after):
        # What was lowered before by LowerAllocTensor is not planned any more.
        planned = name not in before or not any(
            operator_of(place.value) == "relax.memory.alloc_storage" for place in places(before[name])
        )
        bounds = upper_bounds(function) if planned else {}
        for place in places(function) if bounds else ():
            value = place.value
            if operator_of(value) != "relax.memory.alloc_storage" or not isinstance(value.args[0], relax.ShapeExpr):
                continue
            symbols = symbols_of(value.args[0].values[0])
            if symbols and all(symbol in bounds for symbol in symbols):
                return (
                    "a storage has a symbolic size although its dims have upper bounds\n"
                    f"leaves a storage of {value.args[0].values[0]} bytes in {name}, whose dims have upper bounds"
                )
    return ""


_STORED = """\
bound = {{each.var: each.value for block in After["{name}"].body.blocks for each in block.bindings}}
lent = [call for call in bound.values() if str(call).startswith("R.memory.alloc_tensor(")]
assert all(call.args[4].value == bound[call.args[0]].args[1].value for call in lent), "devices differ"
"""


@claimed("each tensor is allocated as it was", _PLAN, shown=_STORED)
def planned_elsewhere(ran: Any) -> str:
    """Find a tensor that the plan allocates in another shape or dtype, on another device or scope, or not at all."""
    for name, before, after in relax_pairs(ran):
        wanted, given = list(_allocations(before)), list(_allocations(after))
        if len(wanted) != len(given):
            return (
                f"another number of tensors is allocated\nallocates {len(given)} tensors in {name}, not {len(wanted)}"
            )
        for old, new in zip(wanted, given, strict=True):
            for what, one, other in zip(("shape", "dtype", "device", "scope"), old, new, strict=True):
                if one != other:
                    said = f"allocates a tensor of {what} {one} in {name} as one of {what} {other}"
                    return f"a tensor is allocated in another {what}\n{said}"
    return ""


def _allocations(function: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield the shape, dtype, device and scope of all tensors that a function allocates, in order."""
    storages: dict[Any, tuple[str, str]] = {}
    for place in places(function):
        value, name = place.value, operator_of(place.value)
        if name == "relax.builtin.alloc_tensor":
            shape, dtype, device, scope = value.args
            yield str(shape), str(dtype.value), str(device.value), str(scope.value)
        elif name == "relax.memory.alloc_storage":
            storages[place.var] = str(value.args[1].value), str(value.args[2].value)
        elif name == "relax.memory.alloc_tensor":
            device, scope = storages.get(value.args[0], ("", ""))
            yield str(value.args[2]), str(value.args[3].value), device, scope


@nothing_left("what may be planned is planned", f"{_PLAN}: the list in StorageTokenNode")
def left_unplanned(ran: Any) -> str:
    """Find a tensor without storage though none of the reasons holds that the pass names for leaving one alone."""
    kernels = kernel_names(ran.after)
    for name, function in relax_functions(ran.after):
        escaped = _escaped(function, kernels)
        for place in places(function):
            if operator_of(place.value) != "relax.builtin.alloc_tensor" or place.local:
                continue
            if place.var not in escaped:
                return (
                    "a tensor that only kernels of one block use has no storage\n"
                    f"leaves {place.var.name} of {name}, which only kernels of one block use, without a storage"
                )
    return ""


def _escaped(function: Any, kernels: frozenset[str]) -> set[Any]:
    """Return the variables whose tensor is used by other things than kernels, or outside of its block."""
    home: dict[Any, Any] = {}
    escaped: set[Any] = set()
    sources: dict[Any, list[Any]] = {}
    for place in places(function):
        var, value = place.var, place.value
        home[var] = place.block
        read = list(variables_read(value))
        views = operator_of(value) in VIEWING or builtin_of(value) in RETURNING
        plain = views or isinstance(value, (relax.Var, relax.Tuple, relax.TupleGetItem))
        if plain and isinstance(place.binding, relax.VarBinding):
            sources[var] = read
        elif not (isinstance(value, relax.Call) and _takes_nothing(value, kernels)):
            escaped.update(read)
        if isinstance(value, relax.If):
            escaped.update(v for branch in (value.true_branch, value.false_branch) for v in variables_read(branch.body))
        elif isinstance(value, relax.Function):
            escaped.update(relax.analysis.free_vars(value))
        escaped.update(used for used in read if used in home and not home[used].same_as(place.block))
    escaped.update(variables_read(function.body.body))
    return closed(escaped, lambda var: sources.get(var, ()))
