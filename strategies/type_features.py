"""Features that show in a type."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import PrimType

from strategies.bounds import LOW_PRECISION
from strategies.dims import LARGE
from strategies.features import Feature
from strategies.values import dims_of

TYPE_FEATURES = frozenset(
    {
        Feature.HALF,
        Feature.DOUBLE,
        Feature.INTEGERS,
        Feature.BOOLEANS,
        Feature.UNKNOWN_SHAPES,
        Feature.SYMBOLIC_SHAPES,
        Feature.SHAPE_EXPRESSIONS,
        Feature.EMPTY_TENSORS,
        Feature.NESTED_TUPLES,
        Feature.LOW_PRECISION,
        Feature.LARGE_TENSORS,
    }
)
"""Those that :func:`type_features` can find."""


def type_features(ty: Any) -> frozenset[Feature]:
    """The features that a Relax type shows, through tuples."""
    found: set[Feature] = set()
    _collect(ty, found)
    return frozenset(found)


def _collect(ty: Any, found: set[Feature]) -> None:
    if isinstance(ty, relax.TensorType):
        if ty.dtype is not None and (feature := dtype_feature(str(ty.dtype))) is not None:
            found.add(feature)
        if isinstance(ty.shape, relax.ShapeExpr):
            dims = dims_of(ty.shape)
            _collect_dims(dims, found)
            if any(isinstance(dim, int) and dim > LARGE for dim in dims):
                found.add(Feature.LARGE_TENSORS)
        else:
            found.add(Feature.UNKNOWN_SHAPES)
    elif isinstance(ty, relax.ShapeType) and ty.values is not None:
        _collect_dims([int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in ty.values], found)
    elif isinstance(ty, relax.TupleType):
        for field in ty.fields:
            if isinstance(field, relax.TupleType):
                found.add(Feature.NESTED_TUPLES)
            _collect(field, found)


def _collect_dims(dims: Any, found: set[Feature]) -> None:
    for dim in dims:
        if dim == 0 if isinstance(dim, int) else False:
            found.add(Feature.EMPTY_TENSORS)
        if not isinstance(dim, int):
            found.add(Feature.SYMBOLIC_SHAPES)
            if not isinstance(dim, tirx.Var):
                found.add(Feature.SHAPE_EXPRESSIONS)


def dtype_feature(dtype: str) -> Feature | None:
    """The feature that stands for an element type; ``None`` for float32 and what has none."""
    if dtype == "float16":
        return Feature.HALF
    if dtype == "float64":
        return Feature.DOUBLE
    if dtype in LOW_PRECISION:
        return Feature.LOW_PRECISION
    if dtype == "bool":
        return Feature.BOOLEANS
    return Feature.INTEGERS if "int" in dtype else None


def is_prim_type(ty: Any) -> bool:
    """Whether a type is that of a primitive (not a tensor) value."""
    return isinstance(ty, PrimType)
