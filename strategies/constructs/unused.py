"""Parts that nothing uses across a boundary: parameters, outputs of dataflow blocks, outputs of private functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, tirx
from tvm.ir import PrimType

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.types import dims_in
from relaxkit.ir.walk import expressions
from strategies.constructs import shapes
from strategies.scope.body import _blocks_with_unused
from strategies.scope.bounds import default_bounds
from strategies.scope.dims import SYMBOL_RANGE
from strategies.scope.features import Feature
from strategies.scope.filler import filled_with
from strategies.scope.frame import FunctionFrame, Infeasible, setting
from strategies.scope.scope import Scope
from strategies.scope.values import Value


def parameter(scope: Scope) -> None:
    """Add a parameter that no step sees: a tensor, a shape, a primitive value or a tuple."""
    frame = scope.frame
    way = scope.index(8)
    if way == 5 and scope.has(Feature.SHAPE_PARAMS):
        frame.add_parameter(relax.ShapeType([1 + scope.index(4), 2]), None)
    elif way == 6 and scope.has(Feature.PRIM_PARAMS):
        made = frame.add_parameter(PrimType("int64"), None)
        frame.symbols[made.expr] = SYMBOL_RANGE
    elif way == 7 and scope.has(Feature.TUPLES):
        shapes.tuple_parameter(scope, 1 + scope.index(2))
    else:
        dtype = scope.pick_dtype(None)
        frame.add_parameter(frame.tensor_type(scope.draw_shape(), dtype), default_bounds(dtype))


def output(scope: Scope) -> Value:
    """Bind an output of the open dataflow block that is used in the block and nowhere else.

    Raises:
        Infeasible: outside of a dataflow block.
    """
    if not scope.in_dataflow:
        raise Infeasible("only a dataflow block has outputs")
    value = scope.tensor()
    with setting(scope, keep_outputs=True):
        inner = filled_with(scope, value)
        outer = scope.emit(relax.op.permute_dims(inner.expr, list(range(value.rank))[::-1]), inner.bounds)
    scope.values.remove(inner)
    return outer


def unused_parameters(function: Any) -> list[Any]:
    """Return parameters that, with the symbols that only they define, a function would be well formed without.

    Args:
        function: A ``relax.Function``.
    """
    return _unused(list(function.params), function.body)


def without_parameters(frame: FunctionFrame, sequence: Any) -> None:
    """Take the parameters that nothing uses out of a function under construction."""
    gone = set(_unused([value.expr for value in frame.parameters], sequence))
    frame.parameters = [value for value in frame.parameters if value.expr not in gone]
    frame.weights = [value for value in frame.weights if value.expr not in gone]


def _unused(parameters: Sequence[Any], body: Any) -> list[Any]:
    free = set(relax.analysis.free_vars(body)) | set(relax.analysis.free_symbolic_vars(body))
    # TVM's analysis takes some symbols that only branches use for defined there.
    free |= set(relax.analysis.defined_symbolic_vars(body))
    # TVM takes a symbol in the type of a local function's parameter for defined there, also when it is used elsewhere.
    for local in expressions(body):
        for inner in local.params if isinstance(local, relax.Function) else ():
            free |= {*_defined(inner.ty), *_mentioned(inner.ty)}
    gone: list[Any] = []
    kept = [(parameter, set(_defined(parameter.ty)), set(_mentioned(parameter.ty))) for parameter in parameters]
    for one in reversed(kept.copy()):
        parameter, own, _ = one
        rest = [other for other in kept if other is not one]
        needed = free.union(*(mentioned for _, _, mentioned in rest))
        if parameter not in needed and not own.difference(*(defined for _, defined, _ in rest)) & needed:
            gone.append(parameter)
            kept = rest
    return gone


def _defined(ty: Any) -> list[Any]:
    """Return symbols that a parameter of a type defines: those that stand alone."""
    return [dim for dim in dims_in(ty) if isinstance(dim, tirx.Var)]


def _mentioned(ty: Any) -> list[Any]:
    """Return symbols in expressions of a type, which something else must define."""
    return [symbol for dim in dims_in(ty) if not isinstance(dim, (int, tirx.Var)) for symbol in symbols_of(dim)]


def unused_outputs(sequence: Any) -> int:
    """Count the outputs of a ``SeqExpr``'s dataflow blocks (branches left out) that only their blocks use."""
    return sum(len(found) for _, found in _blocks_with_unused(sequence.blocks, sequence.body))
