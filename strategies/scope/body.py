"""Bodies: the sequence of dataflow and ordinary blocks of a function or branch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tvm import relax
from tvm.relax.expr import _update_type

from relaxkit.ir.edits import without_dead
from relaxkit.ir.walk import operator_of
from strategies.scope.features import Feature
from strategies.scope.filler import filled_with
from strategies.scope.frame import setting
from strategies.scope.scope import Scope
from strategies.scope.values import Value


def _blocks_with_unused(blocks: Sequence[Any], result: Any) -> list[tuple[Any, set[Any]]]:
    """Return each block with those of its outputs that nothing behind it uses."""
    needed = set(relax.analysis.free_vars(result))
    found = []
    for block in reversed(list(blocks)):
        outputs: set[Any] = set()
        if isinstance(block, relax.DataflowBlock):
            outputs = {b.var for b in block.bindings if not isinstance(b.var, relax.DataflowVar)} - needed
        for binding in block.bindings:
            needed.update(relax.analysis.free_vars(binding.value))
        found.append((block, outputs))
    return found[::-1]


def _local(block: Any, outputs: set[Any]) -> Any:
    return relax.DataflowBlock(_bound(block.bindings, outputs, relax.DataflowVar, _Renaming()))


def _bound(bindings: Sequence[Any], chosen: set[Any], kind: type, renaming: _Renaming) -> list[Any]:
    """Return bindings of which the chosen variables are of another kind."""
    made = []
    for binding in bindings:
        value = renaming.visit_expr(binding.value)
        var = binding.var
        if var in chosen:
            var = renaming.known[binding.var] = kind(var.name, var.ty)
        cast = isinstance(binding, relax.MatchCast)
        made.append(relax.MatchCast(var, value, binding.ty) if cast else relax.VarBinding(var, value))
    return made


@relax.expr_functor.mutator
class _Renaming(relax.PyExprMutator):
    """Puts other variables in the place of some."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[Any, Any] = {}

    def visit_var_(self, op: Any) -> Any:
        return self.known.get(op, op)

    def visit_dataflow_var_(self, op: Any) -> Any:
        return self.known.get(op, op)


