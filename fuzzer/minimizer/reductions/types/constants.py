"""Parameters for tensor constants, or those that are there, or constants of ones: their payload rarely matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.uses import expressions, leaves_in, replace_in


@reduction("replace constants")
def edits(sketch: Sketch) -> Edits:
    called = uses.callers(sketch)
    found = constants_in(sketch)
    tensors = [(name, item) for name, item in found if item.ty.ndim > 0 and can_add(sketch, name, item.ty, called)]
    if len(tensors) > 1:
        yield (0,), edit(sketch, _parameters, tensors)
    for number, (name, item) in enumerate(found):
        if any(item.same_as(other) for _, other in tensors):
            yield (1, number, 0), edit(sketch, _parameters, [(name, item)])
        if not np.all(item.value.numpy() == 1):
            yield (1, number, 1), edit(sketch, by_ones, item)
        for param in sketch.functions[name].params:
            if item.ty.ndim > 0 and same_type(param.ty, item.ty):
                yield (1, number, 2), edit(sketch, _replace, item, param)
                break


def constants_in(sketch: Sketch) -> list[tuple[str, Any]]:
    """Return the tensor constants, each once, with the function that it stands in."""
    found: list[tuple[str, Any]] = []
    for name, body, _ in sketch.bodies():
        for expr in expressions(body):
            for item in leaves_in(expr):
                if _is_tensor(item) and not any(item.same_as(other) for _, other in found):
                    found.append((name, item))
    return found


def _is_tensor(expr: relax.Expr) -> bool:
    return isinstance(expr, tvm.ir.GenericConst) and isinstance(expr.ty, relax.TensorType)


def _parameters(sketch: Sketch, constants: list[tuple[str, Any]]) -> None:
    names = []
    for name, item in constants:
        new = relax.Var("c", item.ty)
        add_param(sketch, name, new)
        names.append((item, new))
    replace_in(sketch, lambda leaf: next((new for old, new in names if leaf.same_as(old)), leaf))


def _replace(sketch: Sketch, constant: Any, value: Any) -> None:
    replace_in(sketch, lambda leaf: value if leaf.same_as(constant) else leaf)


def by_ones(sketch: Sketch, constant: Any) -> None:
    """Put ones of its type in the place of a constant."""
    payload = constant.value.numpy()
    _replace(sketch, constant, relax.const(np.ones(payload.shape, payload.dtype), str(constant.ty.dtype)))
