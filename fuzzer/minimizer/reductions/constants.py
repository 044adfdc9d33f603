"""Parameters for tensor constants, or constants of ones: their payload rarely matters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    called = walk.callers(sketch)
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        for place, argument in enumerate(value.args if isinstance(value, tvm.ir.Call) else ()):
            if not isinstance(argument, tvm.ir.GenericConst) or not isinstance(argument.ty, relax.TensorType):
                continue
            if argument.ty.ndim > 0 and called[slot.function] == 0:
                yield (index, place, 0), partial(_parameter, sketch, index, place)
            if not np.all(argument.value.numpy() == 1):
                yield (index, place, 1), partial(_ones, sketch, index, place)


def _parameter(sketch: Sketch, index: int, place: int) -> Sketch:
    result = sketch.copy()
    slot = slots_of(result)[index]
    new = relax.Var("c", slot.binding.value.args[place].ty)
    result.functions[slot.function].add_param(new)
    return _with_argument(result, index, place, new)


def _ones(sketch: Sketch, index: int, place: int) -> Sketch:
    result = sketch.copy()
    old = slots_of(result)[index].binding.value.args[place]
    payload = old.value.numpy()
    return _with_argument(result, index, place, relax.const(np.ones(payload.shape, payload.dtype), str(old.ty.dtype)))


def _with_argument(sketch: Sketch, index: int, place: int, argument: Any) -> Sketch:
    binding = slots_of(sketch)[index].binding
    call = binding.value
    args = [argument if number == place else item for number, item in enumerate(call.args)]
    binding.value = tvm.ir.Call(call.op, args, call.attrs, list(call.ty_args))
    return sketch


REDUCTION = Reduction("replace constants", _edits)
