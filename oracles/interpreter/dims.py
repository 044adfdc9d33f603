"""Types at run time: symbolic dims take their values from arguments, and ``match_cast`` checks what it claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx

from oracles.execution.values import ShapeValue
from oracles.interpreter.errors import Raised, Unsupported
from oracles.interpreter.precision import Precision, numpy_dtype
from oracles.interpreter.scalars import Number, evaluate


class Dims:
    """Values of the symbolic dims of one running function.

    Args:
        values: Values of its variables, of which scalars may occur in dims too.
        outer: Dims of the function around it.
    """

    __slots__ = ("_bound", "_values")

    def __init__(self, values: Mapping[Any, Any], outer: Dims | None = None) -> None:
        self._values = values
        self._bound: dict[Any, int] = {} if outer is None else dict(outer._bound)

    def value(self, expression: Any) -> int:
        """Value of an integer expression; raises ``Unsupported`` where it has none."""
        if type(expression) is tirx.IntImm:  # what most dims are
            return int(expression.value)
        return int(self.number(expression))

    def number(self, expression: Any) -> Number:
        """Value of a scalar expression; raises ``Unsupported`` where it has none."""
        return evaluate(expression, self._lookup)

    def _lookup(self, variable: Any) -> Number:
        bound = self._bound.get(variable)
        if bound is not None:
            return bound
        value = self._values.get(variable)
        if isinstance(value, (bool, int, float)):
            return value
        raise Unsupported("symbolic dim without a value")

    def match(self, ty: Any, value: Any, precision: Precision) -> None:
        """Check a value against a type; dims that have no value yet take it from the value.

        Raises:
            Raised: The value does not fit, as the virtual machine says.
            Unsupported: The type is one that is not checked here.
        """
        self.match_all(((ty, value),), precision)

    def match_all(self, pairs: Sequence[tuple[Any, Any]], precision: Precision) -> None:
        """As :meth:`match`, of several: a dim may be used before another type gives it its value."""
        for ty, value in pairs:
            self._collect(ty, value, precision)
        for ty, value in pairs:
            self._check(ty, value)

    def _collect(self, ty: Any, value: Any, precision: Precision) -> None:
        if isinstance(ty, relax.TensorType):
            if not isinstance(value, np.ndarray):
                raise Raised("value is no tensor")
            if ty.ndim >= 0 and ty.ndim != value.ndim:
                raise Raised("value of another rank")
            named = ty.dtype is not None and str(ty.dtype) not in ("", "void")
            if named and numpy_dtype(str(ty.dtype), precision) != value.dtype:
                raise Raised("value of another dtype")
            if isinstance(ty.shape, relax.ShapeExpr):
                self._take(ty.shape.values, value.shape)
        elif isinstance(ty, relax.ShapeType):
            if not isinstance(value, ShapeValue):
                raise Raised("value is no shape")
            if ty.values is not None:
                if len(ty.values) != len(value.dims):
                    raise Raised("shape of another rank")
                self._take(ty.values, value.dims)
            elif ty.ndim >= 0 and ty.ndim != len(value.dims):
                raise Raised("shape of another rank")
        elif isinstance(ty, relax.TupleType):
            if not isinstance(value, tuple) or len(value) != len(ty.fields):
                raise Raised("value is no such tuple")
            for field, part in zip(ty.fields, value, strict=True):
                self._collect(field, part, precision)
        elif isinstance(getattr(ty, "value", None), tirx.Var) and isinstance(value, (bool, int)):
            self._take([ty.value], (value,))  # a scalar of TVM 0.25, which is not its own variable

    def _take(self, dims: Any, have: tuple[int, ...]) -> None:
        for dim, size in zip(dims, have, strict=True):
            if isinstance(dim, tirx.Var) and dim not in self._bound and dim not in self._values:
                self._bound[dim] = int(size)

    def _check(self, ty: Any, value: Any) -> None:
        if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
            self._compare(ty.shape.values, value.shape)
        elif isinstance(ty, relax.ShapeType) and ty.values is not None:
            self._compare(ty.values, value.dims)
        elif isinstance(ty, relax.TupleType):
            for field, part in zip(ty.fields, value, strict=True):
                self._check(field, part)

    def _compare(self, dims: Any, have: tuple[int, ...]) -> None:
        for dim, size in zip(dims, have, strict=True):
            if (dim if type(dim) is int else self.value(dim)) != size:
                raise Raised("dim of another size")
