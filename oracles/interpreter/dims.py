"""Types at run time: symbolic dims take their values from arguments, and ``match_cast`` checks what it claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from oracles.dims import DimEnvironment, UnknownDim
from oracles.execution.values import ShapeValue
from oracles.interpreter.errors import Raised, Unsupported
from oracles.interpreter.precision import Precision, numpy_dtype


class Dims:
    """Values of the symbolic dims of one running function."""

    def __init__(self) -> None:
        self._environment = DimEnvironment(_unbound)
        self._bound: dict[Any, int] = {}

    def inner(self) -> Dims:
        """Those of a function inside of this one, which knows them all."""
        dims = Dims()
        for variable, value in self._bound.items():
            dims._set(variable, value)
        return dims

    def value(self, expression: Any) -> int:
        """Value of an integer expression; raises ``Unsupported`` where it has none."""
        if isinstance(expression, int):
            return expression
        try:
            return self._environment.value(expression)
        except UnknownDim as error:
            raise Unsupported("symbolic dim without a value") from error

    def match(self, ty: Any, value: Any, precision: Precision) -> None:
        """Check a value against a type; dims that have no value yet take it from the value.

        Raises:
            Raised: The value does not fit, as the virtual machine says.
            Unsupported: The type is one that is not checked here.
        """
        self._collect(ty, value, precision)
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

    def bind_prim(self, variable: Any, value: Any) -> None:
        """Give a scalar parameter its value, so that dims may speak of it."""
        if isinstance(value, (bool, int, np.integer)):
            self._set(variable, int(value))

    def _take(self, dims: Any, have: tuple[int, ...]) -> None:
        for dim, size in zip(dims, have, strict=True):
            if isinstance(dim, tirx.Var) and dim not in self._bound:
                self._set(dim, int(size))

    def _set(self, variable: Any, value: int) -> None:
        self._bound[variable] = value
        self._environment.unify(variable, value)

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
            if isinstance(dim, int):
                wanted = dim
            elif type(dim) is tvm.tirx.IntImm:
                wanted = int(dim.value)
            else:
                wanted = self.value(dim)
            if wanted != size:
                raise Raised("dim of another size")


def _unbound(_name: str) -> int:
    raise UnknownDim("unbound")
