"""The table of relax operators: how to draw each, and why some are not drawn."""

from __future__ import annotations

from strategies.operators import (
    binary,
    create,
    image,
    index,
    linalg,
    misc,
    nn_activation,
    nn_attention,
    nn_conv,
    nn_loss,
    nn_norm,
    nn_pool,
    quantization,
    reduce,
    regions,
    scan_sort,
    shape,
    unary,
    vision,
)
from strategies.operators.exclusions import exclusions
from strategies.operators.row import Family, OperatorRow

__all__ = ["OPERATORS", "Family", "OperatorRow", "exclusions"]

OPERATORS: tuple[OperatorRow, ...] = (
    *unary.ROWS,
    *binary.ROWS,
    *reduce.ROWS,
    *scan_sort.ROWS,
    *create.ROWS,
    *shape.ROWS,
    *index.ROWS,
    *linalg.ROWS,
    *nn_conv.ROWS,
    *nn_pool.ROWS,
    *nn_activation.ROWS,
    *nn_norm.ROWS,
    *nn_attention.ROWS,
    *nn_loss.ROWS,
    *image.ROWS,
    *regions.ROWS,
    *vision.ROWS,
    *quantization.ROWS,
    *misc.ROWS,
)
"""Every relax operator that modules are drawn from, one row each."""
