"""Claims of all passes that put bindings into functions of their own, and hand these to external code generators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tvm import relax

from relaxkit.ir.functions import functions_by_name, has_attribute, is_public, relax_functions, symbol_of
from relaxkit.ir.walk import operator_of, places
from relaxkit.passes.claims.common import argument, placed, variables_read
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
        for given, param in zip(value.args, callee.params, strict=True):
            if relax.analysis.type_base_check(param.ty, given.ty) == _EXCLUDED:
                return (
                    "a call of a group has an argument of a type that its parameter excludes\n"
                    f"gives {value.op.name_hint} {given.ty} for {param.ty}"
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


def _patterns_asked(ran: Any) -> list[tuple[str, Any, bool]]:
    """Return the names and patterns that ``FuseOpsByPattern`` was given, and whether a match may be turned down."""
    found = []
    for item in argument(ran, 0, "patterns", ()):
        if isinstance(item, tuple):
            found.append((str(item[0]), item[1], len(item) > 3 and item[3] is not None))
        else:
            found.append((str(item.name), item.pattern, item.check is not None))
    return found


@claimed("groups match a pattern", "fuse_ops.cc: kComposite is the pattern's name")
def groups_of_no_pattern(ran: Any) -> str:
    """Find a new group that is not named after a pattern that was asked for."""
    names = {name for name, _, _ in _patterns_asked(ran)}
    for name, function in made_groups(ran):
        found = composites_in(function)
        if not found:
            return f"a group has no Composite\nmakes {name}, a group without Composite"
        if strange := [each for each in found if each not in names]:
            return f"a group is named after no pattern\nnames {name} after no pattern: {strange}"
    return ""


@claimed("groups are annotated as asked", "its documentation of annotate_codegen")
def groups_not_annotated(ran: Any) -> str:
    """Find a new group without ``Codegen`` and ``global_symbol`` where they were asked for, or the other way round."""
    wanted = bool(argument(ran, 2, "annotate_codegen", False))
    for name, function in new_groups(ran):
        if has_attribute(function, "Codegen") != wanted:
            return f"a group is {'not ' if wanted else ''}annotated with Codegen\nmakes {name} with{'out' * wanted} it"
        if wanted:
            if said := _annotation_fault(function):
                return f"{said}\nmakes {name} such a function"
        elif is_public(function) or not has_attribute(function, "Primitive"):
            return f"a group that is not annotated is public, or not Primitive\nmakes {name} public, or not Primitive"
    return ""


def _annotation_fault(function: Any) -> str:
    generator = str(function.attrs["Codegen"])
    if not is_public(function):
        return "a function with Codegen has no global_symbol"
    found = composites_in(function)
    if not found:
        return "a function with Codegen holds no composite function"
    if any(composite.partition(".")[0] != generator for composite in found):
        return "Codegen is not the prefix of the Composite inside"
    return ""


@nothing_left(
    "certain matches are grouped", "its documentation: 'Apply pattern matching to each function in the given module'"
)
def certain_matches_left(ran: Any) -> str:
    """Find a call in a dataflow block that a pattern of one operator on anything matches, and that is in no group."""
    asked = [
        single
        for _, pattern, checked in _patterns_asked(ran)
        if not checked and (single := _single_operator(pattern)) is not None
    ]
    only = argument(ran, 3, "entry_functions", None)
    for name, function in relax_functions(ran.after):
        if is_group(function) or (only and name not in only):
            continue
        for place in places(function):
            value = place.value
            if not place.dataflow or place.local or place.branches or not isinstance(place.binding, relax.VarBinding):
                continue
            if (operator_of(value), len(getattr(value, "args", ()))) in asked:
                return f"a call that matches is in no group\nleaves a matching {operator_of(value)} in {name}"
    return ""


def _single_operator(pattern: Any) -> tuple[str, int] | None:
    """Return the operator and number of operands of a pattern that is one call on wildcards."""
    operands = getattr(pattern, "args", None)
    if operands is None or any(type(each).__name__ != "WildcardPattern" for each in operands):
        return None
    name = getattr(getattr(getattr(pattern, "op", None), "expr", None), "name", None)
    return None if name is None else (str(name), len(operands))


@claimed(
    "composite functions are merged into external ones", "its documentation: 'annotated with Codegen and global_symbol'"
)
def composites_not_merged(ran: Any) -> str:
    """Find a composite function that a dataflow block of ``main`` calls, or a merged one without a generator."""
    functions = functions_by_name(ran.after)
    for callee in _callees(functions.get("main"), dataflow=True):
        function = functions.get(callee)
        if is_group(function) and has_attribute(function, "Composite") and not has_attribute(function, "Codegen"):
            return f"a composite function is called by main\nleaves main with a call to {callee}"
    for name, function in new_groups(ran):
        if not has_attribute(function, "Codegen"):
            return f"a merged function has no Codegen\nmerges into {name} without Codegen"
        if said := _annotation_fault(function):
            return f"{said}\nmakes {name} such a function"
    return ""


def _callees(function: Any, dataflow: bool = False) -> Iterator[str]:
    for place in places(function) if isinstance(function, relax.Function) else ():
        value = place.value
        if dataflow and (not place.dataflow or place.local or place.branches):
            continue
        if isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar):
            yield str(value.op.name_hint)


@claimed(
    "public functions call external code by its symbol",
    "run_codegen.cc: create_call_dps_packed; tests/python/relax/test_transform_codegen_pass.py",
)
def external_calls_left(ran: Any) -> str:
    """Find a public function that calls a function with ``Codegen`` as a Relax function, or has lost such a call."""
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    external = {
        name: symbol_of(function)
        for name, function in relax_functions(ran.before)
        if has_attribute(function, "Codegen") and is_public(function)
    }
    for name, function in before.items():
        now = after.get(name)
        if not isinstance(function, relax.Function) or not isinstance(now, relax.Function):
            continue
        if not is_public(function) or name in external:
            continue
        if left := [callee for callee in _callees(now) if callee in external]:
            return f"an external function is called as a Relax function\nleaves a call to {left[0]} in {name}"
        symbols = {external[callee] for callee in _callees(function) if callee in external}
        if strange := [symbol for symbol in _packed_symbols(now) - _packed_symbols(function) if symbol not in symbols]:
            return f"a symbol is called that no external function has\nhas {name} call the unknown symbol {strange[0]}"
    return ""


def _packed_symbols(function: Any) -> set[str]:
    """Return the symbols that a function calls in destination-passing style."""
    return {
        str(place.value.args[0].global_symbol)
        for place in places(function)
        if operator_of(place.value) == "relax.call_dps_packed" and isinstance(place.value.args[0], relax.ExternFunc)
    }


@claimed(
    "what was generated is no Relax function any more",
    "run_codegen.cc: 'Remove the global symbol and codegen attributes from the function'",
)
def external_functions_left(ran: Any) -> str:
    """Find a function that public ones called, still marked for a code generator though its code was generated."""
    before = functions_by_name(ran.before)
    called = {
        callee
        for name, function in relax_functions(ran.before)
        if is_public(function) and not has_attribute(function, "Codegen")
        for callee in _callees(function)
    }
    for name, function in relax_functions(ran.after):
        if name in called and name in before and has_attribute(function, "Codegen"):
            return f"a function is still marked with Codegen\nleaves {name} marked with Codegen"
    return ""


@claimed("external functions get the workspace they ask for", "its documentation")
def workspace_missing(ran: Any) -> str:
    """Find an external function that asks for a workspace and gets none, or one that is too small."""
    sizes = [
        int(function.attrs["WorkspaceSize"])
        for _, function in relax_functions(ran.before)
        if has_attribute(function, "WorkspaceSize")
    ]
    if not sizes or max(sizes) == 0:
        return ""
    for name, function in relax_functions(ran.after):
        if has_attribute(function, "WorkspaceSize"):
            return f"a function still asks for a workspace\nleaves WorkspaceSize of {name}"
    functions = functions_by_name(ran.after)
    given = [name for name, function in relax_functions(ran.after) if _takes_workspace(function, max(sizes))]
    if len(given) < len(sizes):
        return f"an external function takes no workspace\ngives {len(given)} of {len(sizes)} functions a workspace"
    for name, place in placed(ran.after):
        value = place.value
        if isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar):
            callee = functions.get(str(value.op.name_hint))
            if isinstance(callee, relax.Function) and len(value.args) != len(callee.params):
                return f"a caller gives no workspace\nleaves a call to {value.op.name_hint} in {name} without it"
    return ""


def _takes_workspace(function: Any, size: int) -> bool:
    if not has_attribute(function, "Codegen") or not len(function.params):
        return False
    ty = function.params[-1].ty
    shape = getattr(getattr(ty, "shape", None), "values", None)
    return shape is not None and [getattr(dim, "value", None) for dim in shape] == [size] and str(ty.dtype) == "uint8"
