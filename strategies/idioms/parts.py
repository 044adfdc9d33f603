"""Parts that idioms are built of: operands, and operators with the bounds of their results."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from strategies.scope.bounds import FLOAT_LIMIT, Bounds, default_bounds, is_float, union_of
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

op = relax.op

FLOATS = ("float32", "float64")
UNIT = Bounds(-2.0, 2.0)
WIDE = Bounds(-64.0, 64.0)
"""What the newest value may lie in: wide enough that one idiom's result is the next one's operand without a guard."""


def small(scope: Scope, value: Value) -> bool:
    """Say whether no dim can be zero and none is large: what makes sums of products bounded."""
    return all(scope.dim_range(dim)[0] > 0 and scope.dim_range(dim)[1] <= 16 for dim in value.shape)


def matrix(scope: Scope, dtypes: tuple[str, ...] = FLOATS, ranks: Sequence[int] = (2,), static: bool = False) -> Value:
    """Draw a matrix, the newest at hand with a good share; batched where ``ranks`` say so."""
    return scope.tensor(dtypes=dtypes, ranks=ranks, static=static, bounds=WIDE, where=lambda v: small(scope, v))


def floats(scope: Scope, ranks: Sequence[int] = (1, 2, 3), static: bool = False, bounds: Bounds = WIDE) -> Value:
    """Draw a float tensor of any shape without zeros."""
    return scope.tensor(dtypes=FLOATS, ranks=ranks, static=static, bounds=bounds, where=lambda v: small(scope, v))


def operand(scope: Scope, dims: Sequence[Dim], like: Value, bounds: Bounds = UNIT) -> Value:
    """Draw a tensor of given dims with the element type of another."""
    return scope.tensor(dtypes=(like.dtype,), shape=dims, bounds=bounds)


def fresh(scope: Scope, dims: Sequence[Dim], dtype: str, bounds: Bounds = UNIT) -> Value:
    """Draw a new tensor of given dims: a parameter, a constant or a filled one."""
    return scope.make(dims, dtype, bounds)


def width(scope: Scope) -> int:
    """Draw a small width, 2 and more."""
    return 2 + scope.index(3)


def product(scope: Scope, left: Value, right: Value, out_dtype: str | None = None) -> Value:
    """Bind ``matmul`` with the bounds of a sum of products."""
    depth = scope.dim_range(left.shape[-1])[1]
    if left.known.magnitude * right.known.magnitude * depth > FLOAT_LIMIT / 2:
        left, right = scope.guard(left, UNIT), scope.guard(right, UNIT)
    bounds = (left.known * right.known).up_to(depth).rounded()
    return scope.emit(op.matmul(left.expr, right.expr, out_dtype=out_dtype), bounds)


def added(scope: Scope, left: Value, right: Value) -> Value:
    """Bind ``add``."""
    return scope.emit(op.add(left.expr, right.expr), _kept(left, left.known + right.known))


def times(scope: Scope, left: Value, right: Value) -> Value:
    """Bind ``multiply``, of operands small enough."""
    if left.known.magnitude * right.known.magnitude > FLOAT_LIMIT / 2:
        left, right = scope.guard(left, UNIT), scope.guard(right, UNIT)
    return scope.emit(op.multiply(left.expr, right.expr), _kept(left, left.known * right.known))


def subtracted(scope: Scope, left: Value, right: Value) -> Value:
    """Bind ``subtract``."""
    return scope.emit(op.subtract(left.expr, right.expr), _kept(left, left.known - right.known))


def concat(scope: Scope, values: Sequence[Value], axis: int) -> Value:
    """Bind ``concat``."""
    bounds = union_of(value.known for value in values)
    return scope.emit(op.concat([value.expr for value in values], axis=axis), bounds)


def relu(scope: Scope, value: Value) -> Value:
    """Bind ``nn.relu``."""
    return scope.emit(op.nn.relu(value.expr), value.known.clipped(0.0, max(0.0, value.known.hi)))


def tensor(scope: Scope, shape: Sequence[int], bounds: Bounds = UNIT) -> Value:
    """Return some value of float32 and a static shape."""
    return scope.tensor(dtypes=("float32",), shape=tuple(shape), bounds=bounds)


def transposed(scope: Scope, value: Value, axes: Sequence[int] | None = None) -> Value:
    """Bind ``permute_dims``."""
    return scope.emit(op.permute_dims(value.expr, None if axes is None else list(axes)), value.bounds)


def shaped(scope: Scope, value: Value, shape: Sequence[Dim]) -> Value:
    """Bind ``reshape``; the dims must hold as many elements."""
    return scope.emit(op.reshape(value.expr, scope.shape_expr(shape)), value.bounds)


def hidden(scope: Scope, value: Value) -> Value:
    """Take a value out of sight, so that no later step uses it."""
    if value in scope.values:
        scope.values.remove(value)
    return value


def constant(scope: Scope, shape: Sequence[int], dtype: str = "float32", bounds: Bounds = UNIT) -> Value:
    """Draw a constant tensor; raises ``Infeasible`` when the caller forbade those."""
    if scope.forbids(Feature.CONSTANTS):
        raise Infeasible("constants are forbidden")
    return scope.constant(list(shape), dtype, bounds)


def new_parameter(scope: Scope, shape: Sequence[Dim], dtype: str = "float32") -> Value:
    """Draw a new parameter; raises ``Infeasible`` when there is no room for one."""
    if not scope.can_add_parameter() or not scope.module.permits(dtype):
        raise Infeasible("no room for a parameter")
    return scope.parameter(scope.frame.tensor_type(shape, dtype), default_bounds(dtype))


def variable(scope: Scope, value: Value) -> Value:
    """Return the value as a variable; raises ``Infeasible`` where a variable may not be bound to a constant."""
    if not isinstance(value.expr, relax.Var) and scope.forbids(Feature.ALIASES):
        raise Infeasible("aliases are forbidden")
    return scope.variable(value)


def joined(scope: Scope, values: Sequence[Value]) -> Value:
    """Draw one value that depends on all: a tuple where those are on, else the greatest element of all."""
    if len(values) == 1:
        return values[0]
    if scope.has(Feature.TUPLES):
        return scope.emit(relax.Tuple([value.expr for value in values]), parts=values)
    total: Value | None = None
    for value in values:
        greatest = scope.emit(op.max(value.expr), value.bounds) if value.rank else value
        part = scope.emit(op.astype(greatest.expr, "float32"), value.bounds)
        total = part if total is None else scope.emit(op.maximum(total.expr, part.expr), total.known.union(part.known))
    assert total is not None
    return total


def _kept(like: Value, bounds: Bounds) -> Bounds:
    return bounds.rounded() if is_float(like.dtype) else bounds
