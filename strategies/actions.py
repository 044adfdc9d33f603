"""Actions: the steps that a function under construction may take, as a table."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tvm import relax

from strategies import idioms
from strategies.constructs import (
    calls,
    closures,
    composites,
    control_flow,
    data_dependent,
    devices,
    impure,
    local_functions,
    lowered,
    redundant,
    shapes,
    unused,
)
from strategies.constructs import weights as weight_steps
from strategies.kernels import choose as kernels
from strategies.kernels import drawn as drawn_kernels
from strategies.kernels import in_place
from strategies.operators.row import OperatorFamily, OperatorRow
from strategies.scope import results
from strategies.scope.bounds import LOW_PRECISION
from strategies.scope.dims import LARGE_POOL
from strategies.scope.features import Feature, closure
from strategies.scope.frame import CONST, Infeasible, setting
from strategies.scope.scope import NothingAtHand, Scope
from strategies.scope.values import Value

TRIES = 3
"""Operators drawn for one step until one takes a computed value; the last may begin with a parameter.  More would
starve the operators of rare operands."""

MOST_NESTED = 2
"""How deep calls of operators that are aimed at are drawn as operands of each other; passes seldom look deeper."""

Run = Callable[[Scope], "Value | None"]


class StepPlace(enum.Enum):
    """Where a step may stand."""

    ANYWHERE = "anywhere"
    ORDINARY = "ordinary"
    TOP_LEVEL = "top-level"


@dataclass(frozen=True, slots=True)
class Action:
    """A step.

    Attributes:
        weight: How often it is taken, next to an operator's 144.
        run: Takes it.
        feature: What must be on, ``None`` for always.
        place: ``ORDINARY``: outside of dataflow blocks; ``TOP_LEVEL``: outside of branches too.
    """

    weight: int
    run: Run
    feature: Feature | None = None
    place: StepPlace = StepPlace.ANYWHERE


def operator(scope: Scope) -> Value | None:
    """Draw an operator of the table, if possible one that takes what was computed before.

    Raises:
        Infeasible: when the operator cannot be had under the features of this case.
    """
    for attempt in range(TRIES):
        row = scope.pick_steadily(scope.module.rows)
        scope.renew()
        eager = attempt < TRIES - 1
        with contextlib.suppress(NothingAtHand):
            return _draw_aimed(scope, row) if row.name in scope.module.aimed else _drawn(scope, row, eager=eager)
    return None


def _drawn(scope: Scope, row: OperatorRow, **how: Any) -> Value | None:
    with setting(scope, **how):
        result: Value | None = row.draw(scope)
        return result


def _draw_aimed(scope: Scope, row: OperatorRow, depth: int = 0) -> Value | None:
    """Draw an operator that is aimed at, half of the time of a call of another such: a pass may look for both."""
    inner, module = None, scope.module
    names = module.aimed - {CONST if CONST in module.aimed else row.name}
    aimed = {each.name: each for each in module.rows if each and each.name in names}
    if aimed and depth < MOST_NESTED and (scope.index(4) if CONST in module.aimed else scope.flip()):
        with contextlib.suppress(Infeasible, NothingAtHand):
            inner = _draw_aimed(scope, scope.pick([*aimed.values()]), depth + 1)
    again = () if inner is None else (inner.expr,)
    return _drawn(scope, row, eager=False, aimed=True, aim="" if again else row.name, again=again)


def non_executable(scope: Scope) -> Value | None:
    """Draw an operator that CodeGenVM can never run."""
    rows = scope.module.unrunnable
    index = scope.index(len(rows) + (1 if scope.has(Feature.KERNELS) else 0)) if rows else 0
    if index >= len(rows):
        return kernels.draw_with_gradient(scope)
    scope.renew()
    result: Value | None = rows[index].draw(scope)
    return result


def constant(scope: Scope) -> Value:
    """Draw a constant tensor at hand for later steps, and an operator on constants alone (for FoldConstant)."""
    value = scope.constant(scope.draw_shape((1, 2, 3), static=True), "float32")
    scope.see(value)
    other = scope.constant([int(dim) for dim in value.shape], value.dtype)
    if value.bounds is not None and other.bounds is not None:
        return scope.emit(relax.op.maximum(value.expr, other.expr), value.bounds.union(other.bounds))
    return value


def condition(scope: Scope) -> Value:
    """Draw an ``If``."""
    return control_flow.draw_if(scope, branch_step)


def aimed_condition(scope: Scope) -> Value:
    """Draw an ``If`` in the place of an operator."""
    if scope.in_dataflow or scope.branches:
        raise Infeasible("an If stands outside of dataflow blocks, and seldom in another")
    with setting(scope, aimed=False, aim="", again=()):
        return condition(scope)


CONSTRUCTS = (
    OperatorRow("relax.If", OperatorFamily.INSPECT, aimed_condition, feature=Feature.IF),
    OperatorRow(CONST, OperatorFamily.INSPECT, constant, feature=Feature.CONSTANTS),
)
"""What is no operator, and can be aimed at like one."""


def local_function(scope: Scope) -> Value:
    """Draw a local function, and a call of it."""
    return local_functions.draw_local(scope, local_step)


def large_tensor(scope: Scope) -> Value:
    """Draw a parameter, or a filled tensor, with a large dim."""
    dims = [scope.pick(LARGE_POOL), scope.small_dim()][: 1 + scope.index(2)]
    if scope.can_add_parameter() and scope.index(2):
        return scope.make(dims, "float32")
    return shapes.filled(scope, dims, "float32")


ACTIONS: tuple[Action, ...] = (
    Action(144, operator),
    Action(12, idioms.plant),
    Action(24, kernels.draw_some, Feature.KERNELS),
    Action(16, lowered.draw, Feature.LOWERED, StepPlace.ORDINARY),
    Action(14, calls.draw_call, Feature.MULTIPLE_FUNCTIONS),
    Action(48, condition, Feature.IF, StepPlace.ORDINARY),
    Action(6, results.pack, Feature.TUPLES),
    Action(8, results.project, Feature.TUPLES),
    Action(6, shapes.cast, Feature.MATCH_CAST),
    Action(10, shapes.cast_symbol, Feature.CAST_SYMBOLS, StepPlace.TOP_LEVEL),
    Action(8, shapes.use_symbol, Feature.CAST_SYMBOLS),
    Action(10, shapes.shape_symbol, Feature.SHAPE_SYMBOLS, StepPlace.TOP_LEVEL),
    Action(8, shapes.use_symbol, Feature.SHAPE_SYMBOLS),
    Action(12, data_dependent.draw, Feature.DATA_DEPENDENT),
    Action(8, unused.output, Feature.UNUSED_OUTPUTS),
    Action(4, shapes.unknown_parameter, Feature.UNKNOWN_SHAPES, StepPlace.TOP_LEVEL),
    Action(4, shapes.expression_tensor, Feature.SHAPE_EXPRESSIONS, StepPlace.TOP_LEVEL),
    Action(5, shapes.use_shape, Feature.SHAPE_PARAMS),
    Action(4, shapes.use_shape, Feature.PRIM_PARAMS),
    Action(6, redundant.alias, Feature.ALIASES),
    Action(6, redundant.duplicate, Feature.DUPLICATE_CODE),
    Action(4, redundant.dead, Feature.DEAD_CODE),
    Action(4, constant, Feature.CONSTANTS),
    Action(6, large_tensor, Feature.LARGE_TENSORS),
    Action(20, devices.hint, Feature.DEVICE_HINTS),
    Action(12, devices.elsewhere, Feature.SEVERAL_VDEVICES),
    Action(10, composites.draw_composite, Feature.COMPOSITE),
    Action(14, composites.draw_codegen, Feature.CODEGEN, StepPlace.TOP_LEVEL),
    Action(20, local_function, Feature.LOCAL_FUNCTIONS, StepPlace.ORDINARY),
    Action(8, closures.draw_made, Feature.MADE_CLOSURES),
    Action(10, impure.draw_impure, Feature.IMPURE_CALLS, StepPlace.ORDINARY),
    Action(8, impure.draw_packed_call, Feature.PACKED_CALLS),
    Action(16, weight_steps.draw_weight_work, Feature.WEIGHTS, StepPlace.TOP_LEVEL),
    Action(12, non_executable, Feature.NON_EXECUTABLE),
)


def step(scope: Scope) -> Value | None:
    """Take one drawn step; one that cannot be taken under the features of this case is left undone."""
    scope.renew()
    try:
        return scope.pick_steadily(_tickets(scope)).run(scope)
    except Infeasible:
        return None


def _tickets(scope: Scope) -> list[Action | None]:
    """Return the action of each ticket, ``None`` where it may not be taken here."""
    frame, features = scope.frame, scope.features
    key = (scope.in_dataflow, bool(scope.branches))
    cached = frame.allowed.get(key)
    if cached is None:
        cached = []
        for action in ACTIONS:
            allowed = (
                (action.feature is None or action.feature in features)
                and (action.place is StepPlace.ANYWHERE or not scope.in_dataflow or action.run in _DATAFLOW_TOO)
                and (action.place is not StepPlace.TOP_LEVEL or not scope.branches)
                and (action.feature is not Feature.WEIGHTS or frame.is_weighted)
            )
            cached += [action if allowed else None] * action.weight
        frame.allowed[key] = cached
    return cached


_DATAFLOW_TOO = frozenset(action.run for action in ACTIONS if action.place is StepPlace.TOP_LEVEL)
"""Steps at the top level are at home in dataflow blocks as well."""


def branch_step(scope: Scope, depth: int) -> None:
    """Take a step inside a branch: as at the top level, and another ``If`` while the nesting allows."""
    if depth >= control_flow.MAX_DEPTH or scope.in_dataflow:
        try:
            operator(scope)
        except Infeasible:
            return
    elif scope.has(Feature.NESTED_IF) and scope.index(4) == 3:
        control_flow.draw_if(scope, branch_step, depth)
    else:
        step_without_if(scope)


def local_step(scope: Scope, depth: int) -> None:
    """Take a step inside a local or recursive function: as in a branch, where the case has branches."""
    if scope.has(Feature.IF) or scope.in_dataflow:
        branch_step(scope, depth)
    else:
        step_without_if(scope)


def step_without_if(scope: Scope) -> None:
    """Take a step that is no ``If``: depth is counted by the caller."""
    with setting(scope, features=scope.features - {Feature.IF}), setting(scope.frame, allowed={}):
        step(scope)


_SHOWN_BY_PLAN = (None, Feature.MULTIPLE_FUNCTIONS, Feature.WEIGHTS)

ENSURED: dict[Feature, Callable[[Scope], Value | None]] = {
    **{action.feature: action.run for action in reversed(ACTIONS) if action.feature not in _SHOWN_BY_PLAN},
    Feature.SYMBOLIC_SHAPES: shapes.symbol_parameter,
    Feature.UPPER_BOUNDS: shapes.symbol_parameter,
    Feature.SHAPE_PARAMS: shapes.shape_parameter,
    Feature.PRIM_PARAMS: shapes.prim_parameter,
    Feature.NESTED_TUPLES: results.pack_nested,
    Feature.CAPTURES: lambda scope: local_functions.draw_kind(scope, local_step, local_functions.LocalKind.CAPTURING),
    Feature.NESTED_CLOSURES: lambda scope: local_functions.draw_kind(
        scope, local_step, local_functions.LocalKind.NESTING
    ),
    Feature.RETURNED_CLOSURES: lambda scope: closures.draw_returned(scope, local_step),
    Feature.MADE_CLOSURES: closures.ensure_made,
    Feature.KERNELS: kernels.draw_kernel,
    Feature.KERNEL_OUTPUTS: kernels.draw_outputs,
    Feature.SYMBOLIC_KERNELS: kernels.draw_symbolic,
    Feature.INPLACE_KERNELS: in_place.draw,
    Feature.DRAWN_KERNELS: drawn_kernels.draw,
    Feature.EXTERNAL_CODEGEN: composites.draw_external,
    Feature.STOP_LIFT: weight_steps.stop_lift,
    Feature.HALF: lambda scope: typed_tensor(scope, "float16"),
    Feature.DOUBLE: lambda scope: typed_tensor(scope, "float64"),
    Feature.INTEGERS: lambda scope: typed_tensor(scope, "int32"),
    Feature.BOOLEANS: lambda scope: typed_tensor(scope, "bool"),
    Feature.EMPTY_TENSORS: lambda scope: shapes.filled(scope, [0, 2], "float32"),
    Feature.LOW_PRECISION: lambda scope: typed_tensor(scope, scope.pick(LOW_PRECISION)),
    Feature.DUPLICATE_CODE: lambda scope: redundant.duplicate_in_use(scope, operator),
    Feature.DEAD_CODE: redundant.dead_binding,
    Feature.NESTED_IF: lambda scope: control_flow.draw_if(scope, branch_step, inner=True),
    Feature.UNUSED_PARAMETERS: unused.parameter,
    Feature.VAGUE_TYPES: lambda scope: loosened(scope, Feature.VAGUE_TYPES),
    Feature.VAGUE_OPERANDS: lambda scope: loosened(scope, Feature.VAGUE_OPERANDS),
}
"""What makes sure that a demanded feature occurs, by default its first action; others show in the module's plan."""

INSIDE_DATAFLOW = frozenset({Feature.UNUSED_OUTPUTS})
"""Features whose makers need a dataflow block."""

_ORDINARY = {action.feature for action in ACTIONS if action.place is StepPlace.ORDINARY}
OUTSIDE_DATAFLOW = frozenset(feature for feature in ENSURED if closure([feature]) & _ORDINARY)
"""Features that stand outside of dataflow blocks, or need one that does."""


def typed_tensor(scope: Scope, dtype: str) -> Value:
    """Make a parameter or a filled tensor of a dtype."""
    return scope.make(scope.draw_shape((1, 2, 3)), dtype)


def loosened(scope: Scope, feature: Feature) -> Value:
    """Bind an operator of which less is declared, or of whose operand less is known, than could be."""
    value = scope.variable(scope.tensor())
    features = scope.features - {Feature.VAGUE_TYPES, Feature.VAGUE_OPERANDS} | {feature}
    with setting(scope, features=features, loosens=64):
        return scope.emit(relax.op.permute_dims(value.expr), value.bounds)
