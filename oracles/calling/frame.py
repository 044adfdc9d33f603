"""One pending call of a transformed program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol


def as_it_is(result: Any) -> Any:
    """Return the ``finish`` of a call whose result is the original's."""
    return result


@dataclass(frozen=True, slots=True)
class CallFrame:
    """A call as the adapters so far have made it.

    Attributes:
        arguments: TVM objects, in order.
        num_input: How many leading arguments are inputs at run time (the attribute ``num_input``); the others are
            weights.  ``None`` when the function has no such attribute: then no argument is a weight.
        finish: Makes the original's result of what the call returns.
        silent: Whether the function returns the empty tuple by now, because its outputs go through a callback.
    """

    function: str
    arguments: tuple[Any, ...]
    num_input: int | None
    finish: Callable[[Any], Any]
    silent: bool = False

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Arguments that are inputs at run time."""
        return self.arguments if self.num_input is None else self.arguments[: self.num_input]

    @property
    def weights(self) -> tuple[Any, ...]:
        """Arguments that are known at compile time."""
        return () if self.num_input is None else self.arguments[self.num_input :]

    def with_weights(self, weights: tuple[Any, ...]) -> CallFrame:
        """Return the same call with other weights."""
        return replace(self, arguments=(*self.inputs, *weights))


class Runner(Protocol):
    """The view of the program that is being called which an adapter has."""

    def has(self, function: str) -> bool:
        """Say whether the program has this function."""

    def call_later(self, frame: CallFrame) -> Any:
        """Call another function under the conventions that come after the adapter's own."""


class Adapter:
    """The change of calling convention that one pass makes."""

    __slots__ = ()

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Rewrite a call from the convention before the pass to the one after it; by itself it leaves the call."""
        return frame

    def prepare(self) -> None:
        """Make global functions known that a program needs when it is loaded; most need none."""
