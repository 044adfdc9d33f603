"""BindParams, UpdateParamType and ToMixedPrecision with named inputs: parameters go away or change their dtype."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Union

import tvm
import tvm_ffi
from tvm import relax

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


Dtypes = Union[str, None, tuple["Dtypes", ...]]  # noqa: UP007  ("|" takes no forward reference in Python 3.10)
"""Dtype of a tensor, ``None`` of anything else, nested for tuples."""


@dataclass(frozen=True, slots=True)
class CastParams:
    """Tensors among the parameters take another dtype, and those of the result with them.

    Attributes:
        dtypes: Dtypes of the parameters after the pass, by function symbol.
        results: Dtypes of what a function returned before it: what the original's results are compared as.
    """

    dtypes: Mapping[str, tuple[Dtypes, ...]]
    results: Mapping[str, Dtypes]

    def prepare(self) -> None:
        """Nothing to make known."""

    def adapt(self, frame: Frame, runner: Runner) -> Frame:
        """Cast the arguments, and the result back."""
        dtypes = self.dtypes.get(frame.function, ())
        if len(dtypes) != len(frame.arguments):
            return frame
        arguments = tuple(cast(value, dtype) for value, dtype in zip(frame.arguments, dtypes, strict=True))
        back = CastBack(frame.finish, self.results.get(frame.function))
        return replace(frame, arguments=arguments, finish=back)


@dataclass(frozen=True, slots=True)
class CastBack:
    """Casts a result to the dtypes that it had.

    Attributes:
        finish: What the adapters before do with the result.
        dtypes: Those of the result before the pass.
    """

    finish: Any
    dtypes: Dtypes

    def __call__(self, result: Any) -> Any:
        """The result as it was."""
        return self.finish(cast(result, self.dtypes))


def cast(value: Any, dtypes: Dtypes) -> Any:
    """A tensor of TVM's, or a tree of them, in other dtypes; what is no tensor stays."""
    if isinstance(dtypes, tuple) and isinstance(value, (tvm_ffi.Array, tuple, list)) and len(value) == len(dtypes):
        return tvm_ffi.convert([cast(item, dtype) for item, dtype in zip(value, dtypes, strict=True)])
    if not isinstance(dtypes, str) or not isinstance(value, tvm.runtime.Tensor) or str(value.dtype) == dtypes:
        return value
    return tvm.runtime.tensor(value.numpy().astype(dtypes), device=tvm.cpu(0))


def dtypes_of(ty: Any) -> Dtypes:
    """Dtypes in a type; ``None`` for what is no tensor and where the dtype is not known."""
    if isinstance(ty, relax.TupleType):
        return tuple(dtypes_of(field) for field in ty.fields)
    known = isinstance(ty, relax.TensorType) and ty.dtype is not None and str(ty.dtype) not in ("", "void")
    return str(ty.dtype) if known else None
