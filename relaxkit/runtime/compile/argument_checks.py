"""The functions that check the arguments of kernels: compiled once, and linked with every object of kernels.

TVM writes the checks of a packed function's arguments out into each of them, with a message for every case: four fifths
of the machine code of a small kernel.  The functions here check the same of one argument, told its dtype, rank and dims
as numbers, and ``packed_functions.py`` puts calls of them before a kernel's body.  They raise the same kinds of errors,
with messages that say which check it was and begin with :data:`ARGUMENT_ERROR`; TVM's own message comes from a second
run with its checks.

A function returns 0, or -1 with an error raised, as kernels do.  It takes what the check of the argument before it has
returned, and returns that if it was an error: so calls are nested, and the error of the first wrong one comes back.
"""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import tirx

from relaxkit.runtime.compile.diskcache import object_file
from relaxkit.runtime.values import ARGUMENT_ERROR

COUNT = "relaxfuzz_check_count"
"""Symbol of the function that checks how many arguments there are; it takes their address, number and what is right."""
MAX_RANK = 8
"""Tensors of more dims are left to TVM's checks."""
PREFIX = "relaxfuzz_check_rank_"
UNPACK = "relaxfuzz_unpack"
"""Symbol of the function that writes the addresses of the data of tensors; it takes the address of the arguments, their
number, what the check before it returned, and where the addresses go: as many ``TVMFFIAny``."""
DIM = "relaxfuzz_dim"
"""Symbol of the function that writes a dim; it takes the address of the arguments, the number of the tensor among them,
that of the dim, what the check before it returned, where dims go (``TVMFFIAny``), and the place there."""
SAME = "relaxfuzz_check_dim"
"""Symbol of the function that checks a dim; it takes as :data:`DIM`, and what is right in place of where dims go."""
VERSION = 2
"""To be raised when the functions change: objects on disk call them."""
# Fields of ``tvm_struct_get``: enum TVMStructFieldKind of include/tvm/tirx/builtin.h.
_DATA, _SHAPE, _STRIDES, _NDIM, _CODE, _BITS, _LANES, _BYTE_OFFSET, _DEVICE_ID, _DEVICE_TYPE = range(1, 11)
_TYPE_INDEX, _POINTER, _INT64 = 13, 15, 17
_TENSOR, _DLTENSOR = 70, 7  # TVMFFITypeIndex of a tensor object, and of a pointer to a DLTensor
_HEADER = 24  # bytes of an object before the DLTensor of a tensor
_CPU = 1  # kDLCPU
_CODE_BITS, _CODE_LANES = 1 << 8, 1 << 16


def symbol_for(rank: int) -> str:
    """Return the symbol of the function that checks a tensor of a rank.

    It takes the address of the arguments, the number of the tensor among them, what the check before it returned, the
    :func:`word` of the dtype, and the dims, of which a negative one may be anything.
    """
    return f"{PREFIX}{rank}"


def word(code: int, bits: int, lanes: int) -> int:
    """Return a dtype as one number."""
    return code + _CODE_BITS * bits + _CODE_LANES * lanes


def slot(out: Any, place: int, dtype: str) -> Any:
    """Return what :data:`UNPACK` and :data:`DIM` have written: a ``handle`` or an ``int64``."""
    return tirx.tvm_struct_get(out, place, _POINTER, dtype)


@functools.cache
def throw() -> Any:
    """Return the statement that returns -1: what is called has raised an error."""
    return tirx.Evaluate(tvm.ir.Call(tvm.ir.Op.get("tirx.tvm_throw_last_error"), [], ret_ty="int32"))


