"""The adapters of a pipeline, and a call through all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from oracles.calling.frame import Adapter, CallFrame, as_it_is
from oracles.calling.gradient import adapter_of
from oracles.calling.lazy import LazyGetInput, LazySetOutput, LazyTransformParams, token_of
from oracles.calling.parameters import BindParams, BundleModelParams, CastParams, LiftTransformParams, dtypes_of
from relaxkit.ir.functions import public_functions
from relaxkit.passes.arguments import NotLiteral, arguments_of, binding_of
from relaxkit.passes.contract import Abi
from relaxkit.passes.preconditions import has_transform_params
from relaxkit.runtime import Program, Value, from_tvm, to_tvm


class NoAdapter(Exception):
    """No adapter knows how to call what this pipeline yields; the reason is a short phrase that is counted."""

    def __init__(self, reason: str = "no adapter for this pipeline") -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Convention:
    """The change that one pass makes to calls.

    Attributes:
        abi: Its effect on the calling convention, by its contract.
        expression: The text that builds it.
    """

    name: str
    abi: Abi
    expression: str
    before: Any
    after: Any


def adapters_of(conventions: Sequence[Convention]) -> tuple[Adapter, ...]:
    """Adapters of a pipeline, in order.

    Raises:
        NoAdapter: A pass changes the convention in a way that no adapter knows.
    """
    adapters: list[Adapter] = []
    for convention in conventions:
        make = _BY_ABI.get(convention.abi)
        if make is None:
            if convention.abi in (Abi.SAME, Abi.ADDS_FUNCTIONS):
                continue
            raise NoAdapter()
        try:
            adapter = make(arguments_of(convention.expression), convention)
        except (NotLiteral, TypeError) as error:
            raise NoAdapter("no adapter for these arguments of the pass") from error
        if isinstance(adapter, LiftTransformParams) and has_transform_params(convention.before):
            # The new transform takes what the one that was there takes: only where this was lifted from the same
            # weights is that known.  A second run makes one transform of both.
            if adapters[-1:] != [adapter]:
                raise NoAdapter("no adapter for a transform behind another")
            continue
        if adapter is not None:
            adapters.append(adapter)
    return tuple(adapters)


def prepare(adapters: Sequence[Adapter]) -> None:
    """Make known what programs need when they are loaded; call it before the program is built."""
    for adapter in adapters:
        adapter.prepare()


def call(
    program: Program, adapters: Sequence[Adapter], function: str, num_input: int | None, arguments: Sequence[Any]
) -> Value:
    """Call a function of a transformed program with the original's arguments.

    Raises:
        NoAdapter: The function of the program takes another number of arguments than the adapters make.
        Exception: Whatever the program raises.
    """
    return from_tvm(call_raw(program, adapters, function, num_input, arguments))


def call_raw(
    program: Program, adapters: Sequence[Adapter], function: str, num_input: int | None, arguments: Sequence[Any]
) -> Any:
    """As :func:`call`, with the result as the program gave it, in TVM objects: later calls may overwrite those."""
    frame = CallFrame(function, tuple(to_tvm(argument) for argument in arguments), num_input, as_it_is)
    return _AdaptedProgram(program, tuple(adapters)).call_later(frame)


@dataclass(frozen=True, slots=True)
class _AdaptedProgram:
    program: Program
    adapters: tuple[Adapter, ...]

    def has(self, function: str) -> bool:
        return self.program.has(function)

    def call_later(self, frame: CallFrame) -> Any:
        for index, adapter in enumerate(self.adapters):
            frame = adapter.adapt(frame, _AdaptedProgram(self.program, self.adapters[index + 1 :]))
        if self.adapters and self.program.arity(frame.function) != len(frame.arguments):
            raise NoAdapter()
        return frame.finish(self.program.call_raw(frame.function, frame.arguments))


def _lift(arguments: dict[str, Any], _convention: Convention) -> Adapter:
    return LiftTransformParams(arguments.get("shared_transform", arguments.get("0", False)))


def _lazy_set(_arguments: dict[str, Any], convention: Convention) -> Adapter:
    functions = public_functions(convention.before)
    outputs = {name: output_types(function) for name, function in functions.items()}
    # The pass sends the fields of a tuple that the body builds, one by one, and any other tuple whole.
    built = {name for name, function in functions.items() if isinstance(function.body.body, relax.Tuple)}
    nested = [name for name in built if (types := outputs[name]) and isinstance(types[0], relax.TupleType)]
    arity = {name: None if types is None else len(types) for name, types in outputs.items()}
    return LazySetOutput(arity, frozenset(nested))


def _lazy_transform(arguments: dict[str, Any], _convention: Convention) -> Adapter:
    get_item = arguments.get("fget_item", arguments.get("0", "get_item"))
    set_item = arguments.get("fset_item", arguments.get("1", "set_item"))
    before_index = tuple(token_of(var.ty) for var in arguments.get("extra_get_item_params", arguments.get("2")) or ())
    before_value = tuple(token_of(var.ty) for var in arguments.get("extra_set_item_params", arguments.get("3")) or ())
    return LazyTransformParams(get_item, set_item, before_index, before_value)


def _bind_params(_arguments: dict[str, Any], convention: Convention) -> Adapter:
    name, binding = binding_of(convention.expression)
    function = public_functions(convention.before).get(name)
    params = () if function is None else function.params  # a private function is not called from outside
    return BindParams(name, frozenset(index for index, param in enumerate(params) if param.name in binding))


def _retyped(_arguments: dict[str, Any], convention: Convention) -> Adapter:
    before, after = public_functions(convention.before), public_functions(convention.after)
    for function in after.values():
        first = num_input_of(function)
        weights = [] if first is None else function.params[first:]
        if any(isinstance(param.ty, relax.TensorType) and param.ty.shape is None for param in weights):
            # VMShapeLower, which every execution needs, dies of them (SIGSEGV); the retyping pass is not to blame.
            raise NoAdapter("no execution of weights of unknown shape")
    wanted = {name: tuple(dtypes_of(param.ty) for param in function.params) for name, function in after.items()}
    return CastParams(wanted, {name: dtypes_of(function.body.ty) for name, function in before.items()})


_Maker = Callable[[dict[str, Any], Convention], "Adapter | None"]

_BY_ABI: dict[Abi, _Maker] = {
    Abi.LIFT_TRANSFORM_PARAMS: _lift,
    Abi.BUNDLE_MODEL_PARAMS: lambda _given, _: BundleModelParams(),
    Abi.LAZY_GET_INPUT: lambda _given, _: LazyGetInput(),
    Abi.LAZY_SET_OUTPUT: _lazy_set,
    Abi.LAZY_TRANSFORM_PARAMS: _lazy_transform,
    Abi.BIND_PARAMS: _bind_params,
    Abi.RETYPE_PARAMS: _retyped,
    Abi.GRADIENT: lambda _, how: adapter_of(how.expression, how.before, how.after),
}


def output_types(function: relax.Function) -> list[Any] | None:
    """Types of the fields of the tuple that a function returns, or ``None`` when it returns no tuple."""
    ty = function.body.ty if isinstance(function.body.ty, relax.TupleType) else function.ret_ty
    return list(ty.fields) if isinstance(ty, relax.TupleType) else None


def num_input_of(function: relax.Function) -> int | None:
    """Return the attribute ``num_input``, or ``None``."""
    if function.attrs is None or "num_input" not in function.attrs:
        return None
    return int(function.attrs["num_input"])
