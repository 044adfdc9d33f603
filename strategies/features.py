"""Features: the switches of a generated module, thrown anew for every case (swarm testing).

A case that may use everything uses everything a little; a case with half of the features off meets far more often the
combinations that make a pass act (Groce et al., "Swarm Testing", ISSTA 2012).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from strategies.choices import Draw, pocket


class Feature(str, enum.Enum):
    """What a module may contain; the value is the name in reports."""

    SYMBOLIC_SHAPES = "symbolic-shapes"
    MATCH_CAST = "match-cast"
    SHAPE_EXPRESSIONS = "shape-expressions"
    UNKNOWN_SHAPES = "unknown-shapes"
    SHAPE_PARAMS = "shape-params"
    PRIM_PARAMS = "prim-params"
    UPPER_BOUNDS = "upper-bounds"
    IF = "if"
    TUPLES = "tuples"
    NESTED_TUPLES = "nested-tuples"
    CONSTANTS = "constants"
    ORDINARY_BLOCKS = "ordinary-blocks"
    MULTIPLE_FUNCTIONS = "multiple-functions"
    PRIVATE_CALLS = "private-calls"
    LOCAL_FUNCTIONS = "local-functions"
    KERNELS = "kernels"
    VDEVICE = "vdevice"
    DEVICE_HINTS = "device-hints"
    COMPOSITE = "composite"
    CODEGEN = "codegen"
    WEIGHTS = "weights"
    STOP_LIFT = "stop-lift"
    NON_EXECUTABLE = "non-executable"
    HALF = "half"
    DOUBLE = "double"
    INTEGERS = "integers"
    BOOLEANS = "booleans"
    EMPTY_TENSORS = "empty-tensors"
    DEAD_CODE = "dead-code"
    DUPLICATE_CODE = "duplicate-code"
    ALIASES = "aliases"
    LOW_PRECISION = "low-precision"
    LARGE_TENSORS = "large-tensors"
    DEEP_CALLS = "deep-calls"
    RECURSION = "recursion"
    CAPTURES = "captures"
    RETURNED_CLOSURES = "returned-closures"
    NESTED_CLOSURES = "nested-closures"
    MADE_CLOSURES = "made-closures"
    IMPURE_CALLS = "impure-calls"
    PACKED_CALLS = "packed-calls"
    MODULE_ATTRS = "module-attrs"
    FUNCTION_ATTRS = "function-attrs"
    KERNEL_OUTPUTS = "kernel-outputs"
    SYMBOLIC_KERNELS = "symbolic-kernels"
    INPLACE_KERNELS = "inplace-kernels"
    DRAWN_KERNELS = "drawn-kernels"
    EXTERNAL_CODEGEN = "external-codegen"
    LOWERED = "lowered"
    NESTED_IF = "nested-if"
    SEVERAL_BLOCKS = "several-blocks"
    CAST_SYMBOLS = "cast-symbols"
    SHAPE_SYMBOLS = "shape-symbols"
    DATA_DEPENDENT = "data-dependent"
    UNUSED_PARAMETERS = "unused-parameters"
    UNUSED_OUTPUTS = "unused-outputs"
    SEVERAL_VDEVICES = "several-vdevices"

    def __str__(self) -> str:
        return self.value


REQUIRES: dict[Feature, tuple[Feature, ...]] = {
    Feature.SHAPE_EXPRESSIONS: (Feature.SYMBOLIC_SHAPES,),
    Feature.UPPER_BOUNDS: (Feature.SYMBOLIC_SHAPES,),
    Feature.NESTED_TUPLES: (Feature.TUPLES,),
    Feature.PRIVATE_CALLS: (Feature.MULTIPLE_FUNCTIONS,),
    Feature.DEVICE_HINTS: (Feature.VDEVICE,),
    Feature.STOP_LIFT: (Feature.WEIGHTS,),
    Feature.CODEGEN: (Feature.COMPOSITE,),
    Feature.IF: (Feature.ORDINARY_BLOCKS, Feature.BOOLEANS),
    Feature.LOCAL_FUNCTIONS: (Feature.ORDINARY_BLOCKS,),
    Feature.DEEP_CALLS: (Feature.PRIVATE_CALLS,),
    Feature.RECURSION: (Feature.PRIVATE_CALLS, Feature.IF),
    Feature.CAPTURES: (Feature.LOCAL_FUNCTIONS,),
    Feature.RETURNED_CLOSURES: (Feature.CAPTURES,),
    Feature.NESTED_CLOSURES: (Feature.LOCAL_FUNCTIONS,),
    Feature.MADE_CLOSURES: (Feature.PRIVATE_CALLS, Feature.ORDINARY_BLOCKS),
    Feature.IMPURE_CALLS: (Feature.ORDINARY_BLOCKS,),
    Feature.KERNEL_OUTPUTS: (Feature.KERNELS, Feature.TUPLES),
    Feature.SYMBOLIC_KERNELS: (Feature.KERNELS, Feature.SYMBOLIC_SHAPES),
    Feature.INPLACE_KERNELS: (Feature.KERNELS,),
    Feature.DRAWN_KERNELS: (Feature.KERNELS,),
    Feature.EXTERNAL_CODEGEN: (Feature.CODEGEN,),
    Feature.LOWERED: (Feature.KERNELS, Feature.ORDINARY_BLOCKS),
    Feature.NESTED_IF: (Feature.IF,),
    Feature.CAST_SYMBOLS: (Feature.MATCH_CAST, Feature.SYMBOLIC_SHAPES, Feature.UNKNOWN_SHAPES),
    Feature.SHAPE_SYMBOLS: (Feature.SHAPE_PARAMS, Feature.SYMBOLIC_SHAPES),
    Feature.DATA_DEPENDENT: (Feature.UNKNOWN_SHAPES,),
    Feature.SEVERAL_VDEVICES: (Feature.DEVICE_HINTS,),
}
"""A feature on the left cannot occur without those on the right."""

NEVER_EXECUTABLE = frozenset({Feature.NON_EXECUTABLE, Feature.STOP_LIFT})
"""Features that keep a module from being built by the reference pipeline."""

ODDS: dict[Feature, int] = {
    Feature.NON_EXECUTABLE: 6,
    Feature.STOP_LIFT: 12,
    Feature.EMPTY_TENSORS: 12,
    Feature.UNKNOWN_SHAPES: 28,
    Feature.CAST_SYMBOLS: 60,
    Feature.SHAPE_SYMBOLS: 60,
    Feature.DATA_DEPENDENT: 28,
    Feature.NESTED_IF: 40,
    Feature.UNUSED_PARAMETERS: 24,
    Feature.SEVERAL_VDEVICES: 36,
    Feature.SEVERAL_BLOCKS: 48,
    Feature.SHAPE_PARAMS: 16,
    Feature.PRIM_PARAMS: 16,
    Feature.VDEVICE: 18,
    Feature.DEVICE_HINTS: 48,
    Feature.CODEGEN: 44,
    Feature.COMPOSITE: 30,
    Feature.WEIGHTS: 20,
    Feature.LOCAL_FUNCTIONS: 34,
    Feature.UPPER_BOUNDS: 24,
    Feature.MULTIPLE_FUNCTIONS: 40,
    Feature.PRIVATE_CALLS: 48,
    Feature.BOOLEANS: 44,
    Feature.CONSTANTS: 44,
    Feature.ORDINARY_BLOCKS: 44,
    Feature.IF: 40,
    Feature.LOW_PRECISION: 10,
    Feature.LARGE_TENSORS: 12,
    Feature.RECURSION: 52,
    Feature.CAPTURES: 46,
    Feature.RETURNED_CLOSURES: 44,
    Feature.NESTED_CLOSURES: 40,
    Feature.MADE_CLOSURES: 40,
    Feature.MODULE_ATTRS: 16,
    Feature.FUNCTION_ATTRS: 16,
}
"""Chance of a feature to be on, in 64ths, before what requires it is counted; half where nothing is said."""

PLANTED: dict[Feature, int] = {
    Feature.IF: 16,
    Feature.LOCAL_FUNCTIONS: 24,
    Feature.KERNELS: 16,
    Feature.KERNEL_OUTPUTS: 10,
    Feature.LOWERED: 6,
    Feature.NON_EXECUTABLE: 48,
    Feature.STOP_LIFT: 48,
    Feature.SHAPE_EXPRESSIONS: 16,
    Feature.EMPTY_TENSORS: 16,
    Feature.NESTED_IF: 24,
    Feature.CAST_SYMBOLS: 32,
    Feature.SHAPE_SYMBOLS: 32,
    Feature.DATA_DEPENDENT: 24,
    Feature.SEVERAL_VDEVICES: 40,
    Feature.UNUSED_OUTPUTS: 8,
    Feature.CAPTURES: 16,
    Feature.RETURNED_CLOSURES: 20,
    Feature.NESTED_CLOSURES: 16,
    Feature.MADE_CLOSURES: 28,
    Feature.IMPURE_CALLS: 16,
}
"""Chance, in 64ths, that the last function is planned to have a feature that is on; others come by themselves."""

_FEATURES = tuple(Feature)
_EVEN = 32


def draw_swarm(draw: Draw, demand: Iterable[Feature] = (), forbid: Iterable[Feature] = ()) -> frozenset[Feature]:
    """Draw the features that one case may use; four draws, none of them filtered.

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
            if byte >= 256 - 4 * ODDS.get(feature, _EVEN):
                on.add(feature)
    return without(on, forbidden)


def without(features: Iterable[Feature], gone: Iterable[Feature]) -> frozenset[Feature]:
    """The features less those that are gone and those that require them."""
    on = set(features) - set(gone)
    # What lost its ground goes too; a fixed point is reached after as many rounds as the table is deep.
    while lost := {f for f in on if any(need not in on for need in REQUIRES.get(f, ()))}:
        on -= lost
    return frozenset(on)


def closure(features: Iterable[Feature]) -> frozenset[Feature]:
    """The features with all that they require."""
    found: set[Feature] = set()
    todo = list(features)
    while todo:
        feature = todo.pop()
        if feature not in found:
            found.add(feature)
            todo.extend(REQUIRES.get(feature, ()))
    return frozenset(found)
