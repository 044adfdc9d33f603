"""Drop the vdevices that no type and no operator mentions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import fields_of
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of, types_of
from relaxkit.ir.types import parts_of_type

_KEY = "vdevice"


@reduction("drop vdevices")
def edits(sketch: Sketch) -> Edits:
    devices = list(sketch.global_infos.get(_KEY, ()))
    if len(devices) < 2:  # one alone is of no use: it goes with the attributes, or it is needed
        return
    used = [*_of_types(sketch), *of_operators(sketch)]
    kept = [item for item in devices if any(tvm_ffi.structural_equal(item, other) for other in used)]
    if 0 < len(kept) < len(devices):
        yield (0,), edit(sketch, lambda copy: copy.global_infos.update({_KEY: kept}))


def of_operators(sketch: Sketch) -> Iterator[Any]:
    """Yield the vdevices that attributes of operators name."""
    for slot in slots_of(sketch):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call):
            yield from (item for item in fields_of(value.attrs).values() if isinstance(item, relax.VDevice))


def _of_types(sketch: Sketch) -> Iterator[Any]:
    types = [*types_of(sketch), *(func.ret_ty for func in sketch.relax_functions().values())]
    for slot in slots_of(sketch):
        types += slot.binding.value.ty_args if isinstance(slot.binding.value, tvm.ir.Call) else ()
    tensors = (part for ty in types for part in parts_of_type(ty) if isinstance(part, relax.TensorType))
    return (tensor.vdevice for tensor in tensors if tensor.vdevice is not None)
