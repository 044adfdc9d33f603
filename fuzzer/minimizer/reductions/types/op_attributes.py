"""Plain attributes of operators: unit strides, no padding, no axis, flags off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid, fields_of, with_fields
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of

_ONES = frozenset({"strides", "dilation", "groups", "pool_size", "repeats", "k", "block_shape"})
_ZEROS = frozenset({"padding", "output_padding", "batch_dims", "offset", "depth_radius"})
_NOTHING = frozenset({"out_dtype", "axis", "axes", "window_size", "causal_mask", "scale", "max_depth"})


@reduction("plain attributes of operators")
def edits(sketch: Sketch) -> Edits:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, tvm.ir.Op):
            continue
        fields = fields_of(value.attrs)
        simple = [(name, new) for name, old in fields.items() for new in _simpler(name, old)]
        if len({name for name, _ in simple}) > 1:
            yield (index, 0), edit(sketch, _with, index, dict(reversed(simple)))
        for place, (name, new) in enumerate(simple):
            yield (index, 1 + place), edit(sketch, _with, index, {name: new})


def _simpler(name: str, old: Any) -> Iterator[Any]:
    """Plainer values than ``old``, the plainest first."""
    if isinstance(old, bool):
        if old:
            yield False
    elif name in _NOTHING:
        if old is not None:
            yield None
        if isinstance(old, int) and old != 0:
            yield 0
    elif name in _ONES or name in _ZEROS:
        plain = int(name in _ONES)
        if isinstance(old, int):
            if old != plain:
                yield plain
        elif old is not None and not isinstance(old, str) and any(_differs(item, plain) for item in old):
            yield [plain] * len(old)


def _differs(item: Any, plain: int) -> bool:
    return not isinstance(item, int | tvm.tirx.IntImm) or int(item) != plain


def _with(sketch: Sketch, index: int, fields: dict[str, Any]) -> None:
    binding = slots_of(sketch)[index].binding
    try:
        call = binding.value
        binding.value = tvm.ir.Call(call.op, list(call.args), with_fields(call.attrs, **fields), list(call.ty_args))
    except Exception as error:  # attributes check their fields, each in its own way
        raise Invalid(str(error)) from error
