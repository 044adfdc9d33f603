"""Values that a program states: attributes of calls, constants, scalars, and how exactly a result is kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from proof_mutations.draft import (
    ALLOC_STORAGE,
    ALLOC_TENSOR,
    MUTATIONS,
    Draft,
    Mutant,
    callee,
    kind,
    operands,
    shifted,
    with_item,
)
from relaxkit.ir.retype import fields_of, with_fields
from relaxkit.ir.walk import is_constant


def _attribute(name: str, varied: Callable[[Any], list[Any]]) -> None:
    """Enter a kind that gives an attribute of a call another value."""

    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, place in draft.calls:
            attrs = place.binding.value.attrs
            for key, value in fields_of(attrs).items():
                for other in varied(value):
                    yield functools.partial(_with_attribute, draft, var, place, key, other)

    MUTATIONS[name] = mutation


def _with_attribute(draft: Draft, var: Any, place: Any, key: str, value: Any) -> Any:
    call = place.binding.value
    return draft.recalled(var, place, call.args, with_fields(call.attrs, **{key: value}))()


_TEXTS = (("NCHW", "NHWC"), ("constant", "reflect"), ("edge", "reflect"), ("none", "add"), ("mean", "sum"),
          ("half_pixel", "align_corners"), ("linear", "nearest_neighbor"), ("both", "ascend"))  # fmt: skip


def _other_texts(value: Any) -> list[Any]:
    return [pair[1 - pair.index(value)] for pair in _TEXTS if value in pair] if isinstance(value, str) else []


def _other_ints(value: Any) -> list[Any]:
    if not isinstance(value, tvm_ffi.Array) or not all(isinstance(each, int | tirx.IntImm) for each in value):
        return []
    ints = [int(each) for each in value]
    return [ints[::-1], *([*ints[:at], ints[at] + by, *ints[at + 1 :]] for at in range(len(ints)) for by in (-1, 1))]


def _another_dtype(value: Any) -> list[Any]:
    wider = {"float32": "float16", "int32": "int8", "int64": "int16", "float16": "float32", "bool": "int8"}
    return [tvm_ffi.dtype(wider[str(value)])] if isinstance(value, tvm_ffi.dtype) and str(value) in wider else []


_attribute("a flag negated", lambda value: [not value] if isinstance(value, bool) else [])
_attribute(
    "another whole number",
    lambda value: [value + 1, value - 1, -value] if isinstance(value, int) and not isinstance(value, bool) else [],
)
_attribute("another fraction", lambda value: [value * 2 + 1, -value, value + 1e-3] if isinstance(value, float) else [])
_attribute("another list of numbers", _other_ints)
_attribute("another mode", _other_texts)
_attribute("another dtype", _another_dtype)


@kind
def rounded_to_half(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        value, bound = place.binding.value, place.binding.var
        if isinstance(bound.ty, relax.TensorType) and str(bound.ty.dtype) == "float32":
            narrow = relax.op.astype(relax.op.astype(value, "float16"), "float32")
            yield functools.partial(draft.revalued, var, place, narrow)


def _constants(draft: Draft) -> Iterator[tuple[Any, Any, Any, np.ndarray[Any, Any]]]:
    for var, place in draft.places:
        parts = operands(place.binding.value)[0] if isinstance(place.binding.value, relax.Call) else ()
        for each in (*parts, place.binding.value):
            if is_constant(each) and isinstance(each.value, tvm.runtime.Tensor) and each.value.numpy().size:
                yield var, place, each, each.value.numpy()


def _with_constant(draft: Draft, var: Any, place: Any, old: Any, new: np.ndarray[Any, Any]) -> Any:
    made = relax.const(new, str(old.ty.dtype))
    if place.binding.value.same_as(old):
        return draft.revalued(var, place, made)
    values, rebuilt = operands(place.binding.value)
    return draft.recalled(var, place, rebuilt([made if each.same_as(old) else each for each in values]))()


@kind
def another_element(draft: Draft) -> Iterator[Mutant]:
    for var, place, constant, array in _constants(draft):
        changed = array.copy()
        last = changed.reshape(-1)[-1]
        changed.reshape(-1)[-1] = np.logical_not(last) if array.dtype == bool else last + last.dtype.type(1)
        yield functools.partial(_with_constant, draft, var, place, constant, changed)


@kind
def elements_reversed(draft: Draft) -> Iterator[Mutant]:
    for var, place, constant, array in _constants(draft):
        if array.size > 1:
            yield functools.partial(
                _with_constant, draft, var, place, constant, array.reshape(-1)[::-1].reshape(array.shape).copy()
            )


@kind
def another_scalar(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            elsewhere = ("vm.", *ALLOC_STORAGE, *ALLOC_TENSOR, "relax.builtin.alloc_tensor")  # devices, offsets
            if isinstance(each, tirx.IntImm | tirx.FloatImm) and not callee(place.binding.value).startswith(elsewhere):
                for other in shifted(each, 1) + shifted(each, -1):
                    yield draft.recalled(var, place, with_item(args, at, other))
