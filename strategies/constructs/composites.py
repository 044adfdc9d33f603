"""Composite functions: what ``FuseOpsByPattern`` and ``MergeCompositeFunctions`` leave, written directly.

Without ``annotate_codegen`` a match becomes a private function with ``Composite`` and ``Primitive``; with it, a public
function with ``Codegen`` that holds a local function with ``Composite`` and its call; merging puts several of those
into one ``Codegen`` function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies.scope.bounds import Bounds
from strategies.scope.emitter import block_function, with_attrs
from strategies.scope.features import Feature
from strategies.scope.scope import Scope
from strategies.scope.values import OwnDims, Value

op = relax.op
EXTERNAL = "pyext"
"""The code generator that really executes (``relaxkit.runtime.external``); ``RunCodegen`` finds it registered."""
ABSENT = "absent"
"""A code generator that nobody registers: its functions execute as plain Relax, and ``RunCodegen`` refuses them."""

Operands = Callable[[Scope], list[Value]]
_SMALL = Bounds(-8.0, 8.0)


@dataclass(frozen=True, slots=True)
class Region:
    """A group of operators that a backend takes as one.

    Attributes:
        name: What follows the backend's name in ``Composite``.
        operands: Draws the operands.
        steps: One function per operator, from the operands and all results so far.
        bounds: Bounds of the result from those of the operands.
    """

    name: str
    operands: Operands
    steps: tuple[Callable[[list[Any]], Any], ...]
    bounds: Callable[[list[Bounds]], Bounds]


def _one(scope: Scope) -> list[Value]:
    return [scope.tensor(dtypes=("float32", "float16"), bounds=_SMALL)]


def _two(scope: Scope) -> list[Value]:
    first = _one(scope)[0]
    return [first, scope.tensor_like(first, bounds=_SMALL)]


def _matmul(scope: Scope) -> list[Value]:
    left = scope.tensor(dtypes=("float32",), ranks=(2,), bounds=_SMALL)
    inner = left.shape[1]
    return [left, scope.tensor(dtypes=("float32",), shape=(inner, 3), bounds=_SMALL)]


def _matmul_add(scope: Scope) -> list[Value]:
    left, right = _matmul(scope)
    return [left, right, scope.tensor(dtypes=("float32",), shape=(3,), bounds=_SMALL)]


def _conv(scope: Scope) -> list[Value]:
    data = scope.tensor(dtypes=("float32",), shape=(1, 2, 4, 4), bounds=_SMALL)
    return [data, scope.tensor(dtypes=("float32",), shape=(3, 2, 1, 1), bounds=_SMALL)]


_WIDE = Bounds(-8192.0, 8192.0)

REGIONS: tuple[Region, ...] = (
    Region("exp", _one, (lambda v: op.exp(v[0]),), lambda b: Bounds(0.0, 3000.0)),
    Region("add", _two, (lambda v: op.add(v[0], v[1]),), lambda b: (b[0] + b[1]).rounded()),
    Region("multiply_relu", _two, (lambda v: op.multiply(v[0], v[1]), lambda v: op.nn.relu(v[2])),
           lambda b: (b[0] * b[1]).including(0).rounded()),
    Region("matmul", _matmul, (lambda v: op.matmul(v[0], v[1]),), lambda b: _WIDE),
    Region("matmul_add", _matmul_add, (lambda v: op.matmul(v[0], v[1]), lambda v: op.add(v[3], v[2])), lambda b: _WIDE),
    Region("conv2d_relu", _conv, (lambda v: op.nn.conv2d(v[0], v[1]), lambda v: op.nn.relu(v[2])), lambda b: _WIDE),
)  # fmt: skip

FOLLOWERS: tuple[Region, ...] = (
    Region("relu", _one, (lambda v: op.nn.relu(v[0]),), lambda b: b[0].including(0.0)),
    Region("negative", _one, (lambda v: op.negative(v[0]),), lambda b: -b[0]),
    Region("tanh", _one, (lambda v: op.tanh(v[0]),), lambda b: Bounds(-1.0, 1.0).rounded()),
    Region("abs_relu", _one, (lambda v: op.abs(v[0]), lambda v: op.nn.relu(v[1])), lambda b: b[0].absolute()),
)
"""What may follow in the same external function, on the result of the one before."""


def draw_composite(scope: Scope) -> Value:
    """Bind the call of a private ``Composite`` function, made for it or shared with an earlier call."""
    region = scope.pick(REGIONS)
    return call_composite(scope, region, region.operands(scope))


def call_composite(scope: Scope, region: Region, operands: list[Value]) -> Value:
    """Bind the call of a private ``Composite`` function of a region."""
    function = _function(scope, region, operands, {"Composite": f"{EXTERNAL}.{region.name}", "Primitive": True})
    var = scope.builder.add_func(function, f"fused_relax_{region.name}")
    bounds = region.bounds([v.known for v in operands])
    return scope.emit(relax.Call(var, [v.expr for v in operands]), bounds)


def draw_codegen(scope: Scope) -> Value:
    """Bind the call of a public ``Codegen`` function, of a generator that is there or of one that is not."""
    external = scope.has(Feature.EXTERNAL_CODEGEN) and scope.index(8) < 7
    return _codegen(scope, EXTERNAL if external else ABSENT)


def draw_external(scope: Scope) -> Value:
    """Bind the call of a public ``Codegen`` function that the external code generator takes."""
    return _codegen(scope, EXTERNAL)


def _codegen(scope: Scope, backend: str) -> Value:
    """Draw a function of one to three local ``Composite`` functions in a chain; it may return what lies between."""
    region = scope.pick(REGIONS)
    operands = region.operands(scope)
    parameters = _parameters(operands)
    attrs = {"WorkspaceSize": 64 + 64 * scope.index(4)} if scope.index(6) == 5 else {}
    builder = scope.builder
    builder._begin_binding_block()
    made = [_local_call(scope, region, operands, parameters, backend, attrs)]
    bounds = [region.bounds([v.known for v in operands])]
    for _ in range(scope.index(3)):
        follower = scope.pick(FOLLOWERS)
        # AllocateWorkspace hands the workspace to every composite of the function, also to those that want none.
        wants = attrs if scope.index(4) < 3 else {}
        made.append(_local_call(scope, follower, [Value(None, made[-1].ty)], [made[-1]], backend, wants))
        bounds.append(follower.bounds([bounds[-1]]))
    several = len(made) > 1 and scope.has(Feature.TUPLES) and scope.index(3) == 2
    result = builder.emit(relax.Tuple(made), "outputs") if several else made[-1]
    block = builder._end_block()
    count = scope.module.next_number(region.name)
    name = f"fused_relax_{region.name}_{backend}{count or ''}"
    builder.begin_scope(parameters)
    function = relax.Function(parameters, builder.normalize(relax.SeqExpr([block], result)))
    builder.end_scope()
    function = with_attrs(function, {"Codegen": backend, "global_symbol": name, **attrs})
    var = builder.add_func(function, name)
    call = relax.Call(var, [v.expr for v in operands])
    if not several:
        return scope.emit(call, bounds[-1])
    call = scope.builder.normalize(call)  # its type speaks of the caller's symbols, those of ``made`` of the callee's
    whole = scope.emit_tuple(call, call.ty.fields, bounds)
    return scope.item(whole, scope.index(len(made)))


def _local_call(
    scope: Scope, region: Region, like: Sequence[Value], arguments: Sequence[Any], backend: str, attrs: dict[str, Any]
) -> Any:
    inner = _function(scope, region, like, {"Composite": f"{backend}.{region.name}", **attrs})
    var = scope.builder.emit(inner, "local_func")
    return scope.builder.emit(relax.Call(var, list(arguments)), "output")


def _function(scope: Scope, region: Region, operands: Sequence[Value], attrs: dict[str, Any]) -> Any:
    """Draw a function that applies the region's operators to its parameters in one dataflow block."""
    parameters = _parameters(operands)

    def body(emit: Callable[..., Any]) -> Any:
        known: list[Any] = list(parameters)
        for step in region.steps[:-1]:
            known.append(emit(step(known)))
        return region.steps[-1](known)

    return block_function(scope.builder, parameters, body, attrs)


def _parameters(operands: Sequence[Value]) -> list[Any]:
    """Return parameters of the operands' types with symbolic dims of their own: bare ones first met define them."""
    return [relax.Var(f"param_{index}", ty) for index, ty in enumerate(OwnDims().types(operands))]
