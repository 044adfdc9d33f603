"""Constants of ones: their payload rarely matters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        for place, argument in enumerate(value.args if isinstance(value, tvm.ir.Call) else ()):
            if isinstance(argument, tvm.ir.GenericConst) and not np.all(argument.value.numpy() == 1):
                yield (index, place), partial(_ones, sketch, index, place)


def _ones(sketch: Sketch, index: int, place: int) -> Sketch:
    result = sketch.copy()
    binding = slots_of(result)[index].binding
    args: list[Any] = list(binding.value.args)
    old = args[place].value.numpy()
    args[place] = relax.const(np.ones(old.shape, old.dtype), str(args[place].ty.dtype))
    binding.value = tvm.ir.Call(binding.value.op, args, binding.value.attrs, list(binding.value.ty_args))
    return result


REDUCTION = Reduction("use constants of ones", _edits)
