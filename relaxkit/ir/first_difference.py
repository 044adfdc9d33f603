"""Where two modules differ first, in words of the program: which function, operator, operand, attribute or type."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, is_public
from relaxkit.ir.retype import fields_of
from relaxkit.ir.types import dims_of
from relaxkit.ir.walk import callee_name, is_constant, name_of, operator_of, places

_SHOWN = 2  # operators of a row that are named
_TWIN = 0.85  # relax.nn.attention and relax.nn.attention_bias are alike, relax.add and relax.abs are not
_MOST = 60
_NUMBER = re.compile(r"T\.(?:u?int|float|bool)\d*\(([^()]*)\)")
_Numbers = tuple[dict[Any, int], ...]


class Part(enum.Enum):
    """The kinds of differences: what somebody does who makes the second of the first, and what holds of the first.

    The words are filled with the fields of a :class:`Difference`.
    """

    OPERAND_GONE = "drops {name} of {owner}", "when {owner} has {name}"
    ATTRIBUTE = "changes {name} of {owner} from {before} to {after}", "{kind}"
    OPERAND = "gives {owner} {after} instead of {before} as {name}", "{kind}"
    OPERATORS = "replaces {before} with {after}", "on {kind}"
    OPERATOR_GONE = "drops {before}", "on {kind}"
    OPERATOR_NEW = "adds {after}", ""
    OPERATOR_MOVED = "moves {after} {name}", "on {after}"
    TYPE = "changes the type of {owner} from {before} to {after}", "on {kind}"
    DEVICE = "changes the device of {owner}", "on a tensor with a vdevice"
    SIGNATURE = "changes {name} of {owner} from {before} to {after}", ""
    RESULT = "makes {owner} return {after} instead of {before}", ""
    PROPERTY = "makes {owner} {after}", "on a {before} function"
    BODY = "changes the body of {owner}", ""
    FUNCTION_GONE = "drops the function {owner}", "on {kind}"
    FUNCTION_NEW = "adds the function {owner}", ""
    MODULE = "changes the module's list of {owner}s", "when the module lists {owner}s"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two modules; fields that a part does not have are empty.

    Attributes:
        part: What differs.
        owner: The function, operator or parameter that it is one of.
        name: Of an operand or an attribute.
        before: What the first module has, in few words.
        after: What the second has.
        kind: What is special of that of the first, without names of the program; nothing where ``part`` needs none.
    """

    part: Part
    owner: str = ""
    name: str = ""
    before: str = ""
    after: str = ""
    kind: str = ""

    @property
    def change(self) -> str:
        """What somebody does who makes the second module of the first: ``drops bias of relax.nn.attention_bias``."""
        if self.part is Part.OPERAND and self.before == self.after:
            return f"gives {self.owner} another {self.before.removeprefix('a ')} as {self.name}"
        return self.part.value[0].format(**asdict(self))

    @property
    def held(self) -> str:
        """What holds of the first module and not of the second: ``on relax.argsort``; may be empty."""
        held = self.part.value[1]
        return held.format(**asdict(self)) if self.kind or "{kind}" not in held else ""


def differences(before: tvm.IRModule, after: tvm.IRModule) -> Iterator[Difference]:
    """Yield where two modules differ, functions that both have first, public ones before private ones."""
    ours, theirs = functions_by_name(before), functions_by_name(after)
    for name in sorted(ours.keys() & theirs.keys(), key=lambda name: (not is_public(ours[name]), name)):
        if not _same(ours[name], theirs[name]):
            yield from [*_of_function(name, ours[name], theirs[name])] or [Difference(Part.BODY, name)]
    for name in sorted(ours.keys() - theirs.keys()):
        kind = f"{'public' if is_public(ours[name]) else 'private'} function"
        kind = f"a {kind if isinstance(ours[name], relax.Function) else 'PrimFunc'}"
        yield Difference(Part.FUNCTION_GONE, name, kind=kind)
    yield from (Difference(Part.FUNCTION_NEW, name) for name in sorted(theirs.keys() - ours.keys()))
    for key in sorted({*map(str, before.global_infos), *map(str, after.global_infos)}):
        if not tvm_ffi.structural_equal(before.global_infos.get(key), after.global_infos.get(key)):
            yield Difference(Part.MODULE, key)


