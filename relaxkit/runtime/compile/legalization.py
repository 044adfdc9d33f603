"""LegalizeOps with a memory: calls that are alike are legalized once.

The pass is TVM's own.  Its documented argument ``customize_legalize_map`` replaces the functions that legalize one call
by ones that remember: what an operator with such attributes on arguments of such types becomes, a kernel and the way
in which it is called, is the same in every module.  A call costs some microseconds then, not the millisecond in which
TVM's Python makes a kernel.

What is remembered is a ``call_tir`` of one new PrimFunc on the arguments of the call.  Everything else is left to TVM:
calls whose legalization looks at more than the call itself (how a tuple or a shape was bound), that emits bindings, or
that becomes something else.  ``tests/oracles/test_legalization.py`` holds the pass against the plain one.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.equality import same

FLEGALIZE = "FLegalize"
LIMIT = 8192  # calls that are remembered: some kilobytes each, most of it the kernel
_CALL_TIR = "relax.call_tir"


class _NotPlain(Exception):
    """The call, or what it becomes, is nothing that is remembered."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call by what decides how it is legalized.

    Attributes:
        key: Operator, attributes, types and values, in a list that can be compared by structure.
        tensors: The arguments that are tensors, those in tuples included, in order.
    """

    key: list[Any]
    tensors: list[Any]


@dataclass(frozen=True, slots=True)
class _Output:
    """The type of one tensor that a kernel returns.

    Attributes:
        device: When it is on a virtual device, the number of an argument that is on it, too.
    """

    ty: Any
    device: int | None


@dataclass(frozen=True, slots=True)
class _Legal:
    """The call that takes the place of another.

    Attributes:
        key: As of :class:`_Call`.
        hint: Name that the kernel asked for; empty when the call is left to TVM.
        kernel: The PrimFunc.
        taken: Items of tuples that are bound first: the number of the argument, and the index.
        direct: Whether the kernel is called itself, for a scalar, and not by ``call_tir``.
        fields: Arguments of the kernel: the number of a tensor, of those bound first after the others, or a scalar.
        extra: Further arguments of ``call_tir`` (``tir_vars`` of TVM before 0.27).
        attrs: Attributes of the new call.
        outputs: What it returns.
        returns: The type arguments of the new call, where they are the same in every module.
        symbols: Symbolic variables of the key in order, when scalars or types name some.
    """

    key: list[Any]
    hint: str = ""
    kernel: Any = None
    taken: tuple[tuple[int, int], ...] = ()
    direct: bool = False
    fields: tuple[Any, ...] = ()
    extra: tuple[Any, ...] = ()
    attrs: Any = None
    outputs: tuple[_Output, ...] = ()
    returns: Any = None
    symbols: tuple[Any, ...] = ()


class Legalizer:
    """LegalizeOps, remembering.

    Args:
        limit: How many calls to remember; the least recently used are forgotten.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self.left = 0
        self._known: OrderedDict[int, list[_Legal]] = OrderedDict()

    @functools.cached_property
    def transform(self) -> Any:
        """Return the pass."""
        custom = {}
        for name in tvm.ir.Op.list_op_names():
            original = tvm.ir.Op.get(name).get_attr(FLEGALIZE)
            if original is not None and str(name).startswith("relax."):
                custom[str(name)] = functools.partial(self._legalize, original)
        return relax.transform.LegalizeOps(custom)

    def _legalize(self, original: Callable[[Any, Any], Any], builder: relax.BlockBuilder, call: relax.Call) -> Any:
        try:
            described = _described(call)
            legal = self._recall(described) or self._learn(described, original, call)
        except _NotPlain:
            self.left += 1
            return original(builder, call)
        if not legal.hint:
            self.left += 1
            return original(builder, call)
        return _replay(legal, builder, described, call)

    def _recall(self, call: _Call) -> _Legal | None:
        hashed = tvm_ffi.structural_hash(call.key, map_free_vars=True)
        for legal in self._known.get(hashed, ()):
            if tvm_ffi.structural_equal(legal.key, call.key, map_free_vars=True):
                self._known.move_to_end(hashed)
                self.hits += 1
                return legal
        return None

    def _learn(self, described: _Call, original: Callable[[Any, Any], Any], call: relax.Call) -> _Legal:
        self.misses += 1
        try:
            legal = _legalized_alone(described, original, call)
        except Exception:  # an error of TVM's, too, which comes back where the call stands
            legal = _Legal(described.key)
        hashed = tvm_ffi.structural_hash(described.key, map_free_vars=True)
        self._known.setdefault(hashed, []).append(legal)
        self._known.move_to_end(hashed)
        while len(self._known) > self.limit:
            self._known.popitem(last=False)
        return legal


