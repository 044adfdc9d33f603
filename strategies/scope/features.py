"""Features: the switches of a generated module, thrown anew for every case (swarm testing).

A case that may use everything uses everything a little; a case with half of the features off meets far more often the
combinations that make a pass act (Groce et al., "Swarm Testing", ISSTA 2012).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from tvm import relax, tirx
from tvm.ir import PrimType

from relaxkit.ir.functions import closed
from strategies.scope.bounds import LOW_PRECISION
from strategies.scope.choices import Draw, pocket
from strategies.scope.dims import LARGE
from strategies.scope.values import dims_of


class Feature(str, enum.Enum):
    """A feature that a module may contain; the value is the name in reports.

    Attributes:
        odds: Chance to be on, in 64ths, before what requires it is counted; half where nothing is said.
        needs: Names of the features without which it cannot occur.
    """

    def __new__(cls, name: str, odds: int = 32, *needs: str) -> Feature:
        """Make a member, whose value is its name."""
        feature = str.__new__(cls, name)
        feature._value_, feature.odds, feature.needs = name, odds, needs
        return feature

    odds: int
    needs: tuple[str, ...]
    _value_: str

    SYMBOLIC_SHAPES = "symbolic-shapes"
    MATCH_CAST = "match-cast"
    SHAPE_EXPRESSIONS = "shape-expressions", 32, "symbolic-shapes"
    UNKNOWN_SHAPES = "unknown-shapes", 28
    SHAPE_PARAMS = "shape-params", 16
    PRIM_PARAMS = "prim-params", 16
    UPPER_BOUNDS = "upper-bounds", 24, "symbolic-shapes"
    IF = "if", 40, "ordinary-blocks", "booleans"
    TUPLES = "tuples"
    NESTED_TUPLES = "nested-tuples", 32, "tuples"
    CONSTANTS = "constants", 44
    ORDINARY_BLOCKS = "ordinary-blocks", 44
    MULTIPLE_FUNCTIONS = "multiple-functions", 40
    PRIVATE_CALLS = "private-calls", 48, "multiple-functions"
    LOCAL_FUNCTIONS = "local-functions", 34, "ordinary-blocks"
    KERNELS = "kernels"
    VDEVICE = "vdevice", 18
    DEVICE_HINTS = "device-hints", 48, "vdevice"
    COMPOSITE = "composite", 30
    CODEGEN = "codegen", 44, "composite"
    WEIGHTS = "weights", 20
    STOP_LIFT = "stop-lift", 12, "weights"
    NON_EXECUTABLE = "non-executable", 6
    HALF = "half"
    DOUBLE = "double"
    INTEGERS = "integers"
    BOOLEANS = "booleans", 44
    EMPTY_TENSORS = "empty-tensors", 12
    DEAD_CODE = "dead-code"
    DUPLICATE_CODE = "duplicate-code"
    ALIASES = "aliases"
    LOW_PRECISION = "low-precision", 10
    LARGE_TENSORS = "large-tensors", 12
    DEEP_CALLS = "deep-calls", 32, "private-calls"
    RECURSION = "recursion", 52, "private-calls", "if"
    CAPTURES = "captures", 46, "local-functions"
    RETURNED_CLOSURES = "returned-closures", 44, "captures"
    NESTED_CLOSURES = "nested-closures", 40, "local-functions"
    MADE_CLOSURES = "made-closures", 40, "private-calls", "ordinary-blocks"
    IMPURE_CALLS = "impure-calls", 32, "ordinary-blocks"
    PACKED_CALLS = "packed-calls"
    MODULE_ATTRS = "module-attrs", 16
    FUNCTION_ATTRS = "function-attrs", 16
    KERNEL_OUTPUTS = "kernel-outputs", 32, "kernels", "tuples"
    SYMBOLIC_KERNELS = "symbolic-kernels", 32, "kernels", "symbolic-shapes"
    INPLACE_KERNELS = "inplace-kernels", 32, "kernels"
    DRAWN_KERNELS = "drawn-kernels", 32, "kernels"
    EXTERNAL_CODEGEN = "external-codegen", 32, "codegen"
    LOWERED = "lowered", 32, "kernels", "ordinary-blocks"
    NESTED_IF = "nested-if", 40, "if"
    SEVERAL_BLOCKS = "several-blocks", 48
    CAST_SYMBOLS = "cast-symbols", 60, "match-cast", "symbolic-shapes", "unknown-shapes"
    SHAPE_SYMBOLS = "shape-symbols", 60, "shape-params", "symbolic-shapes"
    DATA_DEPENDENT = "data-dependent", 28, "unknown-shapes"
    UNUSED_PARAMETERS = "unused-parameters", 24
    UNUSED_OUTPUTS = "unused-outputs"
    SEVERAL_VDEVICES = "several-vdevices", 36, "device-hints"
    VAGUE_TYPES = "vague-types", 48, "match-cast", "unknown-shapes"
    VAGUE_OPERANDS = "vague-operands", 16, "match-cast", "unknown-shapes"
    DISTRIBUTED = "distributed", 0, "kernels", "multiple-functions"

    def __str__(self) -> str:
        return str.__str__(self)


REQUIRES = {feature: tuple(map(Feature, feature.needs)) for feature in Feature if feature.needs}
"""A feature on the left cannot occur without those on the right."""

ON_DEMAND = frozenset(feature for feature in Feature if not feature.odds)
"""Features that no module has unless they are demanded."""

NEVER_EXECUTABLE = frozenset({Feature.NON_EXECUTABLE, Feature.STOP_LIFT, Feature.VAGUE_OPERANDS, Feature.DISTRIBUTED})
"""Features that keep a module from being built by the reference pipeline."""

PLANTED: dict[Feature, int] = {
    Feature.IF: 16, Feature.LOCAL_FUNCTIONS: 24, Feature.KERNELS: 16, Feature.KERNEL_OUTPUTS: 10, Feature.LOWERED: 6,
    Feature.NON_EXECUTABLE: 48, Feature.STOP_LIFT: 48, Feature.SHAPE_EXPRESSIONS: 16, Feature.EMPTY_TENSORS: 16,
    Feature.NESTED_IF: 24, Feature.CAST_SYMBOLS: 32, Feature.SHAPE_SYMBOLS: 32, Feature.DATA_DEPENDENT: 24,
    Feature.SEVERAL_VDEVICES: 40, Feature.UNUSED_OUTPUTS: 8, Feature.CAPTURES: 16, Feature.RETURNED_CLOSURES: 20,
    Feature.NESTED_CLOSURES: 16, Feature.MADE_CLOSURES: 28, Feature.IMPURE_CALLS: 16,
}  # fmt: skip
"""Chance, in 64ths, that the last function is planned to have a feature that is on; others come by themselves."""

_FEATURES = tuple(Feature)


def draw_swarm(draw: Draw, demand: Iterable[Feature] = (), forbid: Iterable[Feature] = ()) -> frozenset[Feature]:
    """Draw the features that one case may use; no draw is filtered.

    All-zero draws (what a shrinker aims for) switch everything off but the demanded features.

    Raises:
        ValueError: when a demanded feature, or one that it requires, is forbidden.
    """
    demanded = closure(demand)
    forbidden = frozenset(forbid)
    if clash := demanded & forbidden:
        raise ValueError(f"features both demanded and forbidden: {', '.join(sorted(clash))}")
    on = set(demanded)
    for start in range(0, len(_FEATURES), 8):
        for feature, byte in zip(_FEATURES[start : start + 8], draw(pocket()), strict=False):
            if byte >= 256 - 4 * feature.odds:
                on.add(feature)
    return without(on, forbidden)


def without(features: Iterable[Feature], gone: Iterable[Feature]) -> frozenset[Feature]:
    """Return the features less those that are gone and those that require them."""
    on = set(features) - set(gone)
    # What lost its ground goes too; a fixed point is reached after as many rounds as the table is deep.
    while lost := {f for f in on if any(need not in on for need in REQUIRES.get(f, ()))}:
        on -= lost
    return frozenset(on)


def closure(features: Iterable[Feature]) -> frozenset[Feature]:
    """Return the features with all that they require."""
    return frozenset(closed(features, lambda feature: REQUIRES.get(feature, ())))


TYPE_FEATURES = frozenset({
    Feature.HALF, Feature.DOUBLE, Feature.INTEGERS, Feature.BOOLEANS,
    Feature.UNKNOWN_SHAPES, Feature.SYMBOLIC_SHAPES, Feature.SHAPE_EXPRESSIONS,
    Feature.EMPTY_TENSORS, Feature.NESTED_TUPLES, Feature.LOW_PRECISION, Feature.LARGE_TENSORS,
})  # fmt: skip
"""Those that :func:`type_features` can find."""


def type_features(ty: Any) -> frozenset[Feature]:
    """Return the features that a Relax type shows, through tuples."""
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
        if not isinstance(dim, int):
            found.add(Feature.SYMBOLIC_SHAPES)
            if not isinstance(dim, tirx.Var):
                found.add(Feature.SHAPE_EXPRESSIONS)
        elif dim == 0:
            found.add(Feature.EMPTY_TENSORS)


def dtype_feature(dtype: str) -> Feature | None:
    """Return the feature that stands for an element type; ``None`` for float32 and what has none."""
    return _OF_DTYPE.get(dtype, Feature.INTEGERS if "int" in dtype else None)


_OF_DTYPE = {
    "float16": Feature.HALF,
    "float64": Feature.DOUBLE,
    "bool": Feature.BOOLEANS,
    **dict.fromkeys(LOW_PRECISION, Feature.LOW_PRECISION),
}


def is_prim_type(ty: Any) -> bool:
    """Say whether a type is that of a primitive (not a tensor) value."""
    return isinstance(ty, PrimType)
