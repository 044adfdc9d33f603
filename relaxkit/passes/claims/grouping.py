"""Claims of all passes that put bindings into functions of their own: nothing is lost, and calls fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tvm import relax

from relaxkit.ir.functions import functions_by_name, has_attribute, is_public, relax_functions
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.claims.common import placed, variables_read
from relaxkit.passes.contract import Harm, claimed, nothing_left

KERNEL_CALLS = ("relax.call_tir", "relax.call_tir_inplace")
GROUPING = ("Primitive", "Composite", "Codegen")


def is_group(function: Any) -> bool:
    """Say whether a function holds what was grouped: it is to become one kernel, or external code."""
    return isinstance(function, relax.Function) and any(has_attribute(function, name) for name in GROUPING)


def new_groups(ran: Any) -> Iterator[tuple[str, Any]]:
    """Yield the groups of the module after that were not in the module before, with their names."""
    before = functions_by_name(ran.before)
    for name, function in relax_functions(ran.after):
        if is_group(function) and not is_group(before.get(name)):
            yield name, function


def composites_in(function: Any) -> list[str]:
    """Return the values of ``Composite`` of a function and of its local functions."""
    inner = [place.value for place in places(function) if isinstance(place.value, relax.Function)]
    marked = [each for each in (function, *inner) if has_attribute(each, "Composite")]
    return [str(each.attrs["Composite"]) for each in marked]


def made_groups(ran: Any) -> Iterator[tuple[str, Any]]:
    """Yield the new groups, but for those that hold composite functions of before under another name."""
    old = {name for _, function in relax_functions(ran.before) for name in composites_in(function)}
    for name, function in new_groups(ran):
        found = composites_in(function)
        if not found or not old.issuperset(found):
            yield name, function


def work_of(function: Any, functions: Mapping[str, Any], live_only: bool = False) -> Counter[str]:
    """Say how often a function calls each operator, kernel and function; groups count at each of their calls.

    So do local functions: a composite that is called twice is kept once. One that nothing calls by name counts once.

    Args:
        live_only: Whether to leave out what nothing that the function returns or decides depends on.
    """
    counted: Counter[str] = Counter()
    live = _live_in(function) if live_only else None
    own = [place.binding for place in places(function) if not place.local and (live is None or place.var in live)]
    local = {binding.var: binding.value for binding in own if isinstance(binding.value, relax.Function)}
    calls = [binding.value for binding in own if isinstance(binding.value, relax.Call)]
    inner = [value.op for value in calls if value.op in local]
    for var in [*inner, *(var for var in local if var not in inner)]:
        counted.update(work_of(local[var], functions, live_only))
    for value in calls:
        name = operator_of(value)
        if name in KERNEL_CALLS:
            counted[str(value.args[0].name_hint)] += 1
        elif name:
            counted[name] += 1
        elif isinstance(value.op, relax.GlobalVar):
            callee = functions.get(str(value.op.name_hint))
            if is_group(callee):
                counted.update(work_of(callee, functions))
            else:
                counted[str(value.op.name_hint)] += 1
    return counted


def _live_in(function: Any) -> set[Any]:
    live = set(variables_read(function.body.body))
    for place in reversed(list(places(function))):
        value = place.value
        if place.var not in live:
            continue
        live.update(variables_read(value))
        if isinstance(value, relax.If):
            live.update(variables_read(value.true_branch.body))
            live.update(variables_read(value.false_branch.body))
        elif isinstance(value, relax.Function):
            live.update(variables_read(value.body.body))
    return live


@claimed(
    "the same work is done, and no more",
    "what is grouped is called by the group instead: example in the documentation",
    Harm.WRONG,
)
def work_not_kept(ran: Any) -> str:
    """Find a kernel or operator that a function calls more often than before, or less often than it has to."""
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    for name, function in relax_functions(ran.before):
        if is_group(function) or not isinstance(after.get(name), relax.Function):
            continue
        old, new = work_of(function, before), work_of(after[name], after)
        if more := new - old:
            return f"work is done more often than before\nmakes {name} call {', '.join(more)} more often"
        if less := work_of(function, before, live_only=True) - new:
            return f"work is done less often than before\nmakes {name} call {', '.join(less)} less often"
    return ""


@claimed("calls of groups fit", "type inference of a call, which TVM asks for")
def calls_do_not_fit(ran: Any) -> str:
    """Find a call of a new group whose arguments are of another number, or of types that its parameters exclude."""
    fresh = dict(new_groups(ran))
    for _, place in placed(ran.after):
        value = place.value
        if not isinstance(value, relax.Call) or not isinstance(value.op, relax.GlobalVar):
            continue
        callee = fresh.get(str(value.op.name_hint))
        if callee is None:
            continue
        if len(value.args) != len(callee.params):
            what = f"gives {value.op.name_hint} {len(value.args)} arguments"
            return f"a call of a group has another number of arguments\n{what}"
        for argument, param in zip(value.args, callee.params, strict=True):
            if relax.analysis.type_base_check(param.ty, argument.ty) == _EXCLUDED:
                return (
                    "a call of a group has an argument of a type that its parameter excludes\n"
                    f"gives {value.op.name_hint} {argument.ty} for {param.ty}"
                )
    return ""


_EXCLUDED = relax.analysis.BaseCheckResult.FAIL_L0


@claimed(
    "only bindings of dataflow blocks are grouped",
    "documentation of FuseOps and FuseOpsByPattern: only within dataflow blocks",
)
def groups_outside_dataflow(ran: Any) -> str:
    """Find a call of a new group outside of dataflow blocks."""
    fresh = dict(made_groups(ran))
    for name, place in placed(ran.after):
        value = place.value
        callee = value.op if isinstance(value, relax.Call) else None
        if isinstance(callee, relax.GlobalVar) and str(callee.name_hint) in fresh and not place.dataflow:
            return (
                f"a group is called outside of dataflow blocks\ncalls {callee.name_hint} outside of dataflow in {name}"
            )
    return ""


@nothing_left("groups are private", "tests/python/relax/test_transform_fuse_ops.py")
def groups_public(ran: Any) -> str:
    """Find a new group with ``global_symbol``."""
    found = (name for name, function in new_groups(ran) if is_public(function))
    return next((f"a group is public\nmakes {name}, a group, public" for name in found), "")
