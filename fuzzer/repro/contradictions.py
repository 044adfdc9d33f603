"""What the output of a pass contradicts, of its input or of itself, in words of the program.

TVM's checker, the virtual machine and wrong results tell the first symptom: two types that do not fit, a number.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.telling import TYPE, lost
from oracles.semantics.single import given_to
from relaxkit.ir.edits import is_impure
from relaxkit.ir.first_difference import type_texts, value_text
from relaxkit.ir.functions import functions_by_name, relax_functions
from relaxkit.ir.lowered import buffers_of
from relaxkit.ir.operator_facts import device_index
from relaxkit.ir.retype import fields_of
from relaxkit.ir.types import parts_of_type
from relaxkit.ir.undefined import bound
from relaxkit.ir.walk import Place, callee_name, expressions, name_of, operator_calls, operator_of, places

_KERNEL, _IN_PLACE = "relax.call_tir", "relax.call_tir_inplace"
_CAST = "relax.astype"
_ALLOCATED = "relax.memory.alloc_tensor"
_FORCED = "relax.force_pure"
_PASS = relax.analysis.BaseCheckResult.PASS


def contradictions(before: tvm.IRModule, after: tvm.IRModule) -> Iterator[str]:
    """Yield what a pass did that its output contradicts: ``drops out_dtype="float64" of relax.matmul``."""
    old = functions_by_name(before)
    for key in map(str, before.global_infos):
        if key not in map(str, after.global_infos):
            yield f"drops the module's {key} table (global_infos)"
    for name, function in relax_functions(after):
        given = old.get(name)
        yield from _devices(name, function, after)
        attributes = dict(function.attrs or {})
        if _FORCED in attributes and not function.is_pure:
            yield f"makes {name} impure, but leaves {_FORCED} on it"
        if (symbol := attributes.get("global_symbol", name)) != name:
            yield f"gives {name} the global_symbol {symbol}{', which another function has' if symbol in old else ''}"
        if isinstance(given, relax.Function):
            yield from _attributes(given, function)
            yield from _casts(given, function)
            yield from _replaced(given, function)
        yield from _impure(name, function, before)
        yield from _stored(function)
        yield from _types(function)
        yield from _void(function)
        yield from _calls(function, after)
    yield from _shared(before, after)


def lost_first(old: Any, new: Any, known: Mapping[Any, Place], made: Mapping[Any, Place]) -> tuple[Any, Any]:
    """Follow what the type of a variable has lost to the first value, before and after, that has lost it."""
    parts = lost(old.ty, new.ty)
    while old in known and new in made and operator_of(known[old].value) == operator_of(made[new].value) != "":
        ours, theirs = _operands(known[old]), _operands(made[new])
        pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else ()
        if (first := next((each for each in pairs if parts in lost(each[0].ty, each[1].ty)), None)) is None:
            break
        old, new = first
    return old, new


def cast(place: Place) -> str:
    """Say what a binding takes from the type of its value: ``casts x to a type without its shape``; else nothing."""
    parts = lost(place.value.ty, place.var.ty) if isinstance(place.binding, relax.MatchCast) else TYPE
    return "" if parts == TYPE else f"casts {value_text(place.value)} to a type without its {parts}"


def overwritten(after: tvm.IRModule) -> Iterator[str]:
    """Yield which value that is still held a kernel overwrites: ``overwrites lv, which the tuple lv1 holds``."""
    for _, function in relax_functions(after):
        found = places(function)
        held = {field: place for place in found for field in getattr(place.value, "fields", ())}
        for call in (place.value for place in found if operator_of(place.value) == _IN_PLACE):
            for at in call.attrs.inplace_indices:
                operand = call.args[1].fields[at] if at >= 0 else None
                if operand in held and _is_used(held[operand].var, function):
                    yield f"overwrites {name_of(operand)}, which the tuple {name_of(held[operand].var)} holds"


def vaguer(before: tvm.IRModule, after: tvm.IRModule, operator: str) -> Iterator[str]:
    """Yield what a pass has lost of the types of variables: ``loses the shape of lv``.

    Of what it casts only operands of the operator are told that needs to know more.
    """
    given = functions_by_name(before)
    for name, new in relax_functions(after):
        known, made = ({each.var: each for each in places(one)} for one in (given.get(name, new), new))
        named = {name_of(var): var for var in known}
        needed = {var for place in made.values() if operator_of(place.value) == operator for var in _operands(place)}
        for var, place in made.items():
            was = named.get(name_of(var))
            if was is not None and not _equal(was.ty, var.ty) and _fits(was.ty, var.ty):
                first, least = lost_first(was, var, known, made)
                yield f"loses the {lost(first.ty, least.ty)} of {name_of(first)}"
            elif was is None and var in needed and (done := cast(place)):
                yield done


def _devices(name: str, function: relax.Function, module: tvm.IRModule) -> Iterator[str]:
    listed = [each for infos in module.global_infos.values() for each in infos]
    for place in places(function):
        device, other = (getattr(each, "vdevice", None) for each in (place.var.ty, place.value.ty))
        if device is not None and other is not None and not _is(device, other):
            unused = "" if _is_used(place.var, function) else ", which nothing uses"
            yield f"leaves the old device in the type of {name_of(place.var)}{unused}"
        for key, value in fields_of(getattr(place.value, "attrs", None)).items():
            if isinstance(value, relax.VDevice) and not any(_is(value, each) for each in listed):
                yield f"leaves the old device in {key} of {operator_of(place.value)}"
    owners = {f"the parameter {name_of(var)}": var.ty for var in function.params} | {"the result type": function.ret_ty}
    for owner, ty in (owners | {name_of(place.var): place.var.ty for place in places(function)}).items():
        devices = [part.vdevice for part in parts_of_type(ty) if getattr(part, "vdevice", None) is not None]
        if any(not any(_is(device, each) for each in listed) for device in devices):
            yield f"leaves {owner} of {name} on a device that the module does not list"


def _attributes(old: relax.Function, new: relax.Function) -> Iterator[str]:
    """Yield the attributes that no call of an operator has any more."""
    left = [place.value for place in places(new)]
    for call in (place.value for place in places(old) if operator_of(place.value)):
        others = [each for each in left if operator_of(each) == operator_of(call)]
        for name, value in given_to(call).items() if others else ():
            if all(getattr(each.attrs, name, None) is None for each in others):
                yield f"drops {name}={value} of {operator_of(call)}"


def _casts(old: relax.Function, new: relax.Function) -> Iterator[str]:
    """Yield the calls that take what a match_cast takes, where they took its result."""
    taken = [
        {(operator_of(place.value), name_of(each)) for place in places(function) for each in _operands(place)}
        for function in (old, new)
    ]
    for cast in (place for place in places(old) if isinstance(place.binding, relax.MatchCast)):
        result, taker = name_of(cast.var), name_of(cast.value) if isinstance(cast.value, relax.Var) else ""
        if any(name == result for _, name in taken[0]):
            for operator in sorted(operator for operator, name in taken[1] - taken[0] if operator and name == taker):
                if (operator, result) not in taken[1]:
                    yield f"gives {operator} the operand of a match_cast, not its result"


def _replaced(old: relax.Function, new: relax.Function) -> Iterator[str]:
    """Yield the values for which other variables stand, of less specific types."""
    known = {name_of(place.var): place for place in places(old)}
    for place in (place for place in places(new) if name_of(place.var) in known):
        was, value = known[name_of(place.var)], place.value
        same = operator_of(was.value) == operator_of(value)
        pairs = [*zip(_operands(was), _operands(place), strict=False)] if same else []
        if isinstance(value, relax.Var) and operator_of(was.value):
            pairs = [(was.var, value)]
        if isinstance(value, relax.If) and (parts := lost(was.value.ty, value.ty)) != TYPE:
            yield f"loses the {parts} in the type of the If that {name_of(place.var)} is bound to"
        for one, other in pairs:
            if not isinstance(place.binding, relax.MatchCast) and (parts := lost(one.ty, other.ty)) != TYPE:
                what = bound(known.get(name_of(one), was))
                yield f"replaces {what} with {name_of(other)}, declared without its {parts}"


def _shared(before: tvm.IRModule, after: tvm.IRModule) -> Iterator[str]:
    """Yield the kernels that calls of different shapes share, and whose symbolic dims a pass has fixed."""
    old = functions_by_name(before)
    calls = [each for _, function in relax_functions(after) for each in operator_calls(function.body)]
    for name, kernel in functions_by_name(after).items():
        types = [
            call.args[1].ty for operator, call in calls if operator == _KERNEL and callee_name(call.args[0]) == name
        ]
        fixed = _is_symbolic(old.get(name)) and not _is_symbolic(kernel)
        if fixed and not all(_equal(types[0], each) for each in types):
            yield f"specializes {name}, which calls of different shapes share"


def _is_symbolic(kernel: Any) -> bool:
    buffers = buffers_of(kernel) if isinstance(kernel, tvm.tirx.PrimFunc) else []
    return any(not hasattr(dim, "value") for buffer in buffers if buffer is not None for dim in buffer.shape)


def _operands(place: Place) -> list[relax.Var]:
    """Return the variables that a call is given, by themselves or in a tuple."""
    given = [each for arg in getattr(place.value, "args", ()) for each in getattr(arg, "fields", [arg])]
    return [each for each in given if isinstance(each, relax.Var)]


def _impure(name: str, function: relax.Function, before: tvm.IRModule) -> Iterator[str]:
    """Yield the impure operators that come from functions which are said to be pure."""
    if function.is_pure and _FORCED not in (function.attrs or {}):
        mine = {operator_of(place.value) for place in places(function) if is_impure(place.value)}
        for other, given in relax_functions(before):
            if other != name and _FORCED in (given.attrs or {}):
                for operator in sorted(mine & {operator_of(place.value) for place in places(given)} - {""}):
                    yield f"moves {operator} from {other}, which has {_FORCED}, to {name}, which has not"


def _stored(function: relax.Function) -> Iterator[str]:
    """Yield the tensors on several devices that share memory."""
    tensors = [place for place in places(function) if operator_of(place.value) == _ALLOCATED]
    for one, other in itertools.combinations(tensors, 2):
        devices = [(device_index(each.value), each.var.ty.vdevice) for each in (one, other)]
        if one.value.args[0].same_as(other.value.args[0]) and not _equal(*devices):
            names = f"{name_of(one.var)} and {name_of(other.var)}"
            yield f"gives {names} one storage, though they are on different devices"


def _types(function: relax.Function) -> Iterator[str]:
    """Yield the results whose variables have other types than are inferred."""
    for place in (place for place in places(function) if operator_of(place.value)):
        with contextlib.suppress(Exception):  # of which nothing is inferred
            call, ty = place.value, place.var.ty
            inferred = relax.BlockBuilder().normalize(relax.Call(call.op, call.args, call.attrs, call.ty_args)).ty
            if not _fits(inferred, ty) and _fits(ty, inferred) and (parts := lost(ty, inferred)) != TYPE:
                yield f"declares the {parts} of {operator_of(call)}, which cannot be inferred"
            elif not _fits(inferred, ty) and value_text(ty) != value_text(inferred):
                other = value_text(inferred).replace(f"{value_text(ty).partition(' tensor')[0]} tensor", "one")
                yield f"declares {operator_of(call)} as {value_text(ty)} where {other} is inferred"


def _void(function: relax.Function) -> Iterator[str]:
    """Yield the casts to no dtype at all."""
    for place in places(function):
        if operator_of(place.value) == _CAST and str(place.value.attrs.dtype) in ("", "void"):
            yield f"casts {', '.join(map(name_of, _operands(place)))} to the dtype void"


def _calls(function: relax.Function, module: tvm.IRModule) -> Iterator[str]:
    """Yield the calls of functions that return something else than the calls say."""
    for place in (
        place for place in places(function) if isinstance(getattr(place.value, "op", None), tvm.ir.GlobalVar)
    ):
        callee = module.functions.get(place.value.op)
        if isinstance(callee, relax.Function):
            called = relax.Call(relax.Var("callee", callee.ty), place.value.args)
            with contextlib.suppress(Exception):  # of which nothing is inferred
                returned = relax.BlockBuilder().normalize(called).ty
                if not _fits(returned, place.value.ty):
                    said, due = type_texts(place.value.ty, returned)
                    name = place.value.op.name_hint
                    yield f"calls {name} as if it returned {said}, not {due.partition(' (shape')[0]}"


def _is_used(var: relax.Var, function: relax.Function) -> bool:
    return any(each.same_as(var) for each in expressions(function.body))


def _is(left: Any, right: Any) -> bool:
    return bool(tvm_ffi.Object.same_as(left, right))  # that of devices recurses without end


def _fits(ty: Any, other: Any) -> bool:
    return bool(relax.analysis.type_base_check(other, ty) == _PASS)


def _equal(left: Any, right: Any) -> bool:
    return bool(tvm_ffi.structural_equal(left, right, map_free_vars=True))
