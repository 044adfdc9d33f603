"""Packed functions of kernels, in place of those that ``MakePackedAPI`` writes.

TVM's unpacks every field of every argument into a variable of its own, asserts about it, and calls a second function
with the body: most of the LLVM IR, of the debug information and of the machine code of a small kernel.  What is written
here calls ``argument_checks.py`` for the checks, which also puts addresses of data and symbolic dims on the stack, and
then has the body; so nothing but the functions there looks into arguments.

Statements that depend on the kinds of the parameters alone are made once: making them costs as much as a pass of TVM's.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from relaxkit.ir.walk import nodes
from relaxkit.runtime.compile import argument_checks as checker

PREFIX = "__tvm_ffi_"  # what MakePackedAPI puts before the symbol
_PACKED = 1  # CallingConv::kCPackedFunc, by which MakePackedAPI knows what it need not touch
_ENTRY = "tirx.is_entry_func"  # has the object hold one more function, which nothing calls


@dataclass(frozen=True, slots=True)
class Expected:
    """The tensors that a parameter takes.

    Attributes:
        word: The same, by :func:`~relaxkit.runtime.compile.argument_checks.word`.
        dims: Dims of the shape; -1 for one that is not known.
    """

    dtype: str
    word: int
    dims: tuple[int, ...]


class Unbound(Exception):
    """A dim names a variable that no dim is: TVM says so in its own words."""


def wrapped(function: Any, takes: tuple[Expected, ...]) -> Any:
    """Return the packed function of a PrimFunc whose parameters are compact tensors without an offset.

    Args:
        function: After all passes that come before ``MakePackedAPI``, with its target.
        takes: What the parameters take.

    Raises:
        Unbound: A symbolic dim cannot be told from the arguments.
    """
    parameters = function.params
    symbols, again = _symbols(parameters) if any(dim < 0 for each in takes for dim in each.dims) else ({}, ())
    body = list(_unpacked(takes, tuple(symbols.values())))
    for slot, symbol in enumerate(symbols, len(takes)):
        body.append(tirx.Bind(symbol, checker.slot(_out(), slot, "int64").astype(str(symbol.ty.dtype))))
    if again:
        body.append(_same(again))
    for place, (buffer, each) in enumerate(zip(parameters, takes, strict=True)):
        body.append(tirx.DeclBuffer(buffer, data=_data(each.dtype, place)))
    # Within this LowerTVMBuiltin has memory allocated and freed; on which of the CPUs makes no difference.
    body += [tirx.AttrStmt("default", "device_id", _int32(0), function.body), _return()]
    attributes = {str(name): value for name, value in function.attrs.items() if str(name) != _ENTRY}
    attributes["calling_conv"] = _PACKED
    attributes["global_symbol"] = PREFIX + str(attributes["global_symbol"])
    attributes["target"] = attributes["target"].host or attributes["target"]
    made = tvm.ir.make_node("ir.DictAttrs", **attributes)
    return tirx.PrimFunc(_signature(), tirx.SeqStmt(body), _int32_type(), attrs=made)


@functools.cache
def _signature() -> tuple[Any, ...]:
    """Parameters of every packed function; functions may share them, as each is compiled for itself."""
    names = (("self_handle", "handle"), ("args", "handle"), ("num_args", "int32"), ("result", "handle"))
    return tuple([tirx.Var(name, dtype) for name, dtype in names])


@functools.lru_cache(maxsize=4096)
def _unpacked(takes: tuple[Expected, ...], dims: tuple[tuple[int, int], ...]) -> tuple[Any, Any]:
    """Statements that check the arguments, and write the addresses of their data and then some dims to :func:`_out`."""
    _, arguments, number, _ = _signature()
    size = [tvm.ir.StringImm("tvm_ffi_any"), _int32(len(takes) + len(dims))]
    room = tvm.ir.Call(tvm.ir.Op.get("tirx.tvm_stack_alloca"), size, ret_ty=_out().ty)
    code = _call(checker.COUNT, arguments, number, _int32(len(takes)))
    for place, each in enumerate(takes):
        symbol, wanted = checker.symbol_for(len(each.dims)), map(_int64, each.dims)
        code = _call(symbol, arguments, _int32(place), code, _int32(each.word), *wanted)
    for slot, (place, axis) in enumerate(dims, len(takes)):
        code = _call(checker.DIM, arguments, _int32(place), _int32(axis), code, _out(), _int32(slot))
    code = _call(checker.UNPACK, arguments, _int32(len(takes)), code, _out())
    return tirx.Bind(_out(), room), _unless_zero(code)


@functools.cache
def _out() -> Any:
    return tirx.Var("unpacked", "handle")


def _unless_zero(code: Any) -> Any:
    return tirx.IfThenElse(code != _int32(0), checker.throw(), None)


def _symbols(parameters: Any) -> tuple[dict[Any, tuple[int, int]], tuple[tuple[Any, int, int], ...]]:
    """Where each symbolic dim is first, and all other dims that are not known, with what they are to be equal to."""
    first: dict[Any, tuple[int, int]] = {}
    again: list[tuple[Any, int, int]] = []
    for place, axis, dim in _dims(parameters):
        if isinstance(dim, tvm.ir.Var) and dim not in first:
            first[dim] = (place, axis)
        else:
            again.append((dim, place, axis))
    if any(var not in first for dim, _, _ in again for var in tirx.analysis.undefined_vars(dim, [])):
        raise Unbound
    return first, tuple(again)


def _same(again: tuple[tuple[Any, int, int], ...]) -> Any:
    """Return the statement that checks dims."""
    code = _int32(0)
    for dim, place, axis in again:
        code = _call(checker.SAME, _signature()[1], _int32(place), _int32(axis), code, dim.astype("int64"))
    return _unless_zero(code)


def _dims(parameters: Any) -> Iterator[tuple[int, int, Any]]:
    for place, buffer in enumerate(parameters):
        for axis, dim in enumerate(buffer.ty.shape):
            if not isinstance(dim, tirx.IntImm):
                yield place, axis, dim


@functools.lru_cache(maxsize=256)
def _data(dtype: str, place: int) -> Any:
    """Return the address of a tensor's data, as ``MakePackedAPI`` gives it to a buffer of the dtype."""
    address = checker.slot(_out(), place, "handle")
    return tvm.ir.Call(tvm.ir.Op.get("tirx.reinterpret"), [address], ret_ty=tvm.ir.PointerType(tvm.ir.PrimType(dtype)))


