"""Claims of RewriteCUDAGraph where ``relax.backend.use_cuda_graph`` is set.

Source, where no other is given: the description at the head of src/relax/transform/rewrite_cuda_graph.cc, and the
modules that TVM's own tests of the pass expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.ir.functions import has_attribute, relax_functions
from relaxkit.ir.walk import callee_name, operator_of, places
from relaxkit.passes.claims.paths import number_of
from relaxkit.passes.contract import Harm, claimed, stated

LAUNCH = "vm.builtin.cuda_graph.run_or_capture"
CACHED = "vm.builtin.cuda_graph.get_cached_alloc"


def graph_given(value: Any, builtin: str) -> Any | None:
    """Return the function that a call of a builtin of CUDA graphs is given; ``None`` for every other expression."""
    if operator_of(value) == "relax.call_builtin_with_ctx" and value.args[0].global_symbol == builtin:
        return value.args[1].fields[0]
    return None


def graph_functions(module: Any, builtin: str) -> set[str]:
    """Return the names of the functions that the module gives to a builtin of CUDA graphs."""
    given = (graph_given(place.value, builtin) for _, each in relax_functions(module) for place in places(each))
    return {var.name_hint for var in given if var is not None}


@claimed(
    "kernels are called in the order they were called in",
    "each static region is lifted to a new function, which is called in its place",
    Harm.WRONG,
)
def kernel_order_differs(ran: Any) -> str:
    """Find a function that, graphs unfolded where they are launched, calls other kernels or in another order."""
    after = dict(relax_functions(ran.after))
    for name, function in relax_functions(ran.before):
        old, new = list(_kernel_calls(function, ran.before)), list(_kernel_calls(after[name], ran.after))
        if old != new:
            return f"kernels are called otherwise\nchanges which kernels {name} calls\nbefore: {old}\nafter: {new}"
    return ""


def _kernel_calls(function: Any, module: Any) -> Iterator[str]:
    for place in places(function):
        value = place.value
        if (launched := graph_given(value, LAUNCH)) is not None:
            yield from _kernel_calls(module[launched], module)
        elif isinstance(value, relax.Call) and isinstance(value.op, (tvm.ir.GlobalVar, relax.ExternFunc)):
            yield callee_name(value.op)


@claimed(
    "captured functions launch kernels and nothing else",
    '"it only contains kernel launches (there are no control flow)"; all alloc_storage goes into one new function',
)
def graphs_hold_more_than_kernels(ran: Any) -> str:
    """Say what stands in a captured function that cannot be captured."""
    functions = dict(relax_functions(ran.after))
    for name in graph_functions(ran.after, LAUNCH) - graph_functions(ran.before, LAUNCH):
        if has_attribute(functions[name], "global_symbol"):
            return f"a captured function is public\nmakes {name}, which is captured, public"
        for place in places(functions[name]):
            value = place.value
            callee = value.op if isinstance(value, relax.Call) else None
            if isinstance(value, relax.If):
                return f"control flow is captured\ncaptures an If in {name}"
            if isinstance(callee, tvm.ir.GlobalVar) and not isinstance(ran.after[callee], tirx.PrimFunc):
                return f"a call of a Relax function is captured\ncaptures a call to {callee.name_hint} in {name}"
            if operator_of(value) in ("relax.memory.alloc_storage", "relax.builtin.alloc_tensor"):
                return f"an allocation is captured\ncaptures {operator_of(value)} in {name}"
    return ""


@claimed(
    "merged storages are large enough",
    'MergeAllocationPlans: "a single function that allocates the sufficiently large storage to be shared"',
    Harm.WRONG,
)
def cached_storages_too_small(ran: Any) -> str:
    """Find a tensor that does not fit into the cached storage that it is put into."""
    functions = dict(relax_functions(ran.after))
    for name in functions:
        if said := _overflow(functions, name, {}):
            return f"a tensor is larger than its storage\n{said}"
    return ""


def _overflow(functions: Mapping[str, Any], name: str, given: Mapping[Any, int]) -> str:
    """Return the first tensor of a function that does not fit; ``given``: sizes of storages among its parameters."""
    sizes: dict[Any, int] = dict(given)
    cached: dict[Any, list[int]] = {}
    for place in places(functions[name]):
        var, value = place.var, place.value
        if (allocating := graph_given(value, CACHED)) is not None:
            cached[var] = _sizes(functions[allocating.name_hint])
        elif (launched := graph_given(value, LAUNCH)) is not None:
            pairs = zip(functions[launched.name_hint].params, value.args[1].fields[1].fields, strict=False)
            passed = {param: sizes[each] for param, each in pairs if each in sizes}
            if said := _overflow(functions, launched.name_hint, passed):
                return said
        elif isinstance(value, relax.TupleGetItem) and value.tuple_value in cached:
            sizes[var] = cached[value.tuple_value][value.index]
        elif operator_of(value) == "relax.memory.alloc_tensor" and value.args[0] in sizes:
            needed = _bytes(value.args[2], value.ty.dtype)
            if needed + (number_of(value.args[1], {}) or 0) > sizes[value.args[0]]:
                return f"puts {needed} bytes into a storage of {sizes[value.args[0]]} in {name}\ntensor: {value}"
    return ""


def _sizes(function: Any) -> list[int]:
    """Return the bytes of the storages that the allocating function gives, in the order of its result."""
    bound = {place.var: place.value for place in places(function)}
    result = bound.get(function.body.body, function.body.body)
    return [int(bound[field].args[0].values[0]) for field in result.fields]


def _bytes(shape: Any, dtype: Any) -> int:
    count = 1
    for dim in shape.values:
        if not isinstance(dim, tirx.IntImm):
            return 0  # captured dims are not known here
        count *= int(dim)
    kind = tvm.DataType(str(dtype))
    return count * int((kind.bits * kind.lanes + 7) // 8)


CUDA_GRAPH_CLAIMS = stated(kernel_order_differs, graphs_hold_more_than_kernels, cached_storages_too_small)
