"""LazyTransformParams: transform functions fetch weights and hand over results through global functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tvm_ffi

from oracles.abi.frame import Frame, Runner
from oracles.abi.lazy import Collect, copied

SUFFIX = "transform_params"


class _Mailbox:
    """The call in progress: a program binds global functions when it is loaded, long before the call is known."""

    def __init__(self) -> None:
        self.weights: list[Any] = []
        self.received: dict[int, Any] = {}

    def get(self, *arguments: Any) -> Any:
        return self.weights[int(arguments[-1])]

    def put(self, *arguments: Any) -> None:
        self.received[int(arguments[-2])] = copied(arguments[-1])


_mailbox = _Mailbox()


@dataclass(frozen=True, slots=True)
class LazyTransformParams:
    """``transform_params((W...)) -> (V...)`` becomes ``transform_params() -> ()``.

    Attributes:
        get_item: Name of the global function ``get_item(index)``.
        set_item: Name of the global function ``set_item(index, value)``; ``None`` when outputs are returned.
    """

    get_item: str = "get_item"
    set_item: str | None = "set_item"

    def prepare(self) -> None:
        """Register the two global functions."""
        _register(self.get_item, _mailbox.get)
        if self.set_item is not None:
            _register(self.set_item, _mailbox.put)

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Empty the arguments of a transform function."""
        if not frame.function.endswith(SUFFIX):
            return frame
        items = frame.arguments
        if len(items) == 1 and isinstance(items[0], tvm_ffi.Array):
            items = tuple(items[0])
        _mailbox.weights = list(items)
        received: dict[int, Any] = {}
        _mailbox.received = received
        finish: Callable[[Any], Any] = frame.finish
        if self.set_item is not None:
            finish = Collect(received, 0 if frame.silent else -1, frame.finish)
        silent = self.set_item is not None
        return replace(frame, arguments=(), num_input=None, finish=finish, silent=frame.silent or silent)


def _register(name: str, function: Callable[..., Any]) -> None:
    tvm_ffi.register_global_func(name, function, override=True)