@functools.cache
def checker_object() -> bytes:
    """Return the object file with the functions; raises whatever TVM raises."""
    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})  # 35 ms; optimised, they are no smaller
    functions = {COUNT: _count(), UNPACK: _unpack(), DIM: _dim(), SAME: _same()}
    functions |= {symbol_for(rank): _rank(rank) for rank in range(MAX_RANK + 1)}
    module = tvm.IRModule(
        {
            tvm.ir.GlobalVar(symbol): function.with_attr("global_symbol", symbol).with_attr("target", target)
            for symbol, function in functions.items()
        }
    )
    # Not by the whole pipeline, which would make packed functions of them.
    lowered = tvm.tirx.get_default_tir_pipeline(target)[1]()(module)
    return object_file(tvm.get_global_func("target.build.llvm")(lowered, target))


def _count() -> Any:
    arguments, number, wanted = tirx.Var("args", "handle"), tirx.Var("number", "int32"), tirx.Var("wanted", "int32")
    fits = tirx.And(number == wanted, tirx.Not(tirx.isnullptr(arguments)))
    return _function([arguments, number, wanted], [_need("TypeError", fits, "number of arguments")])


def _unpack() -> Any:
    arguments, number, before, place = _variables(("args", "handle"), "number", "before", "place")
    out = tirx.Var("out", "handle")
    data = _field(_checked_tensor(arguments, place), _DATA, "handle")
    loop = tirx.For(place, tirx.const(0, "int32"), number, tirx.ForKind.SERIAL, _write(out, place, data))
    return _function([arguments, number, before, out], [_after(before), loop])


def _dim() -> Any:
    arguments, place, axis, before, slot = _variables(("args", "handle"), "place", "axis", "before", "slot")
    out = tirx.Var("out", "handle")
    written = _write(out, slot, _given(arguments, place, axis))
    return _function([arguments, place, axis, before, out, slot], [_after(before), written])


def _same() -> Any:
    arguments, place, axis, before = _variables(("args", "handle"), "place", "axis", "before")
    wanted = tirx.Var("wanted", "int64")
    fits = _need("ValueError", _given(arguments, place, axis) == wanted, "symbolic shape")
    return _function([arguments, place, axis, before, wanted], [_after(before), fits])


def _variables(*named: str | tuple[str, str]) -> list[Any]:
    return [tirx.Var(*((each, "int32") if isinstance(each, str) else each)) for each in named]


def _after(before: Any) -> Any:
    return tirx.IfThenElse(before != 0, throw(), None)


def _write(out: Any, slot: Any, value: Any) -> Any:
    """Return the statement that writes an address or an int64 where :func:`slot` reads it."""
    arguments = [out, slot, tirx.const(_POINTER, "int32"), value]
    return tirx.Evaluate(tvm.ir.Call(tvm.ir.Op.get("tirx.tvm_struct_set"), arguments, ret_ty="int32"))


def _given(arguments: Any, place: Any, axis: Any) -> Any:
    shape = _field(_checked_tensor(arguments, place), _SHAPE, "handle")
    return tirx.tvm_struct_get(shape, axis, _INT64, "int64")


def _checked_tensor(arguments: Any, place: Any) -> Any:
    return _tensor(arguments, place, tirx.tvm_struct_get(arguments, place, _TYPE_INDEX, "int32"))


