"""Parameters for tensor constants, or those that are there, or constants of ones: their payload rarely matters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.emit import same_type
from fuzzer.minimizer.params import add_param, can_add
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.substitute import expressions, leaves_in, replace_in


def _edits(sketch: Sketch) -> Iterator[Edit]:
    called = walk.callers(sketch)
    found = _constants(sketch)
    tensors = [(name, item) for name, item in found if item.ty.ndim > 0 and can_add(sketch, name, item.ty, called)]
    if len(tensors) > 1:
        yield (0,), partial(_parameters, sketch, tensors)
    for number, (name, item) in enumerate(found):
        if any(item.same_as(other) for _, other in tensors):
            yield (1, number, 0), partial(_parameters, sketch, [(name, item)])
        if not np.all(item.value.numpy() == 1):
            yield (1, number, 1), partial(_ones, sketch, item)
        for param in sketch.functions[name].params:
            if item.ty.ndim > 0 and same_type(param.ty, item.ty):
                yield (1, number, 2), partial(_replace, sketch, item, param)
                break


def _constants(sketch: Sketch) -> list[tuple[str, Any]]:
    """The tensor constants, each once, with the function that it stands in."""
    found: list[tuple[str, Any]] = []
    for name, body, _ in sketch.bodies():
        for expr in expressions(body):
            for item in leaves_in(expr):
                if _is_tensor(item) and not any(item.same_as(other) for _, other in found):
                    found.append((name, item))
    return found


def _is_tensor(expr: Any) -> bool:
    return isinstance(expr, tvm.ir.GenericConst) and isinstance(expr.ty, relax.TensorType)


def _parameters(sketch: Sketch, constants: list[tuple[str, Any]]) -> Sketch:
    result = sketch.copy()
    names = []
    for name, item in constants:
        new = relax.Var("c", item.ty)
        add_param(result, name, new)
        names.append((item, new))
    replace_in(result, lambda leaf: next((new for old, new in names if leaf.same_as(old)), leaf))
    return result


def _replace(sketch: Sketch, constant: Any, value: Any) -> Sketch:
    result = sketch.copy()
    replace_in(result, lambda leaf: value if leaf.same_as(constant) else leaf)
    return result


def _ones(sketch: Sketch, constant: Any) -> Sketch:
    payload = constant.value.numpy()
    return _replace(sketch, constant, relax.const(np.ones(payload.shape, payload.dtype), str(constant.ty.dtype)))


REDUCTION = Reduction("replace constants", _edits)
