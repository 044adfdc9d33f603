"""Means of an operator's implementation: the call, the precision, its errors; and the table of operators."""

from __future__ import annotations

import enum
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np
from tvm import relax

from relaxkit.ir.types import static_dims

Array = np.ndarray[Any, Any]


class Precision(enum.Enum):
    """Representation of floats; integers and booleans always have their declared dtype."""

    DECLARED = "declared"  # as the module says
    FLOAT64 = "float64"  # every float as float64, whatever its declared dtype: nearly exact arithmetic


@functools.cache
def numpy_dtype(dtype: str, precision: Precision = Precision.DECLARED) -> np.dtype[Any]:
    """Return the NumPy dtype that values of a TVM dtype have; raises ``Unsupported`` when there is none."""
    if precision is Precision.FLOAT64 and is_float(dtype):
        return np.dtype("float64")
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise Unsupported("dtype that NumPy does not know") from error


def is_float(dtype: str) -> bool:
    """Say whether a TVM dtype is a float, bfloat16 and float8 included."""
    return "float" in dtype


class Unsupported(Exception):
    """The interpreter does not know this part of the language; the message is a short phrase without names."""


class TooDeep(Unsupported):
    """Calls are too deep inside one another, perhaps without end."""


class Undefined(Exception):
    """The program is not defined on these arguments, so that any result is right; the message says why."""


class Raised(Exception):
    """The program itself ends with an error, as it must; the message says why (``match_cast``, ``assert_op``)."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call with its evaluated arguments.

    A value is a ``numpy.ndarray`` (a tensor; in ``Precision.FLOAT64`` every float tensor is float64), a
    ``ShapeValue``, a ``tuple`` of values, a number (``R.prim_value``), a ``str`` (a string, or the name of a dtype), a
    ``Closure``, or ``None`` (``R.null_value``).  Arrays are never changed in place: others may hold them.

    Attributes:
        call: The ``relax.Call``: attributes, types of the arguments (``call.args[i].ty``) and of the result.
        dim: Value of an integer expression over the symbolic dims of the function.
        values: Values of the variables of the running function, for operators that consume one.
    """

    name: str
    args: Sequence[Any]
    call: Any
    precision: Precision
    dim: Callable[[Any], int]
    machine: Any
    values: Any = None

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute of the call as a TVM value; ``default`` where it is absent or null."""
        attrs = self.call.attrs
        value = None if attrs is None else getattr(attrs, name, None)
        return default if value is None else value

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute; raises ``Unsupported`` where it is absent and has no default."""
        value = self.attr(name)
        if value is None:
            if default is None:
                raise Unsupported(f"{self.name} without {name}")
            return default
        return self.dim(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return an attribute that is a list of integers; ``None`` where it is absent."""
        value = self.attr(name)
        if value is None:
            return None
        if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
            return tuple(self.dim(each) for each in value)
        return (self.dim(value),)

    @property
    def axis(self) -> int | None:
        """Return the attribute ``axis``; ``None`` where it is absent."""
        axis = self.attr("axis")
        return None if axis is None else int(axis)

    @property
    def type(self) -> Any:
        """Return the type of the result."""
        return self.call.ty

    def declared(self, index: int | None = None) -> str:
        """Return the declared dtype of a tensor argument, or of the result (where it is a tensor)."""
        ty = self.call.ty if index is None else self.call.args[index].ty
        if not isinstance(ty, relax.TensorType) or ty.dtype is None:
            raise Unsupported("value of unknown dtype")
        return str(ty.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the NumPy dtype of the result, which must be a tensor."""
        return numpy_dtype(self.declared(), self.precision)

    def cast(self, value: Any) -> np.ndarray[Any, Any]:
        """Return an array of the result's dtype; integers wrap around, floats are rounded to nearest even."""
        return np.asarray(value).astype(self.dtype, copy=False)

    def wide(self, index: int) -> np.ndarray[Any, Any]:
        """Return a float argument in at least float32, for intermediate results that NumPy would round too often."""
        array = np.asarray(self.args[index])
        return array.astype("float32") if array.dtype.itemsize < 4 and is_float(array.dtype.name) else array

    def undefined(self, wrong: Any, why: str) -> None:
        """Raise ``Undefined`` when any of these holds."""
        if np.any(wrong):
            raise Undefined(why)


Implementation = Callable[[Request], Any]

OPERATORS: dict[str, Implementation] = {}
"""Name with the leading ``relax.`` to what computes it; complete once :func:`implementation` was asked."""


UNCOMPARED: set[str] = set()
"""Names of the operators whose type inference does not compare their operands; for others see has_static_shapes."""


def semantics(*names: str, compared: bool = True) -> Callable[[Implementation], Implementation]:
    """Register a function as the meaning of operators.

    Args:
        names: Theirs, without the leading ``relax.``.
        compared: Whether type inference compares the operands; else it is ``Undefined`` where NumPy refuses them.
    """

    def register(function: Implementation) -> Implementation:
        full = {f"relax.{name}" for name in names}
        assert OPERATORS.keys().isdisjoint(full), names
        OPERATORS.update(dict.fromkeys(full, function))
        UNCOMPARED.update(() if compared else full)
        return function

    return register


def meanings(table: Mapping[str, Callable[..., Any]], *, compared: bool = True) -> None:
    """Register operators that are one expression over the call and its arguments, names separated by blanks."""
    for names, compute in table.items():
        semantics(*names.split(), compared=compared)(functools.partial(_spread, compute))


def _spread(compute: Callable[..., Any], request: Request) -> Any:
    return compute(request, *request.args)


@functools.cache
def _load() -> None:
    """Import the files of operators, which register themselves; not before one is asked for, since there are many."""
    from relaxkit.interpreter import operators

    for module in pkgutil.walk_packages(operators.__path__, f"{operators.__name__}."):
        importlib.import_module(module.name)


def implementation(name: str) -> Implementation | None:
    """Return what computes an operator; ``None`` when nothing does."""
    _load()
    return OPERATORS.get(name)


MISMATCH = "operands that do not fit together"


def has_static_shapes(call: relax.Call) -> bool:
    """Say whether all dims of a call's tensors are numbers, so that type inference has seen whether they fit together.

    Where they are not, a pass may give operands that do not (DecomposeOpsForTraining: weights of layer_norm that are
    not unsqueezed), and what kernels then read is not defined; the result may have a negative extent (``zeros`` of
    ``n - 2`` elements where ``n`` is 0).  With numbers for dims, an error of NumPy is one of ours.
    """
    operands = [each.ty for each in call.args if isinstance(each.ty, relax.TensorType)]
    result = [call.ty] if isinstance(getattr(call.ty, "shape", None), relax.ShapeExpr) else []
    return all(static_dims(each) is not None for each in (*operands, *result))
