"""BindParams and ToMixedPrecision with named inputs: parameters go away or change their dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import tvm

from oracles.abi.frame import Frame, Runner


@dataclass(frozen=True, slots=True)
class BindParams:
    """``f(a, b, c)`` becomes ``f(a, c)``; the value of ``b`` is a constant now.

    Attributes:
        function: Symbol of the function.
        positions: Positions of the bound parameters.
    """

    function: str
    positions: frozenset[int]

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Leave out the bound arguments."""
        if frame.function != self.function:
            return frame
        kept = tuple(value for index, value in enumerate(frame.arguments) if index not in self.positions)
        return replace(frame, arguments=kept)


@dataclass(frozen=True, slots=True)
class CastParams:
    """Tensor parameters take another dtype.

    Attributes:
        dtypes: Dtype of each parameter that is a tensor, by function symbol; ``None`` for any other parameter.
    """

    dtypes: Mapping[str, tuple[str | None, ...]]

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Cast the arguments."""
        dtypes = self.dtypes.get(frame.function, ())
        if len(dtypes) != len(frame.arguments):
            return frame
        cast = tuple(_cast(value, dtype) for value, dtype in zip(frame.arguments, dtypes, strict=True))
        return replace(frame, arguments=cast)


def _cast(value: Any, dtype: str | None) -> Any:
    if dtype is None or not isinstance(value, tvm.runtime.Tensor) or str(value.dtype) == dtype:
        return value
    return tvm.runtime.tensor(value.numpy().astype(dtype), device=tvm.cpu(0))
