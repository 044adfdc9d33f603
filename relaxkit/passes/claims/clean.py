"""Postconditions on bindings, of the passes that clean up (``relaxkit.passes.contracts.clean``)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.types import parts_of_type
from relaxkit.ir.walk import inner_sequences, name_of, operator_of, places, sequences
from relaxkit.passes.claims.common import (
    argument,
    has_local_functions,
    normal_pairs,
    outline,
    placed,
    read_inside,
    relax_pairs,
    used_variables,
    variables_read,
)
from relaxkit.passes.contract import EvidenceClass, Harm, claimed, nothing_left


@nothing_left("no alias is left", "src/relax/transform/canonicalize_bindings.cc: cases 1 to 4 of CanonicalizePlanner")
def alias_left(ran: Any) -> str:
    """Find an alias of a variable that could have been replaced: all but an output of a dataflow block that must stay.

    Bindings of constants are left out: one behind aliases takes three runs, says the contract.
    """
    for name, place in placed(ran.after):
        binding = place.binding
        if not isinstance(binding, relax.VarBinding) or not isinstance(binding.value, relax.Var):
            continue
        if isinstance(binding.value, relax.DataflowVar) and not isinstance(binding.var, relax.DataflowVar):
            continue  # an output, whose variable carries the value out of the block
        return f"a variable is bound to another variable\nleaves {binding.var} = {binding.value} in {name}"
    return ""


@nothing_left(
    "no projection of a tuple built here is left", "src/relax/transform/canonicalize_bindings.cc: UnwrapKnownValue"
)
def projection_left(ran: Any) -> str:
    """Find a projection of a tuple that is built in the same sequence before it.

    Not where nobody reads the projection: what read it reads the field now, a constant for instance, and outside of
    dataflow blocks dead bindings may stay.  Nor of a constant field: an output that is one behind an alias takes three
    runs, as in :func:`alias_left`.
    """
    for name, function in relax_functions(ran.after):
        tuples: dict[Any, Any] = {}
        read = used_variables(function)
        for place in places(function):
            value = place.value
            projected = tuples.get(value.tuple_value) if isinstance(value, relax.TupleGetItem) else None
            known = projected is not None and not isinstance(projected.fields[value.index], tvm.ir.GenericConst)
            if known and place.var in read:
                return f"a field of a tuple built here is projected\nleaves a projection of a tuple that {name} builds"
            if isinstance(value, relax.Tuple) and isinstance(place.binding, relax.VarBinding):
                tuples[place.var] = value
    return ""


@nothing_left(
    "no visible variable of a dataflow block that only it reads is left",
    "src/relax/transform/canonicalize_bindings.cc: such a variable becomes a dataflow variable",
)
def escaped_name_left(ran: Any) -> str:
    """Find a variable of a dataflow block that nothing outside of the block reads and that is no dataflow variable.

    Unless something outside did before: this run may have taken that away, and only the next one sees it.
    """
    for name, old, function in normal_pairs(ran):
        homes, outside = _read_outside(function)
        before = {name_of(var) for var in _read_outside(old)[1]}
        for var in homes:
            if isinstance(var, relax.DataflowVar) or var in outside or name_of(var) in before:
                continue
            if any(var in set(_dims(other)) for other in homes):
                continue  # a type may depend on a variable, and not on a dataflow variable
            return f"a variable that only its block reads is visible outside\nleaves {var} of {name} no DataflowVar"
    return ""


def _read_outside(function: Any) -> tuple[dict[Any, Any], set[Any]]:
    """Return the variables bound in dataflow blocks with their blocks, and those of them that are read outside."""
    homes = {place.var: place.block for place in places(function) if place.dataflow}
    outside = {
        var
        for place in places(function)
        for var in read_inside(place.value)
        if var in homes and not homes[var].same_as(place.block)
    }
    for sequence in sequences(function):
        outside.update(var for var in variables_read(sequence.body) if var in homes)
    return homes, outside


def _dims(var: Any) -> Iterator[Any]:
    for part in parts_of_type(var.ty):
        yield from relax.analysis.tir_vars_in_type(part)


@nothing_left(
    "no run of min_size pure bindings is left outside",
    "documentation of min_size: the minimum number of consecutive dataflow bindings to be extracted",
)
def pure_run_left(ran: Any) -> str:
    """Find a run of ``min_size`` or more pure bindings outside of dataflow blocks.

    Bindings that were not there before are left out: CanonicalizeBindings, which runs last, puts casts where the dims
    of branches differ.
    """
    least = argument(ran, 0, "min_size", 2)
    for name, old, function in relax_pairs(ran):
        known = {name_of(place.var) for place in places(old)}
        for sequence in sequences(function):
            run = 0
            for block in sequence.blocks:
                if isinstance(block, relax.DataflowBlock):
                    run = 0
                    continue
                for binding in block.bindings:
                    run = run + 1 if _fits_dataflow(binding.value) and name_of(binding.var) in known else 0
                    if run >= least:
                        return (
                            f"so many pure bindings are outside of dataflow blocks\nleaves {least} in a row in {name}"
                        )
    return ""


def _fits_dataflow(value: Any) -> bool:
    return not isinstance(value, relax.If) and not (
        isinstance(value, relax.Call) and relax.analysis.contains_impure_call(value)
    )


@nothing_left(
    "no dead binding is left", "its documentation: unused local VarBindings, where no impure operation is used"
)
def dead_binding_left(ran: Any) -> str:
    """Find a pure binding that nothing reads.

    Functions that had local functions are left out: what only a dead one captured is dead for the next run, says the
    contract. So are ``match_cast``, which may define dims or check them, and numbers, which a dim may read.
    """
    for name, old, function in relax_pairs(ran):
        if has_local_functions(old):
            continue
        used = used_variables(function)
        for place in places(function):
            binding = place.binding
            if (
                not isinstance(binding, relax.VarBinding)
                or used[binding.var]
                or isinstance(binding.var.ty, tvm.ir.PrimType)
            ):
                continue
            if place.dataflow or not relax.analysis.contains_impure_call(binding.value):
                where = "in a dataflow block" if place.dataflow else "outside of dataflow blocks"
                return f"a binding {where} that nothing reads is left\nleaves a dead {binding.var} in {name} {where}"
    return ""


@claimed("no effect is lost", "its documentation: bindings of impure operations stay", Harm.WRONG)
def effect_lost(ran: Any) -> str:
    """Find a function that calls an impure operator less often than before, outside of its local functions."""
    for name, old, function in relax_pairs(ran):
        was, now = _effects_of(old), _effects_of(function)
        for operator in sorted(was):
            if now[operator] < was[operator]:
                return f"a call of an impure operator is gone\ndrops a call to {operator} of {name}, which is impure"
    return ""


def _effects_of(function: Any) -> Counter[str]:
    return Counter(
        name
        for place in places(function)
        if (name := operator_of(place.value))
        and not (place.local or place.dataflow)
        and relax.analysis.contains_impure_call(place.value)
    )


@nothing_left(
    "no two equal calls are left",
    "its documentation: replaces repeated expressions; tests/python/relax/test_transform_cse.py",
)
def equal_calls_left(ran: Any) -> str:
    """Find two equal pure calls of which the first is visible where the second stands."""
    for name, _, function in normal_pairs(ran):
        seen: dict[int, list[Any]] = {}
        for place in places(function):
            value = place.value
            if not operator_of(value) or isinstance(place.binding, relax.MatchCast):
                continue
            if relax.analysis.contains_impure_call(value) or _allocates(value):
                continue
            same = seen.setdefault(int(tvm_ffi.structural_hash(value)), [])
            for other in same:
                if _visible(other, place) and tvm_ffi.structural_equal(other.binding.value, value):
                    return (
                        "an operator is called twice with the same operands\n"
                        f"leaves {other.binding.var} and {place.var} of {name}, both {operator_of(value)}"
                    )
            same.append(place)
    return ""


def _allocates(call: Any) -> bool:
    return operator_of(call).startswith(("relax.builtin.alloc", "relax.memory.alloc", "relax.vm.alloc"))


def _visible(first: Any, second: Any) -> bool:
    """Say whether what ``first`` binds may be read at ``second``, later in the same or an inner sequence."""
    if first.local != second.local or len(first.scope) > len(second.scope):
        return False
    if not all(outer.same_as(inner) for outer, inner in zip(first.scope, second.scope)):  # noqa: B905  # or longer
        return False
    return not isinstance(first.binding.var, relax.DataflowVar) or first.block.same_as(second.block)


@nothing_left(
    "what is in normal form stays",
    "measured on generated modules; src/relax/ir/block_builder.cc keeps what is a leaf or bound",
    evidence=EvidenceClass.OURS,
)
def normal_form_changed(ran: Any) -> str:
    """Say whether a function that is in normal form already has other bindings than before.

    A well-formed function is in normal form but for blocks that can be joined, or that are empty. Types may be others:
    those of branches are inferred anew.
    """
    for name, old, new in normal_pairs(ran):
        before, after = [[outline(place.binding) for place in places(function)] for function in (old, new)]
        if before != after:
            return f"a function in normal form has other bindings\nreplaces {before} with {after} in {name}"
    return ""


@claimed("all types are set", "its documentation: the ty of every expression is available")
def untyped_left(ran: Any) -> str:
    """Find a variable or a bound value without a type."""
    for name, place in placed(ran.after):
        for what, expr in (("variable", place.var), ("value", place.value)):
            if expr.ty is None or "Missing" in type(expr.ty).__name__:
                return f"a {what} has no type\nleaves {place.var} of {name} without a type"
    return ""


@nothing_left(
    "no reshape to the same shape is left",
    "its documentation; relax/transform/remove_redundant_reshape.py",
    shown='assert "R.reshape(" not in After.script()',
)
def redundant_reshape_left(ran: Any) -> str:
    """Find a reshape to the shape that its operand has, in a dataflow block."""
    for name, function in relax_functions(ran.after):
        if int((function.attrs or {}).get("Primitive", 0)):
            continue  # the pass says that it skips them
        for place in places(function):
            value = place.value
            if operator_of(value) != "relax.reshape" or not place.dataflow or place.local or place.branches:
                continue
            shape = getattr(value.args[0].ty, "shape", None)
            if isinstance(shape, relax.ShapeExpr) and tvm_ffi.structural_equal(shape, value.args[1]):
                return f"a reshape to the shape of its operand is left\nleaves a needless relax.reshape in {name}"
    return ""


@claimed(
    "the modules are attached",
    "relax/transform/attach_external_modules.py: the attribute is set, by an empty list as well",
)
def external_modules_missing(ran: Any) -> str:
    """Say whether the attribute with external modules is missing, or has fewer than were there and were given."""
    given = argument(ran, 0, "extern_modules", ())
    before = (ran.before.attrs or {}).get("external_mods", ())
    if ran.after.attrs is None or "external_mods" not in ran.after.attrs:
        return "the attribute external_mods is missing\nleaves the module without external_mods"
    now = ran.after.attrs["external_mods"]
    if len(now) == len(before) + len(given):
        return ""
    return f"another number of external modules\nmakes {len(now)} external modules of {len(before)} and {len(given)}"


# Postconditions of TopologicalSort: the same bindings in each block, in an order of the kind that was asked for.
#
# That the order is a topological one is what the checker of well-formedness says: nothing is read before it is bound.


@claimed("blocks keep their bindings", "its documentation: sort bindings in each dataflow block")
def bindings_changed(ran: Any) -> str:
    """Say whether a block has other bindings than before, or an ordinary block has them in another order."""
    for name, old, new in normal_pairs(ran):
        before, after = _contents(old.body), _contents(new.body)
        if [len(bindings) for _, bindings in before] != [len(bindings) for _, bindings in after]:
            return f"blocks have other numbers of bindings\nchanges the number of bindings in a block of {name}"
        for was, now in zip(before, after, strict=True):
            if was != now:
                return f"{was[0]} has other bindings\nchanges the bindings of {name}\nbefore: {was[1]}\nafter: {now[1]}"
    return ""


def _contents(sequence: Any) -> list[tuple[str, list[str]]]:
    """Return the kind and bindings of each block, with what the branches and functions hold that are bound there.

    Those of a dataflow block are sorted: local functions come in another order, too.
    """
    found = []
    for block in sequence.blocks:
        bindings = [_content(binding) for binding in block.bindings]
        if isinstance(block, relax.DataflowBlock):
            found.append(("a dataflow block", sorted(bindings)))
        else:
            found.append(("an ordinary block", bindings))
    return found


def _content(binding: Any) -> str:
    inner = [_contents(sequence) for sequence in inner_sequences(binding.value)]
    return f"{outline(binding)} of {inner}" if inner else outline(binding)


@nothing_left(
    "the order is of the kind asked for",
    "its documentation of order and direction; src/relax/transform/topological_sort.cc",
)
def order_of_another_kind(ran: Any) -> str:
    """Say whether a function of one dataflow block is ordered otherwise than asked for.

    Breadth first: bindings come in the order in which they became ready, which is when the last of what they read was
    bound. Depth first: behind a binding that makes others ready comes one of these, where those that read parameters as
    well may wait for one. "From outputs" is the same with the order, and reading and being read, turned round. This
    holds of any search of the kind, however it breaks ties.
    """
    first = str(argument(ran, 0, "order", "depth-first"))
    backward = str(argument(ran, 1, "direction", "from-inputs")) == "from-outputs"
    for name, _, function in normal_pairs(ran):
        bindings = _one_block(function)
        if bindings is None or len(bindings) < 3:
            continue
        position = {binding.var: index for index, binding in enumerate(bindings)}
        # What has to be visited before a binding: by position, parameters in front.
        needs: dict[int, set[int]] = {index: set() for index in range(len(bindings))}
        params = {param: index - len(function.params) for index, param in enumerate(function.params)}
        for index, binding in enumerate(bindings):
            for var in variables_read(binding.value):
                if backward and var in position:
                    needs[position[var]].add(index)
                elif not backward:
                    needs[index].add(position[var] if var in position else params[var])
        if backward:
            last = len(bindings) - 1
            needs = {last - index: {last - user for user in users} for index, users in needs.items()}
        ready = [max(needs[index], default=-len(function.params) - 1) for index in range(len(bindings))]
        if first == "breadth-first":
            fits = all(left <= right for left, right in itertools.pairwise(ready))
        else:
            sure = {ready[index] for index, before in needs.items() if min(before, default=-1) >= 0}
            fits = all(index not in sure or ready[index + 1] == index for index in range(len(bindings) - 1))
        if not fits:
            return (
                f"the order is not {first}\norders {name} otherwise than {first}\nbackward: {backward}\nready: {ready}"
            )
    return ""


def _one_block(function: Any) -> list[Any] | None:
    """Return the bindings of a function of one dataflow block without local functions or numbers, else ``None``."""
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        return None
    known = [*function.params, *(place.var for place in places(function))]
    if any(isinstance(var.ty, tvm.ir.PrimType | relax.FuncType | relax.ShapeType) for var in known):
        return None  # a dim may read it
    if any(isinstance(place.value, relax.Function | relax.If) for place in places(function)):
        return None
    if any(isinstance(place.binding, relax.MatchCast) for place in places(function)):
        return None
    read = [var for place in places(function) for var in read_inside(place.value)]
    return list(blocks[0].bindings) if set(read) <= set(known) else None
