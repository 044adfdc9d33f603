"""Concrete arguments for a function of a module, drawn from the default input domain (:mod:`relaxkit.ir.domain`).

A tensor of which only the rank is known takes the shape of a ``match_cast`` in the body, else dims as symbolic ones.
What else programs are run on is in :mod:`oracles.measure.input_variations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np
import tvm
from tvm import relax

from oracles.measure.input_variations import MAX_DIM, Variation, generator, hard_values, hardened, varied_dim
from relaxkit.ir.dims import DimEnvironment, UndefinedScalar, UnknownScalar
from relaxkit.ir.domain import BOOLEANS, FLOATS, ORDINARY, Given, domain_of
from relaxkit.ir.functions import attributes
from relaxkit.ir.types import dims_in, dims_of, static_dims

MAX_ELEMENTS = 1 << 22
NOTHING = Given()


class Unmaterializable(Exception):
    """No arguments can be made for this function; the reason is a short phrase without names, to be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def materialize(
    module: tvm.IRModule, function: str, seed: int, given: Given = NOTHING, variation: Variation = Variation.DEFAULT
) -> list[Any]:
    """Draw the arguments of one Relax function, by its name; the same seed always gives the same.

    Returns:
        One entry per parameter: ``numpy.ndarray`` for a tensor, ``tvm.runtime.ShapeTuple`` for a shape, ``int``,
        ``float`` or ``bool`` for ``R.Prim``, ``tuple`` (nested) for a tuple.

    Raises:
        Unmaterializable: A parameter is a closure, an object, or of a dtype that NumPy does not know.
    """
    return _Materializer(function, module[function], seed, given, variation).arguments()