def _of_function(name: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, relax.Function) and isinstance(new, relax.Function):
        yield from _of_relax(name, old, new)
        if old.is_pure != new.is_pure:
            yield Difference(Part.PROPERTY, name, "", *("pure" if each.is_pure else "impure" for each in (old, new)))
    if is_public(old) != is_public(new):
        yield Difference(Part.PROPERTY, name, "", *("public" if is_public(each) else "private" for each in (old, new)))
    ours, theirs = dict(old.attrs or {}), dict(new.attrs or {})
    for key in dict.fromkeys([*ours, *theirs]):
        if key != "global_symbol" and not tvm_ffi.structural_equal(ours.get(key), theirs.get(key)):
            was, now = (value_text(each[key]) if key in each else "none" for each in (ours, theirs))
            yield _attribute(name, str(key), was, now, "" if key in theirs else f"when {name} has {key}")


def _of_relax(name: str, old: relax.Function, new: relax.Function) -> Iterator[Difference]:
    names = [f"({', '.join(map(name_of, function.params))})" for function in (old, new)]
    if len(old.params) != len(new.params):
        yield Difference(Part.SIGNATURE, name, "the parameters", *names)
    yield from _of_bindings(name, old, new)
    for param, other in zip(old.params, new.params, strict=False):
        users = (operator_of(place.value) for place in places(old) if param in getattr(place.value, "args", ()))
        yield from of_types(name_of(param), param.ty, other.ty, next(filter(None, users), ""))
    if not _same(old.ret_ty, new.ret_ty):
        yield Difference(Part.SIGNATURE, name, "the result type", *type_texts(old.ret_ty, new.ret_ty))


def _of_bindings(name: str, old: relax.Function, new: relax.Function) -> Iterator[Difference]:
    """Yield what calls have lost, then where the rows of calls differ; where they are alike, each other difference."""
    ours, theirs = ([place.binding for place in places(function)] for function in (old, new))
    rows = [[_called(binding) for binding in bindings] for bindings in (ours, theirs)]
    numbers: _Numbers = ()
    if rows[0] == rows[1]:
        variables = [(*old.params, *(each.var for each in ours)), (*new.params, *(each.var for each in theirs))]
        numbers = tuple({var: number for number, var in enumerate(each)} for each in variables)
    changed = []
    for tag, start, stop, begin, end in SequenceMatcher(None, rows[0], rows[1], autojunk=False).get_opcodes():
        pairs = [*zip(ours[start:stop], theirs[begin:end], strict=False)]
        if tag != "equal":
            pairs = [*_twins(ours[start:stop], theirs[begin:end])]
            gone, come = ([called for called in row if called] for row in (rows[0][start:stop], rows[1][begin:end]))
            come.sort(key=lambda called: -max((_likeness(called, other) for other in gone), default=0.0))
            part = Part.OPERATORS if gone and come else Part.OPERATOR_GONE if gone else Part.OPERATOR_NEW
            kind = _row([*filter(None, map(_kind, ours[start:stop]))])
            beside = next((f"before {called}" for called in rows[1][end:] if called), f"behind {_row(rows[1][:begin])}")
            changed += [Difference(part, name, beside, _row(gone), _row(come), kind)] if gone or come else []
        for left, right in pairs:
            if isinstance(left.value, relax.Call) and isinstance(right.value, relax.Call):
                yield from _of_call(left.value, right.value, numbers)
            if numbers:
                given = [getattr(each.value, "ty_args", None) or () for each in (left, right)]
                types = [(left.var.ty, right.var.ty), *zip(*given, strict=False)]
                found = (each for pair in types for each in of_types(_called(left) or name_of(left.var), *pair))
                yield from dict.fromkeys(found)
    moved = {each.before for each in changed if not each.after} & {each.after for each in changed if not each.before}
    for each in changed:
        if each.after in moved:
            yield replace(each, part=Part.OPERATOR_MOVED)
        elif each.before not in moved:
            yield each
    results = old.body.body, new.body.body
    if numbers and isinstance(results[0], relax.Var) and numbers[0].get(results[0]) != numbers[1].get(results[1]):
        yield Difference(Part.RESULT, name, "", *map(value_text, results))