def _described(call: relax.Call) -> _Call:
    """Return the call by what decides; raises ``_NotPlain``."""
    tensors: list[Any] = []
    key: list[Any] = [call.op, call.attrs, call.ty, call.ty_args]
    for argument in call.args:
        _describe(argument, key, tensors)
    # A tensor that is passed twice.
    for index, tensor in enumerate(tensors):
        key.append(next(first for first in range(index + 1) if tensors[first].same_as(tensor)))
    return _Call(key, tensors)


def _describe(argument: Any, key: list[Any], tensors: list[Any]) -> None:
    ty = argument.ty
    if isinstance(argument, relax.Tuple):
        key.append(len(argument.fields))
        for field in argument.fields:
            _describe(field, key, tensors)
    elif isinstance(ty, relax.TensorType):
        if isinstance(argument, tvm.ir.GenericConst):
            # Scalars become part of the kernel; larger constants are data.
            key.append(argument if math.prod(argument.value.shape) <= 1 else ty)
        elif isinstance(argument, relax.Var):
            key.append(ty)
        else:
            raise _NotPlain
        tensors.append(argument)
    elif isinstance(argument, (relax.ShapeExpr, *_literals())) or _is_scalar(argument):
        key.append(argument)
    else:
        raise _NotPlain


def _is_scalar(argument: Any) -> bool:
    """Say whether it is a number or an expression of symbolic variables; not a variable, which is bound somewhere."""
    return isinstance(argument.ty, tvm.ir.PrimType) and not isinstance(argument, relax.Var)


def _legalized_alone(described: _Call, original: Callable[[Any, Any], Any], call: relax.Call) -> _Legal:
    """Legalize a call in a module of its own; raises ``_NotPlain``, or whatever TVM raises."""
    builder = relax.BlockBuilder()
    builder._begin_binding_block()
    try:
        result = original(builder, call)
    finally:
        block = builder._end_block()
    functions = list(builder.get().functions.items())
    if len(functions) != 1 or not isinstance(result, relax.Call):
        raise _NotPlain
    ((global_var, kernel),) = functions
    if not isinstance(kernel, tirx.PrimFunc):
        raise _NotPlain
    taken = tuple([_taken(binding, call) for binding in block.bindings])
    tensors = [*described.tensors, *(binding.var for binding in block.bindings)]
    hint = str(global_var.name_hint)
    if result.op.same_as(global_var):
        fields = tuple([_field(field, tensors) for field in result.args])
        if result.attrs is not None or len(result.ty_args) or _symbols(fields):
            raise _NotPlain
        return _Legal(described.key, hint, kernel, taken, direct=True, fields=fields)
    if not isinstance(result.op, tvm.ir.Op) or result.op.name != _CALL_TIR:
        raise _NotPlain
    callee, arguments, *extra = result.args
    if not callee.same_as(global_var) or not isinstance(arguments, relax.Tuple) or len(result.ty_args) != 1:
        raise _NotPlain
    if not all(isinstance(each, relax.ShapeExpr) for each in extra):
        raise _NotPlain
    fields = tuple([_field(field, tensors) for field in arguments.fields])
    (returned,) = result.ty_args
    types = returned.fields if isinstance(returned, relax.TupleType) else [returned]
    outputs = tuple([_Output(ty, _device(ty, described.tensors)) for ty in types])
    used = _symbols([*fields, *extra, *types])
    known = _symbols(described.key)
    if not all(any(var.same_as(other) for other in known) for var in used):
        raise _NotPlain
    moves = bool(used) or any(output.device is not None for output in outputs)
    return _Legal(
        key=described.key,
        hint=hint,
        kernel=kernel,
        taken=taken,
        fields=fields,
        extra=tuple(extra),
        attrs=result.attrs,
        outputs=outputs,
        returns=None if moves else result.ty_args,
        symbols=tuple(known) if used else (),
    )


def _taken(binding: relax.Binding, call: relax.Call) -> tuple[int, int]:
    """Return the item of an argument that a binding takes."""
    if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.TupleGetItem):
        for number, argument in enumerate(call.args):
            if binding.value.tuple_value.same_as(argument):
                return number, int(binding.value.index)
    raise _NotPlain


def _field(field: Any, tensors: list[Any]) -> Any:
    """Return the number of a tensor among the arguments, or the scalar itself."""
    for index, tensor in enumerate(tensors):
        if field.same_as(tensor):
            return index
    if isinstance(field.ty, tvm.ir.PrimType):
        return field
    raise _NotPlain


