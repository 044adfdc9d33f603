"""Postconditions of TopologicalSort: the same bindings in each block, in an order of the kind that was asked for.

That the order is a topological one is what the checker of well-formedness says: nothing is read before it is bound.
"""

from __future__ import annotations

import itertools
from typing import Any

import tvm
from tvm import relax

from oracles.postconditions.common import (
    argument,
    both,
    inner_sequences,
    joinable,
    outline,
    places,
    read_inside,
    variables_read,
)


def bindings_changed(ran: Any) -> str:
    """Whether a block has other bindings than before, or an ordinary block has them in another order."""
    for name, old, new in both(ran):
        if not isinstance(old, relax.Function) or joinable(old):
            continue
        before, after = _contents(old.body), _contents(new.body)
        if [len(bindings) for _, bindings in before] != [len(bindings) for _, bindings in after]:
            return f"blocks have other numbers of bindings\nfunction: {name}"
        for was, now in zip(before, after, strict=True):
            if was != now:
                return f"{was[0]} has other bindings\nfunction: {name}\nbefore: {was[1]}\nafter: {now[1]}"
    return ""


def _contents(sequence: Any) -> list[tuple[str, list[str]]]:
    """Kind and bindings of each block, with what the branches and functions hold that are bound there.

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


def order_of_another_kind(ran: Any) -> str:
    """Whether a function of one dataflow block is ordered otherwise than asked for.

    Breadth first: bindings come in the order in which they became ready, which is when the last of what they read was
    bound. Depth first: behind a binding that makes others ready comes one of these, where those that read parameters as
    well may wait for one. "From outputs" is the same with the order, and reading and being read, turned round. This
    holds of any search of the kind, however it breaks ties.
    """
    first = str(argument(ran, 0, "order", "depth-first"))
    backward = str(argument(ran, 1, "direction", "from-inputs")) == "from-outputs"
    for name, old, function in both(ran):
        if not isinstance(function, relax.Function) or joinable(old):
            continue
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
            sure = {at for at, index in zip(ready, needs) if min(needs[index], default=-1) >= 0}  # noqa: B905
            fits = all(index not in sure or ready[index + 1] == index for index in range(len(bindings) - 1))
        if not fits:
            return f"the order is not {first}\nfunction: {name}\nbackward: {backward}\nready: {ready}"
    return ""


def _one_block(function: Any) -> list[Any] | None:
    """Bindings of a function that is one dataflow block without local functions or numbers; else ``None``."""
    blocks = function.body.blocks
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        return None
    known = [*function.params, *(place.binding.var for place in places(function))]
    if any(isinstance(var.ty, tvm.ir.PrimType | relax.FuncType | relax.ShapeType) for var in known):
        return None  # a dim may read it
    if any(isinstance(place.binding.value, relax.Function | relax.If) for place in places(function)):
        return None
    if any(isinstance(place.binding, relax.MatchCast) for place in places(function)):
        return None
    read = [var for place in places(function) for var in read_inside(place.binding.value)]
    return list(blocks[0].bindings) if set(read) <= set(known) else None