def _rank(rank: int) -> Any:
    arguments, place, before, dtype = _variables(("args", "handle"), "place", "before", "dtype")
    wanted = [tirx.Var(f"dim{axis}", "int64") for axis in range(rank)]
    body: list[Any] = [_after(before)]

    def bound(name: str, value: Any, dtype: str) -> Any:
        var = tirx.Var(name, dtype)
        body.append(tirx.Bind(var, value))
        return var

    kind = bound("kind", tirx.tvm_struct_get(arguments, place, _TYPE_INDEX, "int32"), "int32")
    body.append(_need("TypeError", tirx.Or(kind == _TENSOR, kind == _DLTENSOR), "no tensor"))
    tensor = bound("tensor", _tensor(arguments, place, kind), "handle")
    # A condition is evaluated as a whole, so what it reads must have been checked by a statement before it.
    body.append(_need("TypeError", tirx.Not(tirx.isnullptr(tensor)), "null"))
    body.append(_need("ValueError", _field(tensor, _NDIM, "int32") == rank, "ndim"))
    parts = ((_CODE, "uint8", 1), (_BITS, "uint8", _CODE_BITS), (_LANES, "uint16", _CODE_LANES))
    given = sum(_field(tensor, field, type_).astype("int32") * scale for field, type_, scale in parts)
    body.append(_need("TypeError", given == dtype, "dtype"))
    body.append(_need("ValueError", _field(tensor, _DEVICE_TYPE, "int32") == _CPU, "device_type"))
    body += _layout(tensor, wanted, bound)
    body.append(_need("ValueError", _field(tensor, _BYTE_OFFSET, "uint64") == tirx.const(0, "uint64"), "byte_offset"))
    # The first argument is fit by now, whether it is this one or one before it.
    first_kind = tirx.tvm_struct_get(arguments, tirx.const(0, "int32"), _TYPE_INDEX, "int32")
    first = bound("first", _tensor(arguments, tirx.const(0, "int32"), first_kind), "handle")
    same = _field(first, _DEVICE_ID, "int32") == _field(tensor, _DEVICE_ID, "int32")
    body.append(_need("ValueError", same, "device_id"))
    return _function([arguments, place, before, dtype, *wanted], body)


def _layout(tensor: Any, wanted: list[Any], bound: Any) -> list[Any]:
    """Checks of dims, strides and data; what they name is ``bound`` before them."""
    shape = bound("shape", _field(tensor, _SHAPE, "handle"), "handle")
    strides = bound("strides", _field(tensor, _STRIDES, "handle"), "handle")
    dims = [
        bound(f"given{axis}", tirx.tvm_struct_get(shape, axis, _INT64, "int64"), "int64") for axis in range(len(wanted))
    ]
    fits, compact, size = tirx.const(True, "bool"), tirx.const(True, "bool"), tirx.const(1, "int64")
    for axis in reversed(range(len(dims))):
        fits = tirx.And(tirx.Or(wanted[axis] < 0, wanted[axis] == dims[axis]), fits)
        stride = tirx.tvm_struct_get(strides, axis, _INT64, "int64")
        compact = tirx.And(tirx.Or(dims[axis] == 1, stride == size), compact)
        size = size * dims[axis]
    checks = [_need("ValueError", fits, "shape")] if dims else []
    if dims:
        checks.append(tirx.IfThenElse(tirx.Not(tirx.isnullptr(strides)), _need("ValueError", compact, "strides"), None))
    held = tirx.Or(size == 0, tirx.Not(tirx.isnullptr(_field(tensor, _DATA, "handle"))))
    return [*checks, _need("ValueError", held, "no data")]


def _tensor(arguments: Any, place: Any, kind: Any) -> Any:
    """Return the address of the DLTensor of an argument."""
    pointer = tirx.tvm_struct_get(arguments, place, _POINTER, "handle")
    header = tirx.Select(kind == _TENSOR, tirx.const(_HEADER, "int32"), tirx.const(0, "int32"))
    return tirx.handle_add_byte_offset(pointer, header)


def _field(tensor: Any, field: int, dtype: str) -> Any:
    return tirx.tvm_struct_get(tensor, 0, field, dtype)


def _need(kind: str, condition: Any, what: str) -> Any:
    # AssertStmt's own signature names the kind first, and its constructor takes it second.
    return tirx.AssertStmt(condition, tvm.ir.StringImm(kind), [tvm.ir.StringImm(ARGUMENT_ERROR + what)])


def _function(parameters: list[Any], body: list[Any]) -> Any:
    return tirx.PrimFunc(
        parameters, tirx.SeqStmt([*body, tirx.Return(tirx.const(0, "int32"))]), tvm.ir.PrimType("int32")
    )