def _call(symbol: str, *arguments: Any) -> Any:
    return tirx.call_extern("int32", symbol, *arguments)


@functools.cache
def _return() -> Any:
    return tirx.Return(_int32(0))


@functools.cache
def _int32_type() -> Any:
    return tvm.ir.PrimType("int32")


@functools.lru_cache(maxsize=1024)
def _int32(value: int) -> Any:
    return tirx.IntImm("int32", value)


@functools.lru_cache(maxsize=1024)
def _int64(value: int) -> Any:
    return tirx.IntImm("int64", value)


# Which kernels get them: before ``MakePackedAPI``, the function whose parameters are all compact tensors without an
# offset. What is checked follows from the parameters of the PrimFunc, so a function that asserts or returns something
# itself, or calls another one, keeps TVM's. Where the last passes of the installed TVM are others than those of TVM
# 0.27, all do.

_LAST = ("tirx.MakePackedAPI", "tirx.FP8StorageLegalize", "tirx.BF16StorageLegalize")
# A tenth of a kernel's time.  They move conditions out of loops and rewrite divisions: no value changes by it, and most
# kernels do not at all.
_LEFT_OUT = ("s_tir.HoistIfThenElse", "s_tir.RenormalizeSplitPattern")
_LLVM = "target.build.llvm"


@functools.cache
def available() -> bool:
    """Say whether the installed TVM makes packed functions in the passes that are known here."""
    if not hasattr(tvm_ffi, "structural_map"):  # until TVM 0.26
        return False
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_after_pass(self, _module: Any, info: Any) -> None:
            seen.append(str(info.name))

    with _context(instruments=[Names()]):
        _pipeline()[0](tvm.IRModule({}))
    return tuple([name for name in seen if name.startswith(("tirx.", "s_tir."))][-len(_LAST) :]) == _LAST


def expected(function: Any) -> tuple[Expected, ...] | None:
    """Return what the parameters of a PrimFunc take; ``None`` where its packed function is TVM's."""
    if not available():
        return None
    found = tuple([_expected(param.ty) for param in function.params])
    other_ways_out = any(nodes(function.body, (tirx.AssertStmt, tirx.Return)))  # which ``MakePackedAPI`` rewrites
    if not found or any(each is None for each in found) or other_ways_out:
        return None
    return tuple([each for each in found if each is not None])


def _expected(type_: Any) -> Expected | None:
    if not isinstance(type_, tirx.BufferType) or len(type_.strides) or str(type_.storage_scope) not in ("", "global"):
        return None
    dtype, shape, offset = str(type_.dtype), list(type_.shape), type_.elem_offset
    word = _word(dtype)
    if word is None or len(shape) > checker.MAX_RANK or not isinstance(offset, tirx.IntImm) or offset.value != 0:
        return None
    return Expected(dtype, word, tuple([int(dim.value) if isinstance(dim, tirx.IntImm) else -1 for dim in shape]))


@functools.lru_cache(maxsize=256)
def _word(name: str) -> int | None:
    dtype = tvm_ffi.dtype(name)
    if dtype.bits < 8 or dtype.lanes != 1:  # packed: TVM checks neither dtype nor shape
        return None
    return checker.word(dtype.type_code, dtype.bits, dtype.lanes)


def library(module: tvm.IRModule, target: Any) -> Any:
    """Compile a module of PrimFuncs as ``tvm.tirx.build`` does, with short checks where they can be.

    Raises:
        Exception: Whatever TVM raises.
    """
    if not available():
        return tvm.tirx.build(module, target)
    whole, finish = _pipeline()
    bound = tirx.transform.BindTarget(target.with_host(target))(module)
    with _context(disabled_pass=[*_LAST, *_LEFT_OUT]):
        lowered = whole(bound)
    return tvm.get_global_func(_LLVM)(finish(_last()(with_short_checks(lowered))), target)


@functools.cache
def _pipeline() -> tuple[Any, Any]:
    """Return all passes until code is generated: those before it is known what is of the host, and those after."""
    whole, host, _device = tirx.get_default_tir_pipeline(tvm.target.Target("llvm"))
    return whole, host()


@functools.cache
def _last() -> Any:
    transform = tirx.transform
    return tvm.transform.Sequential(
        [transform.MakePackedAPI(), transform.FP8StorageLegalize(), transform.BF16StorageLegalize()]
    )


def _context(**changes: Any) -> Any:
    """Return the context of passes as it is, with changes."""
    now = tvm.transform.PassContext.current()
    return tvm.transform.PassContext(opt_level=now.opt_level, config=dict(now.config), **changes)


def with_short_checks(module: tvm.IRModule) -> Any:
    """Return the module with packed functions in place of those whose parameters are known.

    Args:
        module: Before ``MakePackedAPI``.
    """
    functions = dict(module.functions.items())
    for gv, function in functions.items():
        takes = expected(function)
        if takes is not None:
            with contextlib.suppress(Unbound):
                functions[gv] = wrapped(function, takes)
    return tvm.IRModule(functions, attrs=module.attrs)
