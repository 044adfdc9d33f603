"""The table of relax operators: how to draw each, and why some are not drawn."""

from __future__ import annotations

from releases.gaps import lacks_operator
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

__all__ = ["LACKING", "OPERATORS", "Family", "OperatorRow", "exclusions"]

_ROWS: tuple[OperatorRow, ...] = (
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
LACKING: dict[str, str] = {row.name: reason for row in _ROWS if (reason := lacks_operator(row.name))}
"""Operators with a row that the installed TVM does not have, each with the reason; none with the newest release."""
OPERATORS: tuple[OperatorRow, ...] = tuple(row for row in _ROWS if row.name not in LACKING)
"""Every relax operator that modules are drawn from, one row each."""
