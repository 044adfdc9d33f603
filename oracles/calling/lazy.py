"""LazyGetInput and LazySetOutput: weights and outputs go through callbacks that are parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from oracles.calling.frame import Adapter, CallFrame, Runner


def copied(value: Any) -> Any:
    """Return a copy of a tensor, nested too: the program may use its buffers again after a callback."""
    if isinstance(value, tvm.runtime.Tensor):
        return tvm.runtime.tensor(np.array(value.numpy(), copy=True), device=tvm.cpu(0))
    if isinstance(value, tvm_ffi.Array):
        return tvm_ffi.convert([copied(item) for item in value])
    return value


@dataclass(frozen=True, slots=True)
class LazyGetInput(Adapter):
    """``f(inputs, W...)`` becomes ``f(inputs, fget)``, ``fget(index, name)`` gives a weight.

    Without ``num_input`` every parameter counts as a weight.
    """

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Replace the weights by a callback."""
        inputs = 0 if frame.num_input is None else frame.num_input
        weights = frame.arguments[inputs:]

        def fget(index: int, _name: str) -> Any:
            return weights[index]

        return replace(frame, arguments=(*frame.arguments[:inputs], tvm_ffi.convert(fget)), num_input=inputs + 1)


@dataclass(frozen=True, slots=True)
class LazySetOutput(Adapter):
    """``f(inputs, W...)`` becomes ``f(inputs, fset, W...)`` (at the end without ``num_input``) and returns nothing.

    Attributes:
        arity: Number of outputs by function symbol when the function returns a tuple, ``None`` when it does not.
            A function that is not there is a transform function, which returns a tuple of any length.
        nested: Symbols of functions whose first output is a tuple itself.
    """

    arity: dict[str, int | None]
    nested: frozenset[str] = frozenset()

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Insert a callback and make the result from what it receives."""
        received: dict[int, Any] = {}

        def fset(index: int, value: Any) -> None:
            received[index] = copied(value)

        position = len(frame.arguments) if frame.num_input is None else frame.num_input
        arguments = (*frame.arguments[:position], tvm_ffi.convert(fset), *frame.arguments[position:])
        number = None if frame.num_input is None else frame.num_input + 1
        arity = 0 if frame.silent else self.arity.get(frame.function, -1)
        finish = _collecting(frame, received, arity, frame.function in self.nested)
        return replace(frame, arguments=arguments, num_input=number, finish=finish, silent=True)


def collected(received: dict[int, Any], arity: int | None, nested: bool = False) -> Any:
    """Return a function's result, made of the outputs that a callback received, by index.

    Args:
        arity: Length of the tuple that the function used to return; ``None`` for a single value; -1 for a tuple
            whose length is the number of outputs received.
        nested: Whether the first output is a tuple itself.

    Raises:
        RuntimeError: An output was never set, a defect of the program.
    """
    first = received.get(0)
    # The pass looks at the form of the body: a tuple bound to a variable arrives whole, as output 0. Where one output
    # is all there is to receive, a tuple may also be that output.
    ambiguous = nested and arity in (-1, 1)
    whole = isinstance(first, tvm_ffi.Array) and len(received) == 1 and not ambiguous
    if whole and arity in (-1, len(list(first or ()))):
        return first
    length = 1 if arity is None else len(received) if arity < 0 else arity
    if missing := [index for index in range(length) if index not in received]:
        raise RuntimeError(f"output {missing[0]} was never set")
    return first if arity is None else tvm_ffi.convert([received[index] for index in range(length)])


def _collecting(
    frame: CallFrame, received: dict[int, Any], arity: int | None, nested: bool = False
) -> Callable[[Any], Any]:
    return lambda _: frame.finish(collected(received, arity, nested))


# LazyTransformParams: transform functions fetch weights and hand over results through global functions.

SUFFIX = "transform_params"
_FIRST_TOKEN = 3


class _Mailbox:
    """The call in progress: a program binds global functions when it is loaded, long before the call is known."""

    def __init__(self) -> None:
        self.weights: list[Any] = []
        self.received: dict[int, Any] = {}
        self.extra_get: tuple[int, ...] = ()
        self.extra_set: tuple[int, ...] = ()

    def get(self, *arguments: Any) -> Any:
        *extra, index = arguments
        _check(extra, self.extra_get)
        return self.weights[int(index)]

    def put(self, *arguments: Any) -> None:
        *extra, index, value = arguments
        _check(extra, self.extra_set)
        self.received[int(index)] = copied(value)


def _check(extra: list[Any], expected: tuple[int, ...]) -> None:
    """Raise ``RuntimeError`` unless a callback got the arguments that the caller meant for it."""
    if [int(value[0] if isinstance(value, tvm.runtime.ShapeTuple) else value) for value in extra] != list(expected):
        raise RuntimeError("a callback gets other extra arguments than the caller passed")


_mailbox = _Mailbox()


@dataclass(frozen=True, slots=True)
class LazyTransformParams(Adapter):
    """``transform_params((W...)) -> (V...)`` becomes ``transform_params() -> ()``.

    Attributes:
        get_item: Name of the global function ``get_item(index)``.
        set_item: Name of the global function ``set_item(index, value)``; ``None`` when outputs are returned.
        extra_get: For each further parameter that is handed to ``get_item`` in front of the index, whether it is a
            shape; else it is an integer.
        extra_set: The same for ``set_item``.
    """

    get_item: str = "get_item"
    set_item: str | None = "set_item"
    extra_get: tuple[bool, ...] = ()
    extra_set: tuple[bool, ...] = ()

    def prepare(self) -> None:
        """Register the two global functions."""
        tvm_ffi.register_global_func(self.get_item, _mailbox.get, override=True)
        if self.set_item is not None:
            tvm_ffi.register_global_func(self.set_item, _mailbox.put, override=True)

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Take the weights from the arguments of a transform function."""
        if not frame.function.endswith(SUFFIX):
            return frame
        inputs = () if frame.num_input is None else frame.inputs  # without the attribute all are weights
        items = frame.arguments[len(inputs) :]
        if len(items) == 1 and isinstance(items[0], tvm_ffi.Array):
            items = tuple(items[0])
        _mailbox.weights = list(items)
        numbers = tuple(_FIRST_TOKEN + index for index in range(len(self.extra_get) + len(self.extra_set)))
        _mailbox.extra_get, _mailbox.extra_set = numbers[: len(self.extra_get)], numbers[len(self.extra_get) :]
        shapes = (*self.extra_get, *self.extra_set)
        tokens = [tvm.runtime.ShapeTuple([n]) if shape else n for n, shape in zip(numbers, shapes, strict=True)]
        # Symbolic dims that the weights defined stay parameters ("symbolic_var_holder").
        held = [item for item in items if isinstance(item, (int, tvm.runtime.ShapeTuple))]
        received: dict[int, Any] = {}
        _mailbox.received = received
        finish: Callable[[Any], Any] = frame.finish
        if self.set_item is not None:
            finish = _collecting(frame, received, 0 if frame.silent else -1)
        silent = self.set_item is not None
        # The attribute ``num_input`` stays, so that what there is now is bundled and bound as the weights were.
        return replace(frame, arguments=(*inputs, *tokens, *held), finish=finish, silent=frame.silent or silent)


def token_of(ty: tvm.ir.Type) -> bool:
    """Say whether a further parameter of this type is a shape; raises ``TypeError`` when it is no integer either."""
    if isinstance(ty, relax.ShapeType):
        return True
    if isinstance(ty, tvm.ir.PrimType) and "int" in str(ty.dtype):
        return False
    raise TypeError(f"no argument of type {ty} is at hand")
