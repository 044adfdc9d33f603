"""The adapters of a pipeline, and a call through all of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax

from oracles.abi.bundle import BundleModelParams
from oracles.abi.frame import Adapter, Frame
from oracles.abi.lazy import LazyGetInput, LazySetOutput
from oracles.abi.lazy_transform import LazyTransformParams
from oracles.abi.lift import LiftTransformParams
from oracles.contract import Abi
from oracles.execution import Program, Value, from_tvm, to_tvm


class NoAdapter(Exception):
    """No adapter knows how to call what this pipeline yields.

    Attributes:
        reason: Short phrase under which the skip is counted.
    """

    def __init__(self, reason: str = "no adapter for this pipeline") -> None:
        super().__init__(reason)
        self.reason = reason


def adapters_of(conventions: Sequence[tuple[Abi, str]], module: Any) -> tuple[Adapter, ...]:
    """Adapters of a pipeline, in order.

    Args:
        conventions: For each pass, its effect on the calling convention and the expression that builds it.
        module: The module before the pipeline.

    Raises:
        NoAdapter: A pass changes the convention in a way that no adapter knows.
    """
    adapters: list[Adapter] = []
    for abi, expression in conventions:
        if abi in (Abi.SAME, Abi.ADDS_FUNCTIONS):
            continue
        make = _MAKERS.get(abi)
        if make is None:
            raise NoAdapter()
        adapters.append(make(keywords_of(expression), module))
    return tuple(adapters)


def prepare(adapters: Sequence[Adapter]) -> None:
    """Make known what programs need when they are loaded; call it before the program is built."""
    for adapter in adapters:
        adapter.prepare()


def call(
    program: Program, adapters: Sequence[Adapter], function: str, num_input: int | None, arguments: Sequence[Any]
) -> Value:
    """Call a function of a transformed program with the original's arguments.

    Args:
        program: The transformed module.
        adapters: Those of its pipeline.
        function: Global symbol of the original's function.
        num_input: The original function's attribute, if it has it.
        arguments: The original's arguments: plain values or TVM objects.

    Returns:
        What the original would return.

    Raises:
        NoAdapter: The function of the program takes another number of arguments than the adapters make.
        Exception: Whatever the program raises.
    """
    frame = Frame(function, tuple(to_tvm(argument) for argument in arguments), num_input, _same)
    return from_tvm(_Runner(program, tuple(adapters)).call_later(frame))


def _same(result: Any) -> Any:
    return result


@dataclass(frozen=True, slots=True)
class _Runner:
    program: Program
    adapters: tuple[Adapter, ...]

    def has(self, function: str) -> bool:
        return self.program.has(function)

    def call_later(self, frame: Frame) -> Any:
        for index, adapter in enumerate(self.adapters):
            frame = adapter.adapt(frame, _Runner(self.program, self.adapters[index + 1 :]))
        if self.adapters and self.program.arity(frame.function) != len(frame.arguments):
            raise NoAdapter()
        return frame.finish(self.program.call_raw(frame.function, frame.arguments))


def keywords_of(expression: str) -> dict[str, Any]:
    """Literal keyword arguments of the call that builds a pass; positional ones under ``"0"``, ``"1"``, ..."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return {}
    found: dict[str, Any] = {}
    if isinstance(tree, ast.Call):
        named: list[tuple[str, ast.expr]] = [(str(index), value) for index, value in enumerate(tree.args)]
        named += [(keyword.arg, keyword.value) for keyword in tree.keywords if keyword.arg is not None]
        for name, value in named:
            try:
                found[name] = ast.literal_eval(value)
            except ValueError as error:
                raise NoAdapter("no adapter for these arguments of the pass") from error
    return found


def _lift(keywords: dict[str, Any], _module: Any) -> Adapter:
    return LiftTransformParams(keywords.get("shared_transform", keywords.get("0", False)))


def _bundle(_keywords: dict[str, Any], _module: Any) -> Adapter:
    return BundleModelParams()


def _lazy_get(_keywords: dict[str, Any], _module: Any) -> Adapter:
    return LazyGetInput()


def _lazy_set(_keywords: dict[str, Any], module: Any) -> Adapter:
    functions = public_functions(module)
    outputs = {name: output_types(function) for name, function in functions.items()}
    nested = [name for name, types in outputs.items() if types and isinstance(types[0], relax.TupleType)]
    arity = {name: None if types is None else len(types) for name, types in outputs.items()}
    return LazySetOutput(arity, frozenset(nested))


def _lazy_transform(keywords: dict[str, Any], _module: Any) -> Adapter:
    if keywords.get("extra_get_item_params") or keywords.get("extra_set_item_params"):
        raise NoAdapter("no adapter for these arguments of the pass")
    get_item = keywords.get("fget_item", keywords.get("0", "get_item"))
    return LazyTransformParams(get_item, keywords.get("fset_item", keywords.get("1", "set_item")))


_MAKERS: dict[Abi, Callable[[dict[str, Any], Any], Adapter]] = {
    Abi.LIFT_TRANSFORM_PARAMS: _lift,
    Abi.BUNDLE_MODEL_PARAMS: _bundle,
    Abi.LAZY_GET_INPUT: _lazy_get,
    Abi.LAZY_SET_OUTPUT: _lazy_set,
    Abi.LAZY_TRANSFORM_PARAMS: _lazy_transform,
}


def public_functions(module: Any) -> dict[str, Any]:
    """Relax functions with a ``global_symbol``, by that symbol."""
    found = {}
    for function in module.functions.values():
        if isinstance(function, relax.Function) and function.attrs is not None and "global_symbol" in function.attrs:
            found[str(function.attrs["global_symbol"])] = function
    return found


def output_types(function: Any) -> list[Any] | None:
    """Types of the fields of the tuple that a function returns, or ``None`` when it returns no tuple."""
    ty = function.body.ty if isinstance(function.body.ty, relax.TupleType) else function.ret_ty
    return list(ty.fields) if isinstance(ty, relax.TupleType) else None


def num_input_of(function: Any) -> int | None:
    """The attribute ``num_input``, or ``None``."""
    if function.attrs is None or "num_input" not in function.attrs:
        return None
    return int(function.attrs["num_input"])
