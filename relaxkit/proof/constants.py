"""Operators on constants, computed by the reference interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.interpreter import Interpreter, Precision
from relaxkit.interpreter.registry import is_float
from relaxkit.ir.types import dims_of
from relaxkit.ir.walk import nodes
from relaxkit.proof.terms import Term
from relaxkit.proof.values import TupleValue, Value

FOLDED = "an operator on constants is what the documentation says it computes of them"
MOST_ELEMENTS = 1 << 16
"""Elements of a constant; more are not computed."""
MOST_ROUNDINGS = 16
"""Units in the last place by which another order of rounding may change a number."""

_ADDING = re.compile(
    r"relax\.((nn|image|vision|grad)\..*|collapse_sum_.*|cum.*|einsum|index_put|matmul|mean|prod|scatter_.*|std|sum"
    r"|variance)"
)
"""Operators that may round between their operands and their result, in an order that is not documented: the sum of
exact terms that is exact by one order may be rounded by another, or in the dtype of the terms."""

_REFUSING = re.compile(r"relax\.(argsort|sort|topk)")
"""Operators whose kernels refuse dtypes that type inference accepts: src/runtime/extra/contrib/sort/sort.cc."""


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of a call: an array or a tuple of such, and whether no float was rounded on the way."""

    result: Any
    exact: bool

    def value(self, of_array: Callable[[np.ndarray[Any, Any]], Term]) -> Value:
        """Return the result as a value of constants."""
        return _value(self.result, of_array)


def computed(call: relax.Call) -> Computed | None:
    """Compute a call of an operator on constants; ``None`` where the interpreter cannot, or its result is not one."""
    (constants,) = nodes(call, tvm.ir.GenericConst)
    try:
        large = any(each.value.numpy().size > MOST_ELEMENTS for each in constants)
        if large or _REFUSING.fullmatch(str(call.op.name)):
            return None
        builder = relax.BlockBuilder()
        with builder.function("main", []):
            builder.emit_func_output(builder.emit(call))
        module = builder.get()
        ty = module["main"].ret_ty
        declared, wide = (Interpreter(module, each).call("main", []) for each in Precision)
        if not _typed(declared, ty):
            return None
        exact = not _ADDING.fullmatch(str(call.op.name)) or not _has_floats(declared)
        return Computed(declared, exact and _unrounded(declared, wide, [each.value.numpy() for each in constants]))
    except Exception:  # what TVM does not type, and what the interpreter does not know or finds undefined
        return None


def near(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Say whether two arrays of one dtype and shape are the same numbers but for a few roundings of each."""
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype.name not in ("float32", "float64"):
        return False  # a few roundings of narrow floats may be anything
    return bool(np.allclose(one, other, rtol=MOST_ROUNDINGS * float(np.finfo(one.dtype).eps), atol=0, equal_nan=True))


def _typed(result: Any, ty: Any) -> bool:
    """Say whether a result is arrays of the dtypes and dims that TVM infers for it."""
    if isinstance(ty, relax.TupleType) and isinstance(result, tuple):
        return all(map(_typed, result, ty.fields)) and len(result) == len(ty.fields)
    if not isinstance(ty, relax.TensorType) or not isinstance(result, np.ndarray) or result.dtype.name != str(ty.dtype):
        return False
    dims = dims_of(ty)  # none where they depend on data
    return result.ndim == ty.ndim if dims is None else list(result.shape) == list(map(int, dims))


def _has_floats(result: Any) -> bool:
    return any(map(_has_floats, result)) if isinstance(result, tuple) else is_float(result.dtype.name)


def _unrounded(declared: Any, wide: Any, constants: list[Any]) -> bool:
    """Say whether results in the declared dtypes are those of float64, or numbers that operands have."""
    if isinstance(declared, tuple):
        return all(_unrounded(*each, constants) for each in zip(declared, wide, strict=True))
    if not is_float(declared.dtype.name):
        return bool(np.array_equal(declared, wide))
    if declared.dtype != np.float64:
        return bool(np.array_equal(declared.astype("float64"), wide.astype("float64"), equal_nan=True))
    return bool(np.isin(declared, np.concatenate([each.astype("float64").ravel() for each in constants])).all())


def _value(result: Any, of_array: Callable[[np.ndarray[Any, Any]], Term]) -> Value:
    if isinstance(result, tuple):
        return TupleValue(tuple(_value(each, of_array) for each in result))
    return of_array(np.ascontiguousarray(result).reshape(result.shape))
