"""Drop the vdevices that no type and no operator mentions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.reductions.op_attributes import fields_of
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of, types_of

_KEY = "vdevice"


def _edits(sketch: Sketch) -> Iterator[Edit]:
    given = list(sketch.global_infos.get(_KEY, ()))
    if len(given) < 2:  # one alone is of no use: it goes with the attributes, or it is needed
        return
    used = [*_of_types(sketch), *of_operators(sketch)]
    kept = [item for item in given if any(tvm_ffi.structural_equal(item, other) for other in used)]
    if 0 < len(kept) < len(given):
        yield (0,), partial(_with, sketch, kept)


def of_operators(sketch: Sketch) -> Iterator[Any]:
    """The vdevices that attributes of operators name."""
    for slot in slots_of(sketch):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call):
            yield from (item for item in fields_of(value.attrs).values() if isinstance(item, relax.VDevice))


def _of_types(sketch: Sketch) -> Iterator[Any]:
    for ty in [*types_of(sketch), *(func.ret_ty for func in sketch.relax_functions().values())]:
        yield from _of_type(ty)
    for slot in slots_of(sketch):
        if isinstance(slot.binding.value, tvm.ir.Call):
            for ty in slot.binding.value.ty_args:
                yield from _of_type(ty)


def _of_type(ty: Any) -> Iterator[Any]:
    if isinstance(ty, relax.TupleType):
        for item in ty.fields:
            yield from _of_type(item)
    elif isinstance(ty, relax.FuncType):
        for item in [*(ty.params or ()), ty.ret]:
            yield from _of_type(item)
    elif isinstance(ty, relax.TensorType) and ty.vdevice is not None:
        yield ty.vdevice


def _with(sketch: Sketch, kept: list[Any]) -> Sketch:
    result = sketch.copy()
    result.global_infos[_KEY] = kept
    return result


REDUCTION = Reduction("drop vdevices", _edits)
