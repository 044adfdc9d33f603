"""What reductions make of a module, for the tests of the minimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take


def candidates(reduction: Reduction, module: Any) -> Iterator[Any]:
    """The modules that a reduction can build from ``module``."""
    for _, edit in reduction.edits(take(module)):
        sketch = edit()
        if sketch is None:
            continue
        try:
            yield emit(sketch)
        except Invalid:
            continue


def functions_of(module: Any) -> list[str]:
    return sorted(str(var.name_hint) for var in module.functions)


def operators_of(module: Any) -> list[str]:
    found: list[str] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            found.append(str(expr.op.name))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return sorted(found)
