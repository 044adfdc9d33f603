"""What older releases have no words for, so that no test of the interpreter can ask it there, each with the reason."""

from __future__ import annotations

import inspect

import pytest
from tvm import relax

from relaxkit.compat.known import lacks_operator
from relaxkit.compat.shims import apart

needs_scalar_arithmetic = pytest.mark.skipif(
    apart(), reason="TVM 0.25: a scalar is a value and no Relax expression, so nothing computes with parameters"
)
needs_offsets = pytest.mark.skipif(
    apart(), reason="TVM 0.25: type inference answers 0 for the offset of every tensor, and the call is gone"
)
needs_unaligned_grids = pytest.mark.skipif(
    "align_corners" not in inspect.signature(relax.op.image.affine_grid).parameters,
    reason="TVM 0.25: affine_grid has aligned corners and two dims, always",
)
needs_reverse_sequence = pytest.mark.skipif(
    bool(lacks_operator("relax.reverse_sequence")), reason=lacks_operator("relax.reverse_sequence")
)