class FunctionBody:
    """The blocks of one function, local function or branch under construction.

    Between :meth:`open` and :meth:`close` the builder has a block to emit into; values of a closed dataflow block that
    are not its outputs leave the scope.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.blocks: list[Any] = []
        self._outer = scope.in_dataflow
        self._outputs = 0

    def open(self, dataflow: bool) -> None:
        """Begin a block."""
        if dataflow and self.scope.forbids(Feature.SEVERAL_BLOCKS) and self._dataflow_blocks():
            dataflow = isinstance(self.blocks[-1], relax.DataflowBlock)  # the two become one
        if dataflow:
            self.scope.builder._begin_dataflow_block()
        else:
            self.scope.builder._begin_binding_block()
        self._outputs, self.scope.outputs = self.scope.outputs, 0
        self.scope.in_dataflow = dataflow

    def turn(self) -> None:
        """End the open block and begin another one of a drawn kind; one more dataflow block needs SEVERAL_BLOCKS."""
        scope = self.scope
        ordinary, several = scope.has(Feature.ORDINARY_BLOCKS), scope.has(Feature.SEVERAL_BLOCKS)
        if scope.in_dataflow and not ordinary and not several:
            return
        self.close()
        dataflow = (several or not self._dataflow_blocks()) and not (ordinary and scope.index(2))
        self.open(dataflow or not ordinary)

    def may_enter_dataflow(self) -> bool:
        """Say whether a dataflow block is open, or may be: one more needs SEVERAL_BLOCKS."""
        return self.scope.in_dataflow or self.scope.has(Feature.SEVERAL_BLOCKS) or not self._dataflow_blocks()

    def enter_dataflow(self) -> None:
        """End an ordinary block, and begin a dataflow block where one may be."""
        if not self.scope.in_dataflow:
            self.close()
            self.open(True)

    def leave_dataflow(self) -> None:
        """End a dataflow block, and begin an ordinary one."""
        if self.scope.in_dataflow:
            self.close()
            self.open(False)

    def twice(self) -> Value:
        """Add two dataflow blocks of which the second takes what the first gives."""
        scope = self.scope
        value = None
        between = scope.has(Feature.ORDINARY_BLOCKS) and scope.index(2)
        with setting(scope, keep_outputs=True):
            for dataflow in (True, False, True) if between else (True, True):
                self.close()
                self.open(dataflow)
                value = value or scope.tensor()  # not before: what the open block keeps to itself is gone now
                value = filled_with(scope, value)
        assert value is not None
        return value

    def _dataflow_blocks(self) -> int:
        return sum(isinstance(block, relax.DataflowBlock) for block in self.blocks)

    def close(self) -> None:
        """End the block; an empty one vanishes, and a dataflow block gets an output when it has none."""
        scope = self.scope
        if scope.in_dataflow:
            local = [value for value in scope.values if value.is_local]
            if local and scope.outputs == 0:
                _output(scope, local[-1])
            if local:
                scope.values = [value for value in scope.values if not value.is_local]
        block = scope.builder._end_block()
        if len(block.bindings):
            self.blocks.append(block)
        scope.in_dataflow = self._outer
        scope.outputs = self._outputs

    def abandon(self) -> None:
        """Throw away the open block: what was to be built has no room under the features of this case."""
        self.scope.builder._end_block()
        self.scope.in_dataflow = self._outer
        self.scope.outputs = self._outputs

    def sequence(self, result: Any) -> Any:
        """Return the ``SeqExpr`` of the closed blocks with a result; without DEAD_CODE, without what nothing uses."""
        scope = self.scope
        blocks = self.blocks if scope.has(Feature.DEAD_CODE) else without_dead(self.blocks, result)
        if scope.forbids(Feature.SEVERAL_BLOCKS):
            blocks = _merged(blocks)
        if scope.forbids(Feature.UNUSED_OUTPUTS):
            seen = _blocks_with_unused(_merged(blocks), result)  # what normalising makes one has fewer uses outside
            blocks = [_local(block, outputs) if outputs else block for block, outputs in seen]
        return relax.SeqExpr(blocks, result)


def apart(sequence: Any, drawn: Any) -> Any:
    """Return a normalised ``SeqExpr`` with the dataflow blocks that were drawn: normalising joins neighbours.

    Args:
        sequence: The normalised form of ``drawn``.
        drawn: What :meth:`FunctionBody.sequence` gave.
    """
    sizes: list[tuple[bool, int]] = []
    for block in drawn.blocks:
        dataflow, size = isinstance(block, relax.DataflowBlock), len(block.bindings)
        if sizes and not dataflow and not sizes[-1][0]:
            size += sizes.pop()[1]
        sizes.append((dataflow, size))
    bindings = [binding for block in sequence.blocks for binding in block.bindings]
    if len(sizes) == len(sequence.blocks) or sum(size for _, size in sizes) != len(bindings):
        return sequence
    made = []
    for dataflow, size in sizes:
        kind = relax.DataflowBlock if dataflow else relax.BindingBlock
        made.append(kind(bindings[:size]))
        del bindings[:size]
    whole = relax.SeqExpr(made, sequence.body)
    _update_type(whole, sequence.ty)  # what normalising would give it; that would also join the blocks again
    return whole


def _merged(blocks: list[Any]) -> list[Any]:
    """Return the blocks with dataflow blocks that stand side by side made one."""
    merged: list[Any] = []
    for block in blocks:
        if merged and isinstance(block, relax.DataflowBlock) and isinstance(merged[-1], relax.DataflowBlock):
            block = relax.DataflowBlock([*merged.pop().bindings, *block.bindings])
        merged.append(block)
    return merged


def _output(scope: Scope, value: Value) -> None:
    """Make the value of a dataflow variable seen behind its block: by an alias, or by a no-op where none may be."""
    expr = value.expr
    part_of = None
    if scope.forbids(Feature.ALIASES):
        if value.is_tuple:
            expr, part_of = relax.TupleGetItem(value.expr, 0), value
        elif value.rank >= 0:
            expr = relax.op.permute_dims(value.expr, list(range(value.rank)))
    with setting(scope, keep_outputs=True):
        scope.emit(expr, value.bounds, parts=value.parts, part_of=part_of, device=value.device)


def cut(sequence: Any, operators: Collection[str], draw: Callable[[int], int]) -> Any:
    """Put a call of one of some operators out of its dataflow block, which keeps an operand of the call before it.

    A pass that looks through the call before finds a variable that it must not use there.

    Args:
        sequence: A normalised ``SeqExpr``; it stays as it is where no such call is.
        operators: The operators of both calls.
        draw: Draws an index below a number: whether it is done where it may be, and what becomes of all that is behind
            the call: it goes with it, or becomes a dataflow block of its own.
    """
    for index, block in enumerate(sequence.blocks):
        place = _chained(block.bindings, operators) if isinstance(block, relax.DataflowBlock) else 0
        if not place:
            continue
        if (way := draw(4)) < 2:
            return sequence
        end = len(block.bindings) if way == 2 else place + 1
        parts = [block.bindings[:place], block.bindings[place:end], block.bindings[end:]]
        seen = [_free(part) for part in (*parts[1:], [])]
        outputs = [{*_variables(parts[0])} & (seen[0] | seen[1]), {*_variables(parts[1])}, set()]
        renaming, made = _Renaming(), []
        for number, (part, chosen) in enumerate(zip(parts, outputs, strict=True)):
            local = {var for var in chosen if isinstance(var, relax.DataflowVar)}
            kind = relax.BindingBlock if number == 1 else relax.DataflowBlock
            made += [kind(_bound(part, local, relax.Var, renaming))] * bool(part)
        cut_up = relax.SeqExpr([*sequence.blocks[:index], *made, *sequence.blocks[index + 1 :]], sequence.body)
        _update_type(cut_up, sequence.ty)
        return cut_up
    return sequence


def _chained(bindings: Sequence[Any], operators: Collection[str]) -> int:
    """Return the place of the first call on the result of another, of which an operand is not used from there on."""
    calls: dict[Any, Any] = {}
    for place, binding in enumerate(bindings):
        if operator_of(binding.value) in operators:
            before = [calls[each] for each in binding.value.args if each in calls]
            kept = {each for call in before for each in call.args if isinstance(each, relax.DataflowVar)}
            if kept - _free(bindings[place:]):
                return place
            calls[binding.var] = binding.value
    return 0


def _variables(bindings: Sequence[Any]) -> list[Any]:
    return [binding.var for binding in bindings]


def _free(bindings: Sequence[Any]) -> set[Any]:
    return {var for binding in bindings for var in relax.analysis.free_vars(binding.value)}


def split(sequence: Any) -> Any:
    """Cut the first ordinary block of two and more bindings of a normalised ``SeqExpr`` in two; as it is without one.

    No builder leaves two blocks of a kind side by side: it would join the halves again, so that what it gives a type
    when it normalises gets it by hand here.
    """
    for index, block in enumerate(sequence.blocks):
        if isinstance(block, relax.DataflowBlock) or len(block.bindings) < 2:
            continue
        middle = len(block.bindings) // 2
        halves = [relax.BindingBlock(block.bindings[:middle]), relax.BindingBlock(block.bindings[middle:])]
        made = relax.SeqExpr([*sequence.blocks[:index], *halves, *sequence.blocks[index + 1 :]], sequence.body)
        _update_type(made, sequence.ty)
        return made
    return sequence
