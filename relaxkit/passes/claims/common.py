"""Questions that postconditions ask of modules: bindings with their scope, operators, types, functions reached.

A repro script copies these definitions, so they use nothing but TVM, the standard library and
``relaxkit.passes.preconditions``; and no two files of this package may define one name.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, functions_by_symbol, is_public, relax_functions
from relaxkit.ir.walk import name_of, nodes, operands_of, operator_of, operators_called, places, sequences
from relaxkit.passes.contract import EvidenceClass, claimed


def operators_left_over(ran: Any, names: Collection[str]) -> str:
    """Find which of the operators ``names``, all of which the pass replaces, is still called."""
    left = ((operator_of(place.value), name) for name, place in placed(ran.after))
    return next(
        (f"{operator} is left\nleaves {operator} in {name}" for operator, name in left if operator in names), ""
    )


@claimed("functions stay", "relax/transform/attach_external_modules.py: with_attr only", evidence=EvidenceClass.OURS)
def functions_differ(ran: Any) -> str:
    """Say whether a function of the module, of whatever kind, is another one than before, is gone or is new."""
    if said := functions_changed(ran):
        return said
    for name, old, new in both(ran):
        if not untouched(old, new):
            return f"{_kind_of(old)} is another one\nchanges {name}"
    return ""


def used_variables(function: Any) -> Counter[Any]:
    """Say how often each variable is read in a Relax function: by bound values and by results of sequences."""
    counted: Counter[Any] = Counter()
    for place in places(function):
        counted.update(variables_read(place.value))
    for sequence in sequences(function):
        counted.update(variables_read(sequence.body))
    return counted


def variables_read(value: Any) -> Iterator[Any]:
    """Yield the variables that a bound value reads itself, not inside its branches or its local function."""
    if isinstance(value, relax.Var):
        yield value
    called = [value.op] if isinstance(value, relax.Call) else []
    for part in (*called, *operands_of(value)):
        yield from variables_read(part)


def argument(ran: Any, position: int, name: str, default: Any = None) -> Any:
    """Say what the pass was built with, given by position or by name.

    Raises:
        relaxkit.passes.arguments.NotLiteral: The text of the pass does not tell what it was built with.
    """
    arguments = ran.arguments
    return arguments[str(position)] if str(position) in arguments else arguments.get(name, default)


def operators_changed(ran: Any, fewer: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Find which operator is called more or less often than before, though the pass has no reason to.

    Args:
        fewer: Operators that may be called less often; ``"*"`` stands for all.
        more: Operators that may be called more often; ``"*"`` stands for all that were called before.
    """
    same = {name for name, old, new in both(ran) if new.same_as(old)}
    before, after = operators_called(ran.before, same), operators_called(ran.after, same)
    for name in sorted(before | after):
        if after[name] > before[name] and name not in more and not (before[name] and "*" in more):
            return f"an operator is called more often\ncalls {name} {after[name]} instead of {before[name]} times"
        if after[name] < before[name] and name not in fewer and "*" not in fewer:
            return f"an operator is called less often\ncalls {name} {after[name]} instead of {before[name]} times"
    return ""


def functions_changed(ran: Any, may_go: bool = False, may_come: bool = False) -> str:
    """Say whether a function of the module is gone, or a new one is there, though the pass neither drops nor makes any.

    Public functions are told apart by symbol, since whatever finishes a module puts them under it; private ones by
    name. ``may_go`` and ``may_come`` allow the one or the other.
    """
    before, after = functions_by_symbol(ran.before), functions_by_symbol(ran.after)
    gone, new = sorted(set(before) - set(after)), sorted(set(after) - set(before))
    if gone and not may_go:
        return f"{_kind_of(before[gone[0]])} is gone\ndrops {', '.join(gone)}"
    if new and not may_come:
        return f"{_kind_of(after[new[0]])} is new\nadds {', '.join(new)}"
    return ""


def _kind_of(function: Any) -> str:
    visible = "a public" if is_public(function) else "a private"
    return f"{visible} {'Relax function' if isinstance(function, relax.Function) else type(function).__name__}"


def both(ran: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the functions of one name before and after, of whatever kind, with the name."""
    after = functions_by_name(ran.after)
    for name, old in functions_by_name(ran.before).items():
        if name in after:
            yield name, old, after[name]


def relax_pairs(ran: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the Relax functions of one name before and after, with the name."""
    for name, old, new in both(ran):
        if isinstance(old, relax.Function) and isinstance(new, relax.Function):
            yield name, old, new


def normal_pairs(ran: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield those of :func:`relax_pairs` that were in normal form before."""
    return (pair for pair in relax_pairs(ran) if not joinable(pair[1]))


def measured_otherwise(ran: Any, measure: Callable[[Any], Any], said: str) -> str:
    """Find a Relax function of which something that is measured differs before and after."""
    for name, old, new in relax_pairs(ran):
        before, after = measure(old), measure(new)
        if before != after:
            return f"{said}\nfunction: {name}\nbefore: {before}\nafter: {after}"
    return ""


def placed(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the bindings of a module's Relax functions, each with the name of its function."""
    for name, function in relax_functions(module):
        yield from ((name, place) for place in places(function))


@claimed("other functions stay", "its documentation of func_name")
def unnamed_function_changed(ran: Any, at: int = 0) -> str:
    """Say whether a pass that was given a function's name changes another one; ``at`` is the place of that argument."""
    named = argument(ran, at, "func_name")
    for name, old, new in both(ran) if named is not None else ():
        if name != str(named) and not untouched(old, new):
            return f"a function that was not named is another one\nchanges {name}, which was not named"
    return ""


def has_local_functions(function: Any) -> bool:
    """Say whether a Relax function binds a function inside."""
    return any(isinstance(place.value, relax.Function) for place in places(function))


def read_inside(value: Any) -> Iterator[Any]:
    """Yield the variables that a bound value reads, a local function's captured ones included."""
    yield from variables_read(value)
    if isinstance(value, relax.Function):
        yield from relax.analysis.free_vars(value)


def joinable(function: Any) -> bool:
    """Say whether some sequence of a Relax function has blocks that can be joined, or that are empty.

    Such a function is well formed and not in normal form: whatever visits it joins the blocks.
    """
    for sequence in sequences(function):
        kinds = [isinstance(block, relax.DataflowBlock) for block in sequence.blocks]
        if any(left == right for left, right in itertools.pairwise(kinds)):
            return True
        if any(not block.bindings for block in sequence.blocks):
            return True
    return False


def outline(binding: Any) -> str:
    """Return the name of a binding's variable, its value's kind and callee: the same for a copy of the binding."""
    value = binding.value
    called = getattr(value, "op", None)
    return (
        f"{name_of(binding.var)} = {type(value).__name__} {getattr(called, 'name', getattr(called, 'name_hint', ''))}"
    )


def untouched(old: Any, new: Any) -> bool:
    """Say whether a function is what it was; one that was not in normal form may have been brought into it."""
    if new.same_as(old) or tvm_ffi.structural_equal(old, new):
        return True
    return (isinstance(old, relax.Function) and joinable(old)) or _equal_but_for_copies(old, new)


def _equal_but_for_copies(old: Any, new: Any) -> bool:
    """Say whether functions of two copies of a module are equal, whose GlobalVars are different objects."""
    if not tvm_ffi.structural_equal(old, new, map_free_vars=True):
        return False
    names = [[str(var.name_hint) for var in nodes(each, tvm.ir.GlobalVar)[0]] for each in (old, new)]
    return names[0] == names[1]
