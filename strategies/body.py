"""Bodies: the sequence of dataflow and ordinary blocks of a function or branch."""

from __future__ import annotations

from typing import Any

from tvm import relax

from strategies.dead_code import without_dead
from strategies.features import Feature
from strategies.scope import Scope
from strategies.values import Value


class Body:
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
        if dataflow:
            self.scope.builder._begin_dataflow_block()
        else:
            self.scope.builder._begin_binding_block()
        self._outputs, self.scope.outputs = self.scope.outputs, 0
        self.scope.in_dataflow = dataflow

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
        """The ``SeqExpr`` of the closed blocks with a result; without DEAD_CODE, without what nothing uses."""
        alive = self.scope.has(Feature.DEAD_CODE)
        return relax.SeqExpr(self.blocks if alive else without_dead(self.blocks, result), result)


def _output(scope: Scope, value: Value) -> None:
    """Make the value of a dataflow variable seen behind its block: by an alias, or by a no-op where none may be."""
    expr = value.expr
    part_of = None
    if scope.forbids(Feature.ALIASES):
        if value.is_tuple:
            expr, part_of = relax.TupleGetItem(value.expr, 0), value
        elif value.rank >= 0:
            expr = relax.op.permute_dims(value.expr, list(range(value.rank)))
    scope.keep_outputs = True
    scope.emit(expr, value.bounds, parts=value.parts, part_of=part_of, device=value.device)
    scope.keep_outputs = False
