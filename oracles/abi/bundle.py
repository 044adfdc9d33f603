"""BundleModelParams: all weights arrive as one tuple."""

from __future__ import annotations

from dataclasses import dataclass

import tvm_ffi

from oracles.abi.frame import Frame, Runner


@dataclass(frozen=True, slots=True)
class BundleModelParams:
    """``f(inputs, W...)`` becomes ``f(inputs, (W...))``; functions without ``num_input`` stay."""

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Bundle the weights."""
        if frame.num_input is None:
            return frame
        return frame.with_weights((tvm_ffi.convert(list(frame.weights)),))
