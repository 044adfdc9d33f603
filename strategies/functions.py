"""Functions: from a plan to a Relax function in the module under construction."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass, field
from typing import Any

from tvm import relax

from strategies import actions
from strategies.constructs import attributes, closures, devices, shapes, unused, weights
from strategies.constructs.calls import call
from strategies.idioms import BlockKind, Planned, plant_planned
from strategies.scope import results
from strategies.scope.body import FunctionBody, apart, cut, split
from strategies.scope.bounds import default_bounds
from strategies.scope.choices import Draw
from strategies.scope.emitter import with_attrs
from strategies.scope.features import Feature
from strategies.scope.frame import CalleeSignature, FunctionFrame, Infeasible, ModuleFrame, setting
from strategies.scope.scope import Scope
from strategies.scope.values import Value

MAX_CHAIN = 3
"""Most functions in a chain of calls; a private one leaves room for its caller."""

DEEP_CHAIN = 5
"""As many with DEEP_CALLS."""


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """The plan of a function.

    Attributes:
        name: Its name in the module; what comes out may carry a suffix.
        private: Whether it has no ``global_symbol``.
        steps: How many steps its body takes.
        weighted: Whether it has ``num_input`` and weights.
        demand: Features that must occur in it.
        planned: Features that should occur in it, where they find room.
        callees: Functions that it must call.
        tuple_only: Whether it takes one tuple and returns one, as a transform of parameters does.
        maker: Whether it returns a closure, where that is possible.
        idioms: Idioms that should stand in it, where they find room.
        last: Whether no other function comes after it, to call it.
    """

    name: str
    private: bool = False
    steps: int = 1
    weighted: bool = False
    demand: tuple[Feature, ...] = ()
    planned: tuple[Feature, ...] = ()
    callees: tuple[CalleeSignature, ...] = field(default_factory=tuple)
    tuple_only: bool = False
    maker: bool = False
    idioms: tuple[Planned, ...] = ()
    last: bool = False


def build(draw: Draw, module: ModuleFrame, plan: FunctionPlan) -> CalleeSignature:
    """Draw the body of a planned function, add it to the module and give what callers must know."""
    chain = DEEP_CHAIN if Feature.DEEP_CALLS in module.features else MAX_CHAIN
    frame = FunctionFrame(
        max_parameters=4 if plan.private else 6,
        is_weighted=plan.weighted,
        deepest=chain - plan.private,
        pure_only=plan.tuple_only,
        called=not plan.last,
    )
    scope = Scope(draw, module, frame)
    builder = module.builder
    builder.begin_scope([])
    if not plan.private and devices.typed(scope):
        frame.device = module.vdevices[0]
    body = FunctionBody(scope)
    ordinary = scope.has(Feature.ORDINARY_BLOCKS)
    body.open(not (scope.index(5) >= 3 and ordinary))
    _first_parameters(scope, plan)
    frame.planned = list(plan.planned)
    count = max(plan.steps, len(plan.planned))
    for number in range(count):
        scope.span(functools.partial(_step, scope, body, number, count))
        for planned in _due(plan.idioms, number, count):
            scope.span(functools.partial(_plant, scope, body, planned))
    scope.keep_outputs = True
    with setting(scope, loosens=0):  # what is demanded is bound as it is
        wanted = _demanded(scope, body, plan)
    for callee in plan.callees:
        effect = callee.impure or (callee.returns is not None and callee.returns.impure)
        if effect:
            body.leave_dataflow()
        with contextlib.suppress(Infeasible):
            wanted.append(call(scope, callee))
    wanted += frame.planted
    single = plan.private and scope.forbids(Feature.UNUSED_OUTPUTS)  # no field that no caller takes
    wanted = results.ready(scope, wanted, single=single)
    if plan.tuple_only:
        made = [v for v in scope.values if v.is_tuple and not v.is_parameter and v.parts and not v.is_local]
        wanted = made[-1:] or [results.pack(scope)]
    scope.keep_outputs = False
    body.close()
    body.open(False)
    scope.renew()
    result, returns = _result(scope, plan, wanted)
    body.close()
    return finish(scope, body, plan, result, returns)


def _result(scope: Scope, plan: FunctionPlan, wanted: list[Value]) -> tuple[Value, CalleeSignature | None]:
    """Draw the result of the function; a closure comes with its signature."""
    if plan.tuple_only:
        return wanted[-1], None
    if plan.maker:
        with contextlib.suppress(Infeasible):
            return closures.made_here(scope, actions.local_step)
    single = plan.private and scope.forbids(Feature.UNUSED_OUTPUTS)
    return results.choose_result(scope, wanted, single=single), None


def _step(scope: Scope, body: FunctionBody, number: int, count: int) -> None:
    """Take one step of a body, before which a block may end and another begin."""
    if number and scope.index(4) == 3:
        body.turn()
    scope.keep_outputs = number == count - 1 or scope.chance(12)
    planned = scope.frame.planned
    if not planned or (count - number > len(planned) and scope.index(2)):
        actions.step(scope)
        return
    feature = planned.pop()
    if feature in actions.OUTSIDE_DATAFLOW:
        body.leave_dataflow()
    elif feature in actions.INSIDE_DATAFLOW and body.may_enter_dataflow():
        body.enter_dataflow()
    scope.renew()
    with contextlib.suppress(Infeasible):
        actions.ENSURED[feature](scope)


def _due(idioms: tuple[Planned, ...], number: int, count: int) -> list[Planned]:
    """Return the idioms that follow a step: evenly spread, so that steps around them take each other's results.

    Where each stands depends on nothing drawn in between, so that a shrinker may leave out any step or idiom alone.
    """
    gaps = len(idioms) + 1
    return [planned for place, planned in enumerate(idioms, 1) if place * count // gaps == number]


def _plant(scope: Scope, body: FunctionBody, planned: Planned) -> None:
    """Plant an idiom in a block of the kind in which passes look for it; its result becomes part of the function's."""
    place = planned.idiom.place
    if place is BlockKind.DATAFLOW and not body.may_enter_dataflow():
        return
    if place is not BlockKind.ANYWHERE and (place is BlockKind.DATAFLOW) is not scope.in_dataflow:
        body.close()
        body.open(place is BlockKind.DATAFLOW)
    scope.keep_outputs = True
    with contextlib.suppress(Infeasible):
        scope.frame.planted.append(plant_planned(scope, planned))
    scope.keep_outputs = False


