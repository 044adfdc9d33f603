"""LazyGetInput and LazySetOutput: weights and outputs go through callbacks that are parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from oracles.abi.frame import Frame, Runner


def copied(value: Any) -> Any:
    """A copy of a tensor, nested too: the program may use its buffers again after a callback."""
    if isinstance(value, tvm.runtime.Tensor):
        return tvm.runtime.tensor(np.array(value.numpy(), copy=True), device=tvm.cpu(0))
    if isinstance(value, tvm_ffi.Array):
        return tvm_ffi.convert([copied(item) for item in value])
    return value


@dataclass(frozen=True, slots=True)
class LazyGetInput:
    """``f(inputs, W...)`` becomes ``f(inputs, fget)``, ``fget(index, name)`` gives a weight.

    Without ``num_input`` every parameter counts as a weight.
    """

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Replace the weights by a callback."""
        inputs = 0 if frame.num_input is None else frame.num_input
        weights = frame.arguments[inputs:]

        def fget(index: int, _name: str) -> Any:
            return weights[index]

        arguments = (*frame.arguments[:inputs], tvm_ffi.convert(fget))
        return replace(frame, arguments=arguments, num_input=inputs + 1)


@dataclass(frozen=True, slots=True)
class LazySetOutput:
    """``f(inputs, W...)`` becomes ``f(inputs, fset, W...)`` (at the end without ``num_input``) and returns nothing.

    Attributes:
        arity: Number of outputs by function symbol when the function returns a tuple, ``None`` when it does not.
            A function that is not there is a transform function, which returns a tuple of any length.
        nested: Symbols of functions whose first output is a tuple itself.
    """

    arity: dict[str, int | None]
    nested: frozenset[str] = frozenset()

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Insert a callback and make the result from what it receives."""
        received: dict[int, Any] = {}

        def fset(index: int, value: Any) -> None:
            received[index] = copied(value)

        position = len(frame.arguments) if frame.num_input is None else frame.num_input
        arguments = (*frame.arguments[:position], tvm_ffi.convert(fset), *frame.arguments[position:])
        number = None if frame.num_input is None else frame.num_input + 1
        arity = 0 if frame.silent else self.arity.get(frame.function, -1)
        collect = Collect(received, arity, frame.finish, frame.function in self.nested)
        return replace(frame, arguments=arguments, num_input=number, finish=collect, silent=True)


@dataclass(frozen=True, slots=True)
class Collect:
    """Makes a function's result from what a callback received.

    Attributes:
        received: Outputs by index.
        arity: Length of the tuple that the function used to return; ``None`` for a single value; -1 for a tuple
            whose length is the number of outputs received.
        finish: What the adapters before do with the result.
        nested: Whether the first output is a tuple itself.
    """

    received: dict[int, Any]
    arity: int | None
    finish: Any
    nested: bool = False

    def __call__(self, _result: Any) -> Any:
        """The result; raises ``RuntimeError`` when an output was never set, a defect of the program."""
        if self.arity is None:
            return self.finish(self._output(0))
        first = self.received.get(0)
        # The pass looks at the form of the body: a tuple bound to a variable arrives whole, as output 0. Where one
        # output is all there is to receive, a tuple may also be that output.
        ambiguous = self.nested and self.arity in (-1, 1)
        whole = isinstance(first, tvm_ffi.Array) and len(self.received) == 1 and not ambiguous
        if whole and self.arity in (-1, len(list(first or ()))):
            return self.finish(first)
        length = len(self.received) if self.arity < 0 else self.arity
        return self.finish(tvm_ffi.convert([self._output(index) for index in range(length)]))

    def _output(self, index: int) -> Any:
        if index not in self.received:
            raise RuntimeError(f"output {index} was never set")
        return self.received[index]