def _twins(ours: Sequence[Any], theirs: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield calls of operators whose names are so alike that one must have become the other."""
    for left in ours:
        alike = [(_likeness(_called(left), _called(right)), at) for at, right in enumerate(theirs)]
        likeness, at = max(alike, default=(0.0, 0))
        if likeness > _TWIN and operator_of(left.value) and operator_of(theirs[at].value):
            yield left, theirs[at]


def _likeness(left: str, right: str) -> float:
    return SequenceMatcher(None, left, right).ratio()


def of_types(owner: str, old: Any, new: Any, user: str = "") -> Iterator[Difference]:
    """Yield the types where they differ, of what an operator uses; devices have no names in them."""
    if not _same(old, new):
        values = type_texts(old, new)
        kind = _apart(old, new)
        user = user or owner * ("." in owner)
        kind = f"{user} of {kind}" if user else kind if kind.startswith("a ") else f"a tensor of {kind}"
        device = value_text(old) == value_text(new)  # which has no device in it
        yield Difference(Part.DEVICE if device else Part.TYPE, owner, "", *values, kind)


def type_texts(old: Any, new: Any) -> tuple[str, str]:
    """Write two types in few words: of tensors only what differs, dtype, shape or device; of tuples a field."""
    if isinstance(old, relax.TupleType) and isinstance(new, relax.TupleType) and len(old.fields) == len(new.fields):
        return next(
            (type_texts(*pair) for pair in zip(old.fields, new.fields, strict=True) if not _same(*pair)), ("", "")
        )
    if isinstance(old, relax.TensorType) and isinstance(new, relax.TensorType):
        dims, placed = [_shape_text(each) for each in (old, new)], [old.vdevice, new.vdevice]
        dtypes = [str(each.dtype) for each in (old, new)]
        if dims[0] and dims[0] == dims[1] and dtypes[0] != dtypes[1]:
            return dtypes[0], f"{dtypes[1]} ({dims[0]})"
        if all(dims) and dims[0] != dims[1] and dtypes[0] == dtypes[1]:
            return dims[0], dims[1]
        if value_text(old) == value_text(new):
            was, now = (
                f"vdevice {each.target.kind.name}:{each.vdevice_id}" if each else "no vdevice" for each in placed
            )
            return was, now
    return value_text(old), value_text(new)


def _shape_text(ty: relax.TensorType) -> str:
    """Write a shape as Python does a tuple; empty where it is unknown."""
    dims = dims_of(ty)
    listed = None if dims is None else [str(getattr(dim, "value", dim)) for dim in dims]
    return "" if listed is None else f"shape ({', '.join(listed)}{',' * (len(listed) == 1)})"


def _apart(old: Any, new: Any) -> str:
    """Say what of a type is not as in the other."""
    if isinstance(old, tvm.ir.PrimType) and isinstance(new, tvm.ir.PrimType):
        return f"a scalar other than {value_text(new)}"
    if not isinstance(old, relax.TensorType):
        return "a tuple" if isinstance(old, relax.TupleType) else value_text(old)
    if -1 < old.ndim != getattr(new, "ndim", -1) > -1:
        return f"rank {old.ndim}"
    if old.shape is None and getattr(new, "shape", None) is not None:
        return "unknown shape"
    if str(old.dtype) != str(getattr(new, "dtype", "")):
        return str(old.dtype or "unknown dtype")
    dims = [getattr(dim, "value", None) for dim in dims_of(old) or ()]
    return "a symbolic dim" if None in dims else f"shape {tuple(dims)}"


def _of_call(old: relax.Call, new: relax.Call, numbers: _Numbers) -> Iterator[Difference]:
    owner = operator_of(old) or callee_name(old.op)
    names = [str(each.name) for each in old.op.arguments] if isinstance(old.op, tvm.ir.Op) else []
    for at, operand in enumerate(old.args):
        label = names[at] if len(names) == len(old.args) else f"operand {at}"
        if at >= len(new.args):
            yield Difference(Part.OPERAND_GONE, owner, label)
        elif numbers and not _alike(operand, new.args[at], numbers):
            pairs = [*zip(*(getattr(each, "fields", [each]) for each in (operand, new.args[at])), strict=False)]
            constants = [pair for pair in pairs if all(map(is_constant, pair))]
            typed = [
                each
                for pair in constants
                for each in of_types(f"a constant of {_callee(old)}", *(one.ty for one in pair))
            ]
            values = value_text(operand), value_text(new.args[at])
            scalar = [isinstance(one.ty, tvm.ir.PrimType) for one in (operand, new.args[at])] == [True, False]
            kind = "" if isinstance(operand, relax.Var) else f"when {label} of {owner} is {values[0]}"
            kind = f"when an operand of {owner} is a PrimExpr" if scalar else kind
            yield from typed or [Difference(Part.OPERAND, owner, label, *values, kind)]
    theirs = fields_of(new.attrs)
    for key, value in fields_of(old.attrs).items():
        if key in theirs and not _same(value, theirs[key]):
            flat = key == "axis" and getattr(old.args[0].ty, "ndim", None) == 1  # it has no other
            kind = f"when the operand of {owner} is 1-D" if flat else ""
            yield _attribute(owner, str(key), value_text(value), value_text(theirs[key]), kind)


def _attribute(owner: str, name: str, before: str, after: str, kind: str = "") -> Difference:
    return Difference(Part.ATTRIBUTE, owner, name, before, after, kind or f"when {name} of {owner} is {before}")


def _alike(left: Any, right: Any, numbers: _Numbers) -> bool:
    if isinstance(left, relax.Var) and isinstance(right, relax.Var):
        return numbers[0].get(left) == numbers[1].get(right)
    if isinstance(left, relax.Tuple) and isinstance(right, relax.Tuple):
        pairs = zip(left.fields, right.fields, strict=False)
        return len(left.fields) == len(right.fields) and all(_alike(*pair, numbers) for pair in pairs)
    return callee_name(left) == callee_name(right) if isinstance(left, tvm.ir.GlobalVar) else _same(left, right)


def _same(left: Any, right: Any) -> bool:
    return bool(tvm_ffi.structural_equal(left, right, map_free_vars=True))


def _called(binding: Any) -> str:
    """Return what a binding calls, an operator, a kernel or a function; what else it is where it calls nothing."""
    value = binding.value
    if isinstance(value, relax.Call):
        return _callee(value)
    if isinstance(binding, relax.MatchCast):
        return "match_cast"
    return {relax.If: "an If", relax.Function: "a local function"}.get(type(value), "")


def _callee(call: relax.Call) -> str:
    inner = callee_name(call.args[0]) if operator_of(call) in ("relax.call_tir", "relax.call_pure_packed") else ""
    return inner or operator_of(call) or callee_name(call.op) or "a call through a variable"


def _kind(binding: Any) -> str:
    """Return what a binding calls, but of what the program itself names only the kind."""
    named = isinstance(getattr(binding.value, "op", None), tvm.ir.GlobalVar)
    return "a call to another function" if named else operator_of(binding.value) or _called(binding)


def _row(names: Sequence[str]) -> str:
    names = [*dict.fromkeys(names)]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def value_text(value: Any) -> str:
    """Write a value or a type in few words: ``a float32 tensor (2, n)``."""
    if isinstance(value, relax.TensorType):
        dims = dims_of(value)
        rank = f"of rank {value.ndim}" if value.ndim >= 0 else ""
        shape = rank if dims is None else f"({', '.join(str(getattr(d, 'value', d)) for d in dims)})"
        dtype = "" if value.dtype is None else str(value.dtype)
        unknown = " and ".join(what for what, known in (("rank", shape), ("dtype", dtype)) if not known)
        return " ".join(filter(None, ("a", dtype, "tensor", shape, unknown and f"of unknown {unknown}")))
    if is_constant(value):
        return "a constant"
    text = name_of(value) if isinstance(value, relax.Var) else " ".join(str(value).split())
    text = _NUMBER.sub(r"\1", text)
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."
