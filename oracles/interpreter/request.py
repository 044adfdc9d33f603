"""One call of an operator, as its implementation sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from oracles.interpreter.errors import Undefined, Unsupported
from oracles.interpreter.precision import Precision, is_float, numpy_dtype


@dataclass(frozen=True, slots=True)
class Request:
    """A call with its evaluated arguments.

    A value is a ``numpy.ndarray`` (a tensor; in ``Precision.FLOAT64`` every float tensor is float64), a
    ``ShapeValue``, a ``tuple`` of values, a number (``R.prim_value``), a ``str`` (a string, or the name of a dtype), a
    ``Closure``, or ``None`` (``R.null_value``).  Arrays are never changed in place: others may hold them.

    Attributes:
        name: Name of the operator (``relax.add``).
        args: Values of the arguments.
        call: The ``relax.Call``: attributes, types of the arguments (``call.args[i].ty``) and of the result.
        precision: In which dtype floats are computed.
        dim: Value of an integer expression over the symbolic dims of the function.
        machine: The interpreter, for operators that call functions.
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
        """An attribute of the call as a TVM value; ``default`` where it is absent or null."""
        attrs = self.call.attrs
        value = None if attrs is None else getattr(attrs, name, None)
        return default if value is None else value

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute; raises ``Unsupported`` where it is absent and has no default."""
        value = self.attr(name)
        if value is None:
            if default is None:
                raise Unsupported(f"{self.name} without {name}")
            return default
        return self.dim(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers; ``None`` where it is absent."""
        value = self.attr(name)
        if value is None:
            return None
        if isinstance(value, (list, tuple)) or hasattr(value, "__len__"):
            return tuple(self.dim(each) for each in value)
        return (self.dim(value),)

    @property
    def type(self) -> Any:
        """Type of the result."""
        return self.call.ty

    def declared(self, index: int | None = None) -> str:
        """Declared dtype of a tensor argument, or of the result (where it is a tensor)."""
        ty = self.call.ty if index is None else self.call.args[index].ty
        if not isinstance(ty, relax.TensorType) or ty.dtype is None:
            raise Unsupported("value of unknown dtype")
        return str(ty.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the result, which must be a tensor."""
        return numpy_dtype(self.declared(), self.precision)

    def cast(self, value: Any) -> np.ndarray[Any, Any]:
        """An array of the result's dtype; integers wrap around, floats are rounded to nearest even."""
        return np.asarray(value).astype(self.dtype, copy=False)

    def wide(self, index: int) -> np.ndarray[Any, Any]:
        """A float argument in at least float32, for intermediate results that NumPy would round too often."""
        array = np.asarray(self.args[index])
        return array.astype("float32") if array.dtype.itemsize < 4 and is_float(array.dtype.name) else array

    def undefined(self, wrong: Any, why: str) -> None:
        """Raise ``Undefined`` when any of these holds."""
        if np.any(wrong):
            raise Undefined(why)