def _first_parameters(scope: Scope, plan: FunctionPlan) -> None:
    """Add what a function has from the start; more parameters come as steps ask for them."""
    whole = not (plan.private and scope.forbids(Feature.UNUSED_PARAMETERS))  # what takes a field may not come
    if plan.tuple_only or (whole and scope.has(Feature.TUPLES) and scope.index(4) == 3):
        value = scope.see(shapes.tuple_parameter(scope, 1 + scope.index(3)))
        scope.item(value, 0)
        scope.closed = plan.tuple_only
        if plan.tuple_only:
            return
    scope.renew()
    for feature, make in _PARAMETERS:
        if scope.index(3) == 2 and scope.has(feature):
            make(scope)
    scope.renew()
    dtype = scope.pick_dtype(None)
    dims = scope.draw_shape()
    scope.parameter(scope.frame.tensor_type(dims, dtype), default_bounds(dtype))
    scope.renew()
    if scope.has(Feature.UNUSED_PARAMETERS) and scope.index(2):
        unused.parameter(scope)
    if plan.weighted:
        weights.weight(scope)


_PARAMETERS = (
    (Feature.SHAPE_PARAMS, shapes.shape_parameter),
    (Feature.PRIM_PARAMS, shapes.prim_parameter),
    (Feature.UNKNOWN_SHAPES, shapes.unknown_parameter),
)


