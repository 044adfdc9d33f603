"""LazyTransformParams: transform functions fetch weights and hand over results through global functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from oracles.abi.frame import Frame, Runner
from oracles.abi.lazy import Collect, copied

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
    if [_number(value) for value in extra] != list(expected):
        raise RuntimeError("a callback gets other extra arguments than the caller passed")


def _number(value: Any) -> int:
    """The number of a token."""
    return int(value[0]) if isinstance(value, tvm.runtime.ShapeTuple) else int(value)


_mailbox = _Mailbox()


@dataclass(frozen=True, slots=True)
class LazyTransformParams:
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
        _register(self.get_item, _mailbox.get)
        if self.set_item is not None:
            _register(self.set_item, _mailbox.put)

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
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
            finish = Collect(received, 0 if frame.silent else -1, frame.finish)
        silent = self.set_item is not None
        # The attribute ``num_input`` stays, so that what there is now is bundled and bound as the weights were.
        return replace(frame, arguments=(*inputs, *tokens, *held), finish=finish, silent=frame.silent or silent)


def token_of(ty: Any) -> bool:
    """Whether a further parameter of this type is a shape; raises ``TypeError`` when it is no integer either."""
    if isinstance(ty, relax.ShapeType):
        return True
    if isinstance(ty, tvm.ir.PrimType) and "int" in str(ty.dtype):
        return False
    raise TypeError(f"no argument of type {ty} is at hand")


def _register(name: str, function: Callable[..., Any]) -> None:
    tvm_ffi.register_global_func(name, function, override=True)
