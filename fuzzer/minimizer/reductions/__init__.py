"""The reductions, in the order in which they are tried: what removes most comes first."""

from __future__ import annotations

from fuzzer.minimizer.reduction import Reduction
from fuzzer.minimizer.reductions import (
    attributes,
    bindings,
    blocks,
    branches,
    constants,
    cut,
    dims,
    dtypes,
    function_names,
    functions,
    inline,
    names,
    operators,
    outputs,
    projections,
    unused,
)

REDUCTIONS: tuple[Reduction, ...] = (
    unused.REDUCTION,
    functions.REDUCTION,
    cut.REDUCTION,
    outputs.REDUCTION,
    bindings.REDUCTION,
    branches.REDUCTION,
    projections.REDUCTION,
    inline.REDUCTION,
    unused.REDUCTION,
    attributes.REDUCTION,
    dims.REDUCTION,
    dtypes.REDUCTION,
    operators.REDUCTION,
    constants.REDUCTION,
    blocks.REDUCTION,
    function_names.REDUCTION,
    names.REDUCTION,
)