def _demanded(scope: Scope, body: FunctionBody, plan: FunctionPlan) -> list[Value]:
    """Do what makes the demanded features occur; gives what must be part of the result."""
    wanted: list[Value] = []
    for feature in plan.demand:
        make = actions.ENSURED.get(feature)
        if make is None:
            continue
        if feature in actions.OUTSIDE_DATAFLOW:
            body.leave_dataflow()
        elif feature in actions.INSIDE_DATAFLOW:
            body.enter_dataflow()
        scope.renew()
        try:
            made = make(scope)
        except Infeasible:  # the other demands and what is forbidden leave no room
            continue
        if made is not None:
            wanted.append(made)
    if Feature.ORDINARY_BLOCKS in plan.demand:
        body.leave_dataflow()
        value = scope.tensor()
        wanted.append(scope.emit(relax.op.permute_dims(value.expr, list(range(value.rank))), value.bounds))
    if Feature.SEVERAL_BLOCKS in plan.demand:
        wanted.append(body.twice())
    return wanted


def finish(
    scope: Scope, body: FunctionBody, plan: FunctionPlan, result: Value, returns: CalleeSignature | None = None
) -> CalleeSignature:
    """Close a function whose blocks are closed: add it to the module and give what callers must know."""
    frame, builder = scope.frame, scope.builder
    builder.end_scope()
    blocks = body.sequence(result.expr)
    if not scope.has(Feature.UNUSED_PARAMETERS) and not plan.tuple_only:
        unused.without_parameters(frame, blocks)
    heavy = {id(value) for value in frame.weights}
    inputs = [value for value in frame.parameters if id(value) not in heavy]
    parameters = (*inputs, *frame.weights)
    builder.begin_scope([value.expr for value in parameters])
    sequence = builder.normalize(blocks)
    if scope.has(Feature.SEVERAL_BLOCKS) and (Feature.SEVERAL_BLOCKS in plan.demand or scope.index(4) == 3):
        sequence = apart(sequence, blocks)  # seldom: every pass joins them, and so changes the module
    if frame.split_blocks:
        sequence = split(sequence)
    if not scope.forbids(Feature.ORDINARY_BLOCKS):
        sequence = cut(sequence, scope.module.aimed, scope.index)
    builder.end_scope()
    attrs = _attributes(scope, plan, len(inputs))
    impure = frame.impure and "relax.force_pure" not in attrs
    function = relax.Function([value.expr for value in parameters], sequence, is_pure=not impure)
    function = with_attrs(function, attrs)
    var = builder.add_func(function, plan.name)
    template = results.bounds_like(function.ret_ty, result)
    return CalleeSignature(
        var,
        parameters,
        template,
        frame.symbols,
        frame.casts,
        frame.depth,
        plan.private,
        typed=frame.device is not None,
        impure=impure,
        group=frozenset({var.name_hint}),
        returns=returns,
    )


_OF_SYMBOLS = frozenset({Feature.UPPER_BOUNDS, Feature.FUNCTION_ATTRS})
"""Features that may name symbolic dims in attributes."""


def _defined(scope: Scope) -> list[Any]:
    """Return the symbolic dims that the parameters define which are left."""
    frame = scope.frame
    left = {dim for value in frame.parameters for dim in relax.analysis.definable_tir_vars_in_type(value.ty)}
    return [symbol for symbol in frame.symbol_list if symbol in left]


def _attributes(scope: Scope, plan: FunctionPlan, inputs: int) -> dict[str, Any]:
    attrs: dict[str, Any] = {}
    if not plan.private:
        attrs["global_symbol"] = plan.name
    if plan.weighted:
        attrs["num_input"] = inputs
    symbols = _defined(scope) if scope.features & _OF_SYMBOLS else []
    bounded = scope.has(Feature.UPPER_BOUNDS) and not plan.private
    if symbols and bounded and (Feature.UPPER_BOUNDS in plan.demand or scope.index(2)):
        attrs["tir_var_upper_bound"] = {var.name: 4 + 4 * scope.index(2) for var in symbols}
    if scope.frame.impure and scope.index(4) == 3:
        attrs["relax.force_pure"] = True
    if attributes.wants_function_attributes(scope, Feature.FUNCTION_ATTRS in plan.demand):
        attrs |= attributes.function_attributes(scope, symbols)
    return attrs | scope.frame.attrs
