"""``tvm_ffi.structural_walk`` over kernels, for TVM 0.25, whose ffi has none."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any


def adopt_walks() -> None:
    """Where it is missing, give ``tvm_ffi`` a ``structural_walk`` that knows the statements of a kernel."""
    ffi: Any = importlib.import_module("tvm_ffi")
    if not hasattr(ffi, "structural_walk"):
        tirx, relax = importlib.import_module("tvm.tirx"), importlib.import_module("tvm.relax")
        # One class is both since 0.26, which callers name by either of its names.
        ffi.structural_walk = functools.partial(_walk, tirx.stmt_functor, {relax.Call: tirx.Call})


def _walk(functor: Any, renamed: dict[Any, Any], root: Any, callbacks: Sequence[Any], order: str = "post") -> None:
    """Call the first callback of which the type fits for each node of a statement.

    Args:
        functor: ``tvm.tirx.stmt_functor``.
        renamed: Types of callbacks that mean another type in a kernel.
        root: The statement.
        callbacks: Pairs of a type, or a tuple of types, and what to call with the node; or one such pair.
        order: ``pre`` or ``post``: a node before what is in it, or behind it.
    """
    pairs = [callbacks] if callable(callbacks[-1]) else list(callbacks)
    entries: list[tuple[Any, Any]] = []
    for kinds, callback in pairs:
        types = kinds if isinstance(kinds, tuple) else (kinds,)
        entries.append((tuple(renamed.get(kind, kind) for kind in types), callback))

    def visit(node: Any) -> bool:
        for types, callback in entries:
            if isinstance(node, types):
                callback(node)
                break
        return True  # go on into its parts

    if order == "pre":
        functor.pre_order_visit(root, visit)
    else:
        functor.post_order_visit(root, visit)
