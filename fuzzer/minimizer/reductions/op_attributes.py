"""Plain attributes of operators: unit strides, no padding, no axis, flags off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tvm

from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.slots import slots_of

_ONES = frozenset({"strides", "dilation", "groups", "pool_size", "repeats", "k", "block_shape"})
_ZEROS = frozenset({"padding", "output_padding", "batch_dims", "offset", "depth_radius"})
_NOTHING = frozenset({"out_dtype", "axis", "axes", "window_size", "causal_mask", "scale", "max_depth"})


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, tvm.ir.Op):
            continue
        fields = fields_of(value.attrs)
        simple = [(name, new) for name, old in fields.items() for new in _simpler(name, old)]
        if len({name for name, _ in simple}) > 1:
            yield (index, 0), partial(_with, sketch, index, dict(reversed(simple)))
        for place, (name, new) in enumerate(simple):
            yield (index, 1 + place), partial(_with, sketch, index, {name: new})


def fields_of(attrs: Any) -> dict[str, Any]:
    """The attributes of a call by name."""
    info = getattr(type(attrs), "__tvm_ffi_type_info__", None) if attrs is not None else None
    return {} if info is None else {item.name: getattr(attrs, item.name) for item in info.fields}


def with_fields(call: Any, fields: dict[str, Any]) -> Any:
    """A call with other attributes, without a type."""
    key = type(call.attrs).__tvm_ffi_type_info__.type_key
    attrs = tvm.ir.make_node(key, **{**fields_of(call.attrs), **fields})
    return tvm.ir.Call(call.op, list(call.args), attrs, list(call.ty_args))


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


def _with(sketch: Sketch, index: int, fields: dict[str, Any]) -> Sketch | None:
    result = sketch.copy()
    binding = slots_of(result)[index].binding
    try:
        binding.value = with_fields(binding.value, fields)
    except Exception:  # attributes check their fields, each in its own way
        return None
    return result


REDUCTION = Reduction("plain attributes of operators", _edits)
