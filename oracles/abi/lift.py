"""LiftTransformParams: weights are transformed ahead, by a function of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm_ffi

from oracles.abi.frame import Frame, Runner, as_it_is

SHARED_NAME = "transform_params"


@dataclass(frozen=True, slots=True)
class LiftTransformParams:
    """``f(inputs, W...)`` becomes ``f(inputs, *f_transform_params((W...)))``.

    Attributes:
        shared: ``False``: one transform per function; ``True``: one ``transform_params`` for all functions with
            ``num_input``; a sequence of names: for those only.
    """

    shared: bool | Sequence[str] = False

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Run the transform on the weights and pass what it returns."""
        if frame.num_input is None:
            return frame
        if not isinstance(self.shared, bool) and frame.function not in self.shared:
            return frame
        name = SHARED_NAME if self.shared else f"{frame.function}_transform_params"
        if not runner.has(name):
            return frame
        lifted = runner.call_later(Frame(name, (tvm_ffi.convert(list(frame.weights)),), 0, as_it_is))
        return frame.with_weights(tuple(lifted))
