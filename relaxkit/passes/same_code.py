"""Passes that run the same function of TVM's, so that a defect of one is a defect of the other; loads no TVM."""

from __future__ import annotations

_SAME = (
    ("InlinePrivateFunctions", "inline_functions"),  # src/relax/transform/inline_functions.cc: FunctionInliner
    ("FuseOps", "FuseOpsByPattern"),  # src/relax/transform/fuse_ops.cc: OperatorFusor
)


def same_code(name: str) -> tuple[str, ...]:
    """Return the other passes that run what a pass runs."""
    return tuple(other for row in _SAME if name in row for other in row if other != name)
