"""BindParams, UpdateParamType and ToMixedPrecision with named inputs: parameters go away or change their dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

import tvm
import tvm_ffi
from tvm import relax

from oracles.calling.frame import Adapter, CallFrame, Runner, as_it_is


@dataclass(frozen=True, slots=True)
class BindParams(Adapter):
    """``f(a, b, c)`` becomes ``f(a, c)``; the value of ``b`` is a constant now."""

    function: str
    positions: frozenset[int]

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Leave out the bound arguments."""
        if frame.function != self.function:
            return frame
        kept = tuple(value for index, value in enumerate(frame.arguments) if index not in self.positions)
        return replace(frame, arguments=kept)


Dtypes = Union[str, None, tuple["Dtypes", ...]]  # noqa: UP007  ("|" takes no forward reference in Python 3.10)
"""Dtype of a tensor, ``None`` of anything else, nested for tuples."""


@dataclass(frozen=True, slots=True)
class CastParams(Adapter):
    """Tensors among the parameters take another dtype, and those of the result with them.

    Attributes:
        dtypes: Dtypes of the parameters after the pass, by function symbol.
        results: Dtypes of what a function returned before it: what the original's results are compared as.
    """

    dtypes: Mapping[str, tuple[Dtypes, ...]]
    results: Mapping[str, Dtypes]

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Cast the arguments, and the result back."""
        dtypes = self.dtypes.get(frame.function, ())
        if len(dtypes) != len(frame.arguments):
            return frame
        arguments = tuple(cast(value, dtype) for value, dtype in zip(frame.arguments, dtypes, strict=True))
        before = self.results.get(frame.function)
        return replace(frame, arguments=arguments, finish=lambda result: frame.finish(cast(result, before)))


def cast(value: Any, dtypes: Dtypes) -> Any:
    """Return a tensor of TVM's, or a tree of them, in other dtypes; what is no tensor stays."""
    if isinstance(dtypes, tuple) and isinstance(value, (tvm_ffi.Array, tuple, list)) and len(value) == len(dtypes):
        return tvm_ffi.convert([cast(item, dtype) for item, dtype in zip(value, dtypes, strict=True)])
    if not isinstance(dtypes, str) or not isinstance(value, tvm.runtime.Tensor) or str(value.dtype) == dtypes:
        return value
    return tvm.runtime.tensor(value.numpy().astype(dtypes), device=tvm.cpu(0))


def dtypes_of(ty: tvm.ir.Type) -> Dtypes:
    """Dtypes in a type; ``None`` for what is no tensor and where the dtype is not known."""
    if isinstance(ty, relax.TupleType):
        return tuple(dtypes_of(field) for field in ty.fields)
    known = isinstance(ty, relax.TensorType) and ty.dtype is not None and str(ty.dtype) not in ("", "void")
    return str(ty.dtype) if known else None


# LiftTransformParams: weights are transformed ahead, by a function of its own.

SHARED_NAME = "transform_params"


@dataclass(frozen=True, slots=True)
class LiftTransformParams(Adapter):
    """``f(inputs, W...)`` becomes ``f(inputs, *f_transform_params((W...)))``.

    Attributes:
        shared: ``False``: one transform per function; ``True``: one ``transform_params`` for all functions with
            ``num_input``; a sequence of names: for those only.
    """

    shared: bool | Sequence[str] = False

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Run the transform on the weights and pass what it returns."""
        if frame.num_input is None:
            return frame
        if not isinstance(self.shared, bool) and frame.function not in self.shared:
            return frame
        name = SHARED_NAME if self.shared else f"{frame.function}_transform_params"
        if not runner.has(name):
            return frame
        lifted = runner.call_later(CallFrame(name, (tvm_ffi.convert(list(frame.weights)),), 0, as_it_is))
        return frame.with_weights(tuple(lifted))


# BundleModelParams: all weights arrive as one tuple.


@dataclass(frozen=True, slots=True)
class BundleModelParams(Adapter):
    """``f(inputs, W...)`` becomes ``f(inputs, (W...))``; functions without ``num_input`` stay."""

    def adapt(self, frame: CallFrame, runner: Runner) -> CallFrame:
        """Bundle the weights."""
        if frame.num_input is None:
            return frame
        return frame.with_weights((tvm_ffi.convert(list(frame.weights)),))
