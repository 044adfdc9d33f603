"""Idioms of several devices: public functions whose tensors are spread over a mesh of devices, and all-reduces.

An annotated function says so of some of its values, and PropagateSharding has to find the others; one of distributed
tensors says so in every type.  Other functions do not call them: operators take tensors of one kind only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax
from tvm.ir import Range
from tvm.script import relax as R  # as in TVMScript

from strategies.idioms.idiom import IdiomTable
from strategies.kernels.choose import function_of
from strategies.kernels.table import KERNELS
from strategies.scope.emitter import add_function
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.scope import Scope
from strategies.scope.values import Value

op = relax.op
dist = relax.distributed

TABLE = IdiomTable()
MOST_STEPS = 5
_MESHES = (*[(2,)] * 8, *[(4,)] * 4, (1,), (2, 2))
"""Shapes of meshes.  Most passes take those of one dim only, and say so."""
_KERNELS = {kernel.name: kernel for kernel in KERNELS}


class DistributedBody:
    """The body of a distributed function under construction; its values are matrices of float32.

    Args:
        scope: Where the function is planted.
        annotated: Whether types say nothing of the mesh.
        dataflow: Whether the bindings stand in a dataflow block.
        parameters: The parameters so far.
        emit: Binds an expression.
    """

    def __init__(
        self, scope: Scope, annotated: bool, dataflow: bool, parameters: list[Any], emit: Callable[..., Any]
    ) -> None:
        self.scope, self.annotated, self.dataflow = scope, annotated, dataflow
        self.parameters, self.emit = parameters, emit
        self.mesh = _mesh(scope)

    def draw(self) -> Any:
        """Draw the bindings; gives the result."""
        value = self.operand((self.dim(), self.dim()), self.some_axis())
        count = 1 + self.scope.index(MOST_STEPS)
        marked = self.scope.index(count)
        for number in range(count):
            self.scope.renew()
            value = self.scope.pick(_STEPS)(self, value)
            if number == marked or self.dares():
                value = self.emit(self.placed(_elementwise(self, value)))
        return relax.Tuple([value, self.emit(op.negative(value))]) if self.scope.index(4) == 3 else value

    def dares(self) -> bool:
        """Say, seldom, whether to draw what passes of TVM 0.27 fail at by known defects (``docs/bugs.md``)."""
        return self.scope.index(16) == 15

    def dim(self) -> int:
        """Draw a dim that each dim of the mesh divides."""
        return max(2, *(int(size) for size in self.mesh.shape)) * (1 + self.scope.index(3))

    def some_axis(self) -> int:
        """Draw the axis along which a matrix is spread, -1 for none."""
        return self.scope.index(3) - 1

    def placed(self, value: Any) -> Any:
        """Say, or change, how a value is spread."""
        axis = axis_of(value)
        if axis < 0:  # what is spread can be gathered, or spread otherwise, in no release yet
            axis = self.some_axis()
            axis = -1 if dims_of(value)[axis] == 1 else axis
        how = op.distributed.annotate_sharding if self.annotated else op.distributed.redistribute
        return how(value, self.mesh, self.placement(axis))

    def placement(self, axis: int) -> Any:
        """Return the placement along an axis, over the first dim of the mesh."""
        first = dist.PlacementSpec.replica() if axis < 0 else dist.PlacementSpec.sharding(axis)
        return dist.Placement([first, *(dist.PlacementSpec.replica() for _ in self.mesh.shape[1:])])

    def type(self, dims: Sequence[int], axis: int) -> Any:
        """Return the type of a tensor."""
        ty = relax.TensorType(list(dims), "float32")
        return ty if self.annotated else dist.DTensorType(ty, self.mesh, self.placement(axis))

    def operand(self, dims: Sequence[int], axis: int) -> Any:
        """Add a parameter."""
        return self.parameter(self.type(dims, axis))

    def parameter(self, ty: Any) -> Any:
        """Add a parameter of a type."""
        self.parameters.append(relax.Var(f"x{len(self.parameters)}", ty))
        return self.parameters[-1]

    def kernel(self, name: str, operands: Sequence[Any], *types: Any) -> Any:
        """Bind a call of a kernel."""
        shaped = [Value(None, relax.TensorType(dims_of(each), "float32")) for each in operands]
        var = function_of(self.scope, _KERNELS[name], shaped)
        call = relax.call_tir if self.annotated else R.dist.call_tir
        return self.emit(call(var, list(operands), list(types)))

    def local_kernel(self, name: str, value: Any) -> Any:
        """Return a kernel that takes what one device has of a value."""
        local = dims_of(value)
        if axis_of(value) >= 0:
            local[axis_of(value)] //= int(self.mesh.shape[0])
        return function_of(self.scope, _KERNELS[name], [Value(None, relax.TensorType(local, "float32"))])


def _mesh(scope: Scope) -> Any:
    """Return the mesh of the module, or a new one."""
    meshes = scope.module.meshes
    if not meshes or scope.index(4) == 3:
        shape = scope.pick(_MESHES)
        meshes.append(dist.DeviceMesh(shape, Range(0, math.prod(shape))))
    return meshes[-1]


def dims_of(value: Any) -> list[int]:
    """Return the dims of a value, of all devices together."""
    ty = value.ty.tensor_ty if isinstance(value.ty, dist.DTensorType) else value.ty
    return [int(dim) for dim in ty.shape.values]


def axis_of(value: Any) -> int:
    """Return the axis along which a value is spread, -1 where it is not or its type does not say."""
    return int(value.ty.placement.dim_specs[0].axis) if isinstance(value.ty, dist.DTensorType) else -1


Step = Callable[[DistributedBody, Any], Any]


def _unary(body: DistributedBody, value: Any) -> Any:
    return body.emit(body.scope.pick((op.negative, op.nn.relu, op.exp, op.abs, op.nn.gelu, op.tanh))(value))


def _binary(body: DistributedBody, value: Any) -> Any:
    way = body.scope.index(3)
    if body.dares():
        other = relax.const(2.0, "float32") if body.annotated else R.dist.const(2.0, body.type((), -1))
    elif way == 0:
        other = body.parameter(value.ty)
    elif way == 1:  # a row for all
        other = body.operand(dims_of(value)[1:], 0 if axis_of(value) == 1 else -1)
    else:
        other = value
    return body.emit(body.scope.pick((op.add, op.multiply, op.subtract, op.maximum))(value, other))


def _elementwise(body: DistributedBody, value: Any) -> Any:
    if body.scope.flip():
        return body.kernel("te_add", [value, body.parameter(value.ty)], value.ty)
    return body.kernel("te_add_one", [value], value.ty)


def _two_outputs(body: DistributedBody, value: Any) -> Any:
    both = body.kernel("scale_and_shift", [value], value.ty, value.ty)
    if body.dares():
        return body.emit(relax.TupleGetItem(both, 1))
    first, second = (body.emit(relax.TupleGetItem(both, field)) for field in range(2))
    return body.emit(op.add(first, second))


def _packed(body: DistributedBody, value: Any) -> Any:
    """Bind a sum with the fields of a parameter, seldom with one of two."""
    pair = body.parameter(relax.TupleType([value.ty, value.ty]))
    for field in range(2 - body.dares()):
        value = body.emit(op.add(value, body.emit(relax.TupleGetItem(pair, field))))
    return value


def _turned(body: DistributedBody, value: Any) -> Any:
    rows, columns = dims_of(value)
    axis = axis_of(value)
    if body.scope.flip():
        return body.kernel("topi_transpose", [value], body.type((columns, rows), 1 - axis if axis >= 0 else -1))
    return body.emit(op.permute_dims(value))


def _product(body: DistributedBody, value: Any) -> Any:
    """Bind a product with weights that are spread as it asks for; only kernels add up what devices have."""
    (rows, inner), axis, columns = dims_of(value), axis_of(value), body.dim()
    own = body.scope.pick((-1, 1))
    given, made = {-1: (own, own), 0: (-1, 0), 1: (0, -1)}[axis]
    weights = body.operand((inner, columns), given)
    if body.scope.flip() or axis == 1:
        return body.kernel("topi_matmul", [value, weights], body.type((rows, columns), made))
    return body.emit(op.matmul(value, weights))


def _reduced(body: DistributedBody, value: Any) -> Any:
    axis = None if body.dares() else 1 - axis_of(value) if axis_of(value) >= 0 else body.scope.pick((0, 1, -1))
    return body.emit(body.scope.pick((op.sum, op.max, op.mean))(value, axis, keepdims=True))


def _softmax(body: DistributedBody, value: Any) -> Any:
    axis = axis_of(value)
    # An annotation may spread the kernel over its axis, along which it reduces twice.
    able = axis >= 0 or not body.annotated or body.dares()
    return body.emit(op.nn.softmax(value, axis=1 - axis if axis >= 0 else -1)) if able else value


def _reshaped(body: DistributedBody, value: Any) -> Any:
    rows, columns = dims_of(value)
    divided = columns % (2 * int(body.mesh.shape[0])) == 0
    if not (axis_of(value) != 0 and divided) and not body.dares():
        return value
    apart = body.emit(op.reshape(value, [rows, columns // 2, 2] if columns % 2 == 0 else [rows, 1, columns]))
    return body.emit(op.reshape(body.emit(op.abs(apart)), [rows, columns]))


def _attended(body: DistributedBody, value: Any) -> Any:
    """Bind attention of heads: products of batches, of what is reshaped and turned; the heads are what is spread."""
    (rows, columns), heads = dims_of(value), max(2, int(body.mesh.shape[0]))
    if columns % heads or (axis_of(value) == 0 and not body.dares()):
        return value
    axis = axis_of(value) - 1 if axis_of(value) == 1 else -1
    batch = [1] * body.scope.index(2)  # one batch, or no dim for it
    inner, keys = columns // heads, body.dim()
    turn = [0, 2, 1, 3] if batch else [1, 0, 2]
    apart = body.emit(op.reshape(value, [*batch, rows, heads, inner]))
    queries = body.emit(op.permute_dims(apart, turn))
    spread = axis if axis < 0 else len(batch)
    # Where nobody spreads the heads, keys may be the same for all of them.
    own = axis >= 0 or not body.scope.index(3)
    few = body.scope.pick(([], [1])) if not own else [*batch, heads]
    wanted = body.operand([*few, inner, keys], spread if own else -1)
    scores = body.emit(op.nn.softmax(body.emit(op.matmul(queries, wanted)), axis=-1))
    found = body.emit(op.matmul(scores, body.operand([*batch, heads, keys, inner], spread)))
    return body.emit(op.reshape(body.emit(op.permute_dims(found, turn)), [rows, columns]))


def _by_vector(body: DistributedBody, value: Any) -> Any:
    """Bind the product with a vector, from the left or the right, and add it to each row or column."""
    (rows, columns), axis = dims_of(value), axis_of(value)
    if axis != 0 and body.scope.flip():
        return body.emit(op.add(value, body.emit(op.matmul(body.operand([rows], -1), value))))
    # Along its first axis, nothing that is spread can be reshaped.
    if not (axis == -1 and not body.annotated) and not body.dares():
        return value
    weighed = body.emit(op.matmul(value, body.operand([columns], 0 if axis == 1 else -1)))
    return body.emit(op.add(value, body.emit(op.reshape(weighed, [rows, 1]))))


def _summed(body: DistributedBody, value: Any) -> Any:
    """Bind what passes make of kernels: a call of one that sees its own part, and the sum of what devices have."""
    if body.annotated:
        return _elementwise(body, value)
    part = body.emit(op.distributed.call_tir_local_view(body.local_kernel("te_add_one", value), [value], value.ty))
    return body.emit(op.ccl.allreduce(part, "sum")) if axis_of(value) < 0 else part


def two_local_outputs(body: DistributedBody) -> Any:
    """Bind a kernel of two results that sees the part of one device only."""
    value = body.operand((body.dim(), body.dim()), body.some_axis())
    kernel = body.local_kernel("scale_and_shift", value)
    both = body.emit(op.distributed.call_tir_local_view(kernel, [value], [value.ty] * 2))
    return body.emit(op.add(*(body.emit(relax.TupleGetItem(both, field)) for field in range(2))))


def _renamed(body: DistributedBody, value: Any) -> Any:
    return body.emit(value) if not body.dataflow or body.dares() else value


_STEPS: tuple[Step, ...] = (
    _unary, _binary, _binary, _elementwise, _turned, _product, _product, _two_outputs, _packed, _reduced, _softmax,
    _reshaped, _attended, _by_vector, _summed, _renamed,
)  # fmt: skip


_HELD = (
    Feature.ALIASES, Feature.TUPLES, Feature.NESTED_TUPLES, Feature.DUPLICATE_CODE, Feature.ORDINARY_BLOCKS,
    Feature.KERNEL_OUTPUTS,
)  # fmt: skip


def add(scope: Scope, annotated: bool, draw: Callable[[DistributedBody], Any] = DistributedBody.draw) -> None:
    """Add a distributed function to the module, whose body ``draw`` binds.

    Raises:
        Infeasible: when the module has no room for a function, or may not have what this one may hold.
    """
    if any(scope.forbids(feature) for feature in _HELD):
        raise Infeasible("a distributed function may hold what is forbidden")
    scope.module.take_room()
    parameters: list[Any] = []
    dataflow = scope.flip()

    def body(emit: Callable[..., Any]) -> Any:
        return draw(DistributedBody(scope, annotated, dataflow, parameters, emit))

    add_function(scope, "spread", parameters, body, dataflow=dataflow)


def draw(scope: Scope) -> None:
    """Add a distributed function of one of both kinds."""
    add(scope, annotated=not scope.flip())


@TABLE.idiom("PropagateSharding", needs=(Feature.DISTRIBUTED,))
def annotated_function(scope: Scope) -> Value:
    """Plant a public function beside this one, in which it is said how some values are spread."""
    add(scope, annotated=True)
    return scope.tensor()


@TABLE.idiom("LegalizeRedistribute", "LowerGlobalViewToLocalView", "LowerDistIR", needs=(Feature.DISTRIBUTED,))
def spread_function(scope: Scope) -> Value:
    """Plant a public function beside this one, whose types say how all values are spread."""
    add(scope, annotated=False)
    return scope.tensor()
