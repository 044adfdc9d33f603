"""Types at run time: symbolic dims take their values from arguments, and ``match_cast`` checks what it claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx

from relaxkit.interpreter.registry import Precision, Raised, Undefined, Unsupported, numpy_dtype
from relaxkit.ir.dims import Number, UndefinedScalar, UnknownScalar, evaluate
from relaxkit.ir.types import dims_of
from relaxkit.runtime.values import ShapeValue


class Activation:
    """A running function: values of its variables, of which scalars may occur in dims, and of its symbolic dims.

    Args:
        outer: The function around it, whose dims it sees.
    """

    __slots__ = ("_bound", "values")

    def __init__(self, values: dict[Any, Any], outer: Activation | None = None) -> None:
        self.values = values
        self._bound: dict[Any, int] = {} if outer is None else dict(outer._bound)

    def value(self, expression: relax.Expr) -> int:
        """Return the value of an integer expression; raises ``Unsupported`` where it has none."""
        if type(expression) is tirx.IntImm:  # what most dims are
            return int(expression.value)
        return int(self.number(expression))

    def number(self, expression: relax.Expr) -> Number:
        """Return the value of a scalar expression; raises ``Unsupported`` where it has none."""
        try:
            return evaluate(expression, self._lookup)
        except UnknownScalar as error:
            raise Unsupported(str(error)) from error
        except UndefinedScalar as error:
            raise Undefined(str(error)) from error

    def _lookup(self, variable: Any) -> Number:
        bound = self._bound.get(variable)
        if bound is not None:
            return bound
        value = self.values.get(variable)
        if isinstance(value, (bool, int, float)):
            return value
        raise Unsupported("symbolic dim without a value")

    def match(self, pairs: Sequence[tuple[Any, Any]], precision: Precision) -> None:
        """Check values against types; dims that have no value yet take it from the values, wherever they stand.

        Raises:
            Raised: A value does not fit, as the virtual machine says.
        """
        spelled = [each for ty, value in pairs for each in self._spelled(ty, value, precision)]
        for dim, size in spelled:
            if isinstance(dim, tirx.Var) and dim not in self._bound and dim not in self.values:
                self._bound[dim] = int(size)
        for dim, size in spelled:
            if (dim if type(dim) is int else self.value(dim)) != size:
                raise Raised("dim of another size")

    def _spelled(self, ty: relax.Type, value: Any, precision: Precision) -> list[tuple[Any, int]]:
        """Return the dims that a type spells out, each with what the value has there; checks all else of the value."""
        if isinstance(ty, relax.TensorType):
            if not isinstance(value, np.ndarray):
                raise Raised("value is no tensor")
            if ty.ndim >= 0 and ty.ndim != value.ndim:
                raise Raised("value of another rank")
            named = ty.dtype is not None and str(ty.dtype) not in ("", "void")
            if named and numpy_dtype(str(ty.dtype), precision) != value.dtype:
                raise Raised("value of another dtype")
            return list(zip(dims_of(ty) or (), value.shape, strict=False))
        if isinstance(ty, relax.ShapeType):
            if not isinstance(value, ShapeValue):
                raise Raised("value is no shape")
            if ty.ndim >= 0 and ty.ndim != len(value.dims):
                raise Raised("shape of another rank")
            return list(zip(dims_of(ty) or (), value.dims, strict=False))
        if isinstance(ty, relax.TupleType):
            if not isinstance(value, tuple) or len(value) != len(ty.fields):
                raise Raised("value is no such tuple")
            parts = zip(ty.fields, value, strict=True)
            return [each for field, part in parts for each in self._spelled(field, part, precision)]
        if isinstance(getattr(ty, "value", None), tirx.Var) and isinstance(value, (bool, int)):
            self._bound.setdefault(ty.value, int(value))  # a scalar of TVM 0.25, which is not its own variable
        return []
