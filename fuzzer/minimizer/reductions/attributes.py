"""Reductions of attributes: of functions, of the module, of operators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir.global_info import GlobalInfo

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid, fields_of, with_fields
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.slots import slots_of, types_of
from relaxkit.ir.types import parts_of_type


@reduction("drop attributes")
def attributes(sketch: Sketch) -> Edits:
    """Drop attributes of functions and of the module, names of public functions, and global infos."""
    called = uses.callers(sketch)
    functions = sketch.relax_functions()
    if sum(len(func.attrs) for func in functions.values()) + len(sketch.attrs) > len(functions) + 1:
        yield (-1,), edit(sketch, _everything)
    for number, (name, func) in enumerate(functions.items()):
        for place, key in enumerate(sorted(func.attrs)):
            if key != "global_symbol" or called[name]:
                yield (0, number, place), edit(sketch, _attribute, key, name)
    for place, key in enumerate(sorted(sketch.attrs)):
        yield (1, place), edit(sketch, _attribute, key)
    named = [*of_operators(sketch), *_meshes(sketch)]  # TVMScript could not say without the table what they name
    for place, (key, items) in enumerate(sorted(sketch.global_infos.items())):
        if not any(tvm_ffi.structural_equal(item, other) for item in items for other in named):
            yield (2, place), edit(sketch, _info, key)


def _everything(sketch: Sketch) -> None:
    """Drop all attributes but the names of public functions at once."""
    sketch.attrs.clear()
    for func in sketch.relax_functions().values():
        func.attrs = {key: value for key, value in func.attrs.items() if key == "global_symbol"}


def _attribute(sketch: Sketch, key: str, function: str = "") -> None:
    del (sketch.functions[function] if function else sketch).attrs[key]


def _info(sketch: Sketch, key: str) -> None:
    del sketch.global_infos[key]
    if key == "vdevice":
        sketch.retype.devices = False


@reduction("drop vdevices")
def vdevices(sketch: Sketch) -> Edits:
    """Drop the vdevices that no type and no operator mentions."""
    devices = list(sketch.global_infos.get("vdevice", ()))
    if len(devices) < 2:  # one alone is of no use: it goes with the attributes, or it is needed
        return
    used = [*_of_types(sketch), *of_operators(sketch)]
    kept = [item for item in devices if any(tvm_ffi.structural_equal(item, other) for other in used)]
    if 0 < len(kept) < len(devices):
        yield (0,), edit(sketch, lambda copy: copy.global_infos.update({"vdevice": kept}))


def of_operators(sketch: Sketch) -> Iterator[Any]:
    """Yield the vdevices and the meshes of devices that attributes of operators name."""
    for slot in slots_of(sketch):
        value = slot.binding.value
        if isinstance(value, tvm.ir.Call):
            yield from (item for item in fields_of(value.attrs).values() if isinstance(item, GlobalInfo))


def _of_types(sketch: Sketch) -> Iterator[Any]:
    tensors = (part for part in _parts(sketch) if isinstance(part, relax.TensorType))
    return (tensor.vdevice for tensor in tensors if tensor.vdevice is not None)


def _meshes(sketch: Sketch) -> Iterator[Any]:
    """Yield the meshes of devices that types name."""
    return (part.device_mesh for part in _parts(sketch) if isinstance(part, relax.distributed.DTensorType))


def _parts(sketch: Sketch) -> Iterator[Any]:
    types = [*types_of(sketch), *(func.ret_ty for func in sketch.relax_functions().values())]
    for slot in slots_of(sketch):
        types += slot.binding.value.ty_args if isinstance(slot.binding.value, tvm.ir.Call) else ()
    return (part for ty in types for part in parts_of_type(ty))


_ONES = frozenset({"repeats", "k", "block_shape"})
_NOTHING = frozenset({"axis", "axes"})
_NO_DEFAULT = object()


@reduction("plain attributes of operators")
def op_attributes(sketch: Sketch) -> Edits:
    """Plain attributes of operators: what an operator's builder sets by itself; where none, ones, no axis, off."""
    for index, slot in enumerate(slots_of(sketch)):
        value = slot.binding.value
        if not isinstance(value, tvm.ir.Call) or not isinstance(value.op, tvm.ir.Op):
            continue
        defaults = _defaults(str(value.op.name))
        fields = fields_of(value.attrs)
        simple = [(name, new) for name, old in fields.items() for new in _simpler(name, _plain(old), defaults)]
        if len({name for name, _ in simple}) > 1:
            yield (index, 0), edit(sketch, _with, index, dict(reversed(simple)))
        for place, (name, new) in enumerate(simple):
            yield (index, 1 + place), edit(sketch, _with, index, {name: new})


@functools.cache
def _defaults(operator: str) -> dict[str, Any]:
    """Return what an operator's builder sets by itself."""
    builder = functools.reduce(lambda room, name: getattr(room, name, None), operator.split(".")[1:], relax.op)
    parameters = inspect.signature(builder).parameters if inspect.isfunction(builder) else {}
    return {name: each.default for name, each in parameters.items() if each.default is not each.empty}


def _simpler(name: str, old: Any, defaults: dict[str, Any]) -> Iterator[Any]:
    """Yield plainer values than ``old``, the plainest first; none where it is the default."""
    default = _plain(defaults.get(name, _NO_DEFAULT))
    if isinstance(old, list) and default is not None and default is not _NO_DEFAULT:
        entries = default if isinstance(default, list) else [default]
        default = entries[:1] * len(old) if len(set(entries)) == 1 else default
    if default is not _NO_DEFAULT:
        # For text, nothing stands for what the builder takes from elsewhere (``out_layout``).
        if old != default and (type(old) is type(default) or (default is None and not isinstance(old, str))):
            yield default
    elif isinstance(old, bool):
        if old:
            yield False
    elif name in _NOTHING:
        if old is not None:
            yield None
        if isinstance(old, int) and old != 0:
            yield 0
    elif name in _ONES:
        plain = [1] * len(old) if isinstance(old, list) else 1
        if old != plain and isinstance(old, int | list):
            yield plain


def _plain(value: Any) -> Any:
    """Return numbers and lists of them as Python has them."""
    if isinstance(value, tvm.tirx.IntImm):
        return int(value)
    return [*map(_plain, value)] if isinstance(value, list | tuple | tvm.ir.Array) else value


def _with(sketch: Sketch, index: int, fields: dict[str, Any]) -> None:
    binding = slots_of(sketch)[index].binding
    try:
        call = binding.value
        binding.value = tvm.ir.Call(call.op, list(call.args), with_fields(call.attrs, **fields), list(call.ty_args))
    except Exception as error:  # attributes check their fields, each in its own way
        raise Invalid(str(error)) from error