def _device(ty: relax.Type, tensors: list[Any]) -> int | None:
    if not isinstance(ty, relax.TensorType):
        raise _NotPlain
    if ty.vdevice is None:
        return None
    for index, tensor in enumerate(tensors):
        device = tensor.ty.vdevice
        if device is not None and same(device, ty.vdevice):
            return index
    raise _NotPlain


def _symbols(parts: Sequence[Any]) -> list[Any]:
    """Return the symbolic variables in types, shapes and scalars, in the order in which they first appear."""
    named: list[Any] = []
    if hasattr(tvm_ffi, "structural_map"):
        objects = [part for part in parts if isinstance(part, tvm_ffi.Object)]
        tvm_ffi.structural_walk(objects, [(tirx.Var, named.append)], order="pre")
    else:  # until TVM 0.26
        for scalar in _scalars(parts):
            named += tirx.analysis.undefined_vars(scalar)
    found: list[Any] = []
    for var in named:
        if not any(var.same_as(other) for other in found):
            found.append(var)
    return found


def _scalars(parts: Sequence[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, relax.TensorType):
            if part.shape is not None:
                yield from _scalars([part.shape])
        elif isinstance(part, relax.TupleType):
            yield from _scalars(part.fields)
        elif isinstance(part, (relax.ShapeExpr, relax.ShapeType)):
            yield from _scalars(part.values or ())
        elif isinstance(part, tvm_ffi.Array):
            yield from _scalars(part)
        elif _may_name_symbols(part):
            yield part


def _may_name_symbols(part: Any) -> bool:
    if not isinstance(part, tvm_ffi.Object) or isinstance(part, (tirx.IntImm, tirx.FloatImm, tvm.ir.Op, tvm.ir.Attrs)):
        return False
    return isinstance(getattr(part, "ty", None), tvm.ir.PrimType)


def _replay(legal: _Legal, builder: relax.BlockBuilder, described: _Call, call: relax.Call) -> Any:
    """Return what a call becomes, in another module."""
    taken = [builder.emit(relax.TupleGetItem(call.args[number], index)) for number, index in legal.taken]
    tensors = [*described.tensors, *taken]
    global_var = builder.add_func(legal.kernel, legal.hint)
    if legal.direct:
        return relax.Call(global_var, [tensors[each] if isinstance(each, int) else each for each in legal.fields])
    fields, extra, returns = legal.fields, legal.extra, legal.returns
    if returns is None:
        moved = list(zip(legal.symbols, _symbols(described.key), strict=True)) if legal.symbols else []
        fields = tuple([field if isinstance(field, int) else _moved(field, moved) for field in fields])
        extra = tuple([relax.ShapeExpr([_moved(value, moved) for value in each.values]) for each in extra])
        types = [_returned(output, moved, described.tensors) for output in legal.outputs]
        returns = types if len(types) == 1 else [relax.TupleType(types)]
    arguments = [tensors[field] if isinstance(field, int) else field for field in fields]
    return relax.Call(_call_tir(), [global_var, relax.Tuple(arguments), *extra], legal.attrs, returns)


def _returned(output: _Output, moved: list[tuple[Any, Any]], tensors: list[Any]) -> Any:
    device = None if output.device is None else tensors[output.device].ty.vdevice
    return relax.TensorType([_moved(dim, moved) for dim in output.ty.shape.values], output.ty.dtype, device)


def _moved(scalar: Any, moved: list[tuple[Any, Any]]) -> Any:
    """Return the scalar with symbolic variables replaced."""
    for old, new in moved:
        if scalar.same_as(old):
            return new
    if not moved or not tirx.analysis.undefined_vars(scalar):
        return scalar
    return _substitute(scalar, moved)


def _substitute(scalar: Any, moved: list[tuple[Any, Any]]) -> Any:
    if not hasattr(tvm_ffi, "structural_map"):  # until TVM 0.26
        return tirx.stmt_functor.substitute(scalar, dict(moved))

    def replaced(var: relax.Var) -> Any:
        return next((new for old, new in moved if var.same_as(old)), var)

    return tvm_ffi.structural_map(scalar, (tvm.ir.Var, replaced))


@functools.cache
def _literals() -> tuple[type, ...]:
    """Strings and dtypes as arguments, in whatever module the installed TVM has them."""
    names = ("StringImm", "DataTypeImm")
    return tuple([getattr(home, name) for home in (relax, tirx, tvm.ir) for name in names if hasattr(home, name)])


@functools.cache
def _call_tir() -> Any:
    return tvm.ir.Op.get(_CALL_TIR)