class _Materializer:
    """Draws the arguments of one function; ``dims`` holds the value of every symbolic dim."""

    def __init__(self, name: str, function: relax.Function, seed: int, given: Given, variation: Variation) -> None:
        self.name = name
        self.function = function
        self.seed = seed
        self.variation = variation
        self.given = given.dims
        self.fixed = {
            param: given.values[name, param.name] for param in function.params if (name, param.name) in given.values
        }
        self.random = generator(seed, name, variation)
        self.ordinary = ORDINARY.get(seed, ())
        self.dims = DimEnvironment(self._draw_dim)
        bounds = attributes(function).get("tir_var_upper_bound", {})
        self.bounds = {str(name): int(value) for name, value in bounds.items()}
        self.numbers = {str(param.name) for param in function.params if isinstance(param.ty, tvm.ir.PrimType)}
        self.casts: dict[Any, Any] = {}

    def arguments(self) -> list[Any]:
        params = list(self.function.params)
        for param, array in self.fixed.items():
            for dim, have in zip(dims_of(param.ty) or [], array.shape, strict=False):
                self.dims.unify(dim, have)
        for param in params:
            self._bind(param.ty, param)
        if any(static_dims(param.ty) is None for param in params):  # else no cast has anything to say
            self.casts = self._resolve_casts(params)
        return [self.fixed[param] if param in self.fixed else self._argument(param) for param in params]

    def _argument(self, param: relax.Var) -> Any:
        if self.variation is not Variation.DEFAULT:
            self.random = generator(self.seed, self.name, self.variation, str(param.name))
        return self._value(param.ty, param)

    def _draw_dim(self, name: str) -> int:
        if name in self.given:
            return self.given[name]
        most = max(1, min(MAX_DIM, self.bounds.get(name, MAX_DIM)))
        if self.variation is not Variation.DEFAULT:
            random = generator(self.seed, self.name, self.variation, f"dim {name}")
            return varied_dim(random, self.variation, most, least=int(name in self.numbers))
        return min(2, most) if self.ordinary else int(self.random.integers(1, most + 1))

    def _bind(self, ty: tvm.ir.Type, param: relax.Var = None) -> None:
        """Give every symbolic dim that stands alone a value, in order of appearance."""
        self.dims.bind_all(dims_in(ty))
        integral = isinstance(ty, tvm.ir.PrimType) and domain_of(str(ty.dtype)) not in (None, BOOLEANS, FLOATS)
        if param is not None and integral:
            self.dims.bind(param)

    def _resolve_casts(self, params: list[Any]) -> dict[Any, Any]:
        """Shapes that ``match_cast`` demands of parameters, as type by parameter."""
        aliases = {param: param for param in params}
        casts: dict[Any, Any] = {}
        for binding in bindings_of(self.function.body):
            source = aliases.get(binding.value) if isinstance(binding.value, relax.Var) else None
            if source is None:
                continue
            if not isinstance(binding, relax.MatchCast):
                aliases[binding.var] = source
                continue
            aliases[binding.var] = source
            demanded = dims_of(binding.ty)
            if demanded is None:
                continue
            known = dims_of(casts.get(source, source.ty))
            if known is None:
                casts[source] = binding.ty
                self.dims.bind_all(demanded)
            else:
                for dim, have in zip(demanded, known, strict=False):
                    self.dims.unify(dim, have)
        return casts

    def _value(self, ty: tvm.ir.Type, param: relax.Var = None) -> Any:
        if isinstance(ty, relax.TensorType):
            return self._tensor(ty, param)
        if isinstance(ty, relax.ShapeType):
            return tvm.runtime.ShapeTuple(self._shape(ty, param))
        if isinstance(ty, relax.TupleType):
            return tuple(self._value(field) for field in ty.fields)
        if isinstance(ty, tvm.ir.PrimType):
            return self._prim(str(ty.dtype), param)
        raise Unmaterializable(f"parameter of type {type(ty).__name__}")

    def _tensor(self, ty: tvm.ir.Type, param: relax.Var) -> np.ndarray[Any, Any]:
        dtype = str(ty.dtype) if ty.dtype is not None else ""
        if dtype in ("", "void"):
            raise Unmaterializable("parameter of unknown dtype")
        shape = self._shape(ty, param)
        if int(np.prod(shape, dtype=np.int64)) > MAX_ELEMENTS:
            raise Unmaterializable("parameter too large")
        plain = draw_array(self.random, shape, dtype, self.ordinary)
        return plain if self.variation is Variation.DEFAULT else hardened(self.random, plain, self.variation)

    def _shape(self, ty: tvm.ir.Type, param: relax.Var) -> list[int]:
        values = dims_of(ty)
        if values is None and param is not None and param in self.casts:
            values = dims_of(self.casts[param])
        if values is None:
            if ty.ndim < 0:
                raise Unmaterializable("parameter of unknown rank")
            return [int(self.random.integers(1, MAX_DIM + 1)) for _ in range(ty.ndim)]
        try:
            shape = [self.dims.value(dim) for dim in values]
        except (UnknownScalar, UndefinedScalar) as error:
            raise Unmaterializable("symbolic dim that cannot be evaluated") from error
        if any(dim < 0 for dim in shape):
            raise Unmaterializable("negative dim")
        return shape

    def _prim(self, dtype: str, param: relax.Var) -> Any:
        domain = domain_of(dtype)
        if domain is BOOLEANS:
            return bool(self.random.integers(*domain.multiples))
        if domain is FLOATS:
            values = hard_values(np.dtype("float16"), self.variation)  # wider floats hold them, too
            if values.size:
                return float(values[self.random.integers(0, values.size)])
            return int(self.random.integers(*domain.multiples)) * domain.step
        if domain is not None:
            return self.dims.value(param) if param is not None else int(self.random.integers(1, MAX_DIM + 1))
        raise Unmaterializable("prim parameter of unsupported dtype")


def draw_array(
    random: np.random.Generator, shape: list[int], dtype: str, ordinary: tuple[float, ...] = ()
) -> np.ndarray[Any, Any]:
    """Draw an array of the default domain; raises ``Unmaterializable`` for a dtype NumPy does not know.

    Where there are ``ordinary`` values, those of them that the dtype has are taken in turn.
    """
    domain = domain_of(dtype)
    if domain is None:
        raise Unmaterializable("parameter of unsupported dtype")
    chosen = [value for value in ordinary if domain.lo <= value <= domain.hi and value % domain.step == 0]
    steps = np.resize(chosen, shape) if chosen else random.integers(*domain.multiples, shape) * domain.step
    try:
        return np.asarray(steps).astype(np.dtype(dtype))
    except TypeError as error:
        raise Unmaterializable("parameter of unsupported dtype") from error


def bindings_of(body: relax.Expr) -> Iterator[Any]:
    """All bindings of a function's body in order of evaluation, those in branches included, local functions not."""
    if isinstance(body, relax.SeqExpr):
        for block in body.blocks:
            for binding in block.bindings:
                yield binding
                if isinstance(binding.value, relax.If):
                    yield from bindings_of(binding.value.true_branch)
                    yield from bindings_of(binding.value.false_branch)
