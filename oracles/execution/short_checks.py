"""Kernels with short checks of arguments: calls of ``checker.py`` in place of TVM's own.

After the pipeline, which is TVM's, the statements that ``MakePackedAPI`` has written are taken out of the packed
function, and one nested call in front of it checks the same.  What is checked follows from the parameters of the
PrimFunc, so a function keeps TVM's checks unless all its parameters are compact tensors without an offset, and unless
it asserts nothing itself.  Where the installed TVM writes packed functions otherwise, all keep them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from oracles.execution import checker
from oracles.execution.refusal import UNFIT

PIPELINE = "relaxfuzz_kernels"
_DEVICE_ID, _INT64 = 9, 17  # fields of tvm_struct_get, see checker.py
_PACKED = 1  # CallingConv::kCPackedFunc
_KEPT_MESSAGE = "symbolic shape"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a parameter takes.

    Attributes:
        word: The dtype, by :func:`~oracles.execution.checker.word`.
        dims: Dims of the shape; -1 for one that is not known.
    """

    word: int
    dims: tuple[int, ...]


class _Unexpected(Exception):
    """A packed function that is written otherwise than TVM 0.27 writes it."""


def expected(function: Any) -> tuple[Expected, ...] | None:
    """What the parameters of a PrimFunc take; ``None`` where its packed function keeps TVM's checks."""
    if not hasattr(tvm_ffi, "structural_map"):  # until TVM 0.26
        return None
    found = tuple([_expected(param) for param in function.params])
    if not found or any(each is None for each in found) or _asserts(function):
        return None
    return tuple([each for each in found if each is not None])


def _expected(param: Any) -> Expected | None:
    if (
        not isinstance(getattr(param, "ty", None), tirx.BufferType)
        or len(param.shape) > checker.MAX_RANK
        or len(param.strides)
    ):
        return None
    if not isinstance(param.elem_offset, tirx.IntImm) or int(param.elem_offset) != 0:
        return None
    dtype = tvm_ffi.dtype(str(param.dtype))
    if dtype.bits < 8 or dtype.lanes != 1:  # packed: TVM checks neither dtype nor shape
        return None
    dims = tuple([int(dim) if isinstance(dim, tirx.IntImm) else -1 for dim in param.shape])
    return Expected(checker.word(dtype.type_code, dtype.bits, dtype.lanes), dims)


def _asserts(function: Any) -> bool:
    found: list[Any] = []
    tvm_ffi.structural_walk(function.body, [(tirx.AssertStmt, found.append)], order="pre")
    return bool(found)


def register() -> str:
    """Register the pipeline for ``tvm.tirx.build``; returns its name."""
    tvm.tirx.register_tir_pipeline(PIPELINE, _pipeline)
    return PIPELINE


def _pipeline() -> tuple[Any, Any, Any]:
    whole, host, device = tvm.tirx.get_default_tir_pipeline(tvm.target.Target("llvm"))

    @tvm.transform.module_pass(opt_level=0, name="ShortChecks")
    def run(module: Any, _context: Any) -> Any:
        signatures = {gv.name_hint: expected(function) for gv, function in module.functions.items()}
        return with_short_checks(whole(module), signatures)

    return run, host, device


def with_short_checks(module: Any, signatures: Mapping[str, tuple[Expected, ...] | None]) -> Any:
    """The module with short checks in the packed functions whose parameters are known.

    Args:
        module: After ``MakePackedAPI``.
        signatures: What functions take, by name; ``None`` for what is left alone.
    """
    functions = dict(module.functions.items())
    known = {gv: takes for gv in functions if (takes := signatures.get(gv.name_hint)) and _is_packed(functions[gv])}
    static = {gv: functions[gv] for gv, takes in known.items() if all(dim >= 0 for each in takes for dim in each.dims)}
    # Where all dims are known, what TVM asserts follows from the parameters; and these functions assert nothing else.
    bare = dict(tirx.transform.SkipAssert()(tvm.IRModule(static)).functions.items()) if static else {}
    for gv, takes in known.items():
        if gv in bare:
            functions[gv] = _checked(bare[gv], takes, bare[gv].body)
        else:
            with contextlib.suppress(_Unexpected):
                functions[gv] = _checked(functions[gv], takes, _of_symbols(functions[gv].body))
    return tvm.IRModule(functions, attrs=module.attrs)


def _is_packed(function: Any) -> bool:
    return len(function.params) == 4 and int(function.attrs.get("calling_conv", 0)) == _PACKED


def _checked(function: Any, takes: tuple[Expected, ...], body: Any) -> Any:
    _self, arguments, number, _result = function.params
    code = _call(checker.COUNT, arguments, number, _int32(len(takes)))
    for place, each in enumerate(takes):
        symbol, dims = checker.symbol_for(len(each.dims)), map(_int64, each.dims)
        code = _call(symbol, arguments, _int32(place), code, _int32(each.word), *dims)
    fails = tirx.IfThenElse(code != _int32(0), checker.throw(), None)
    return function.with_body(tirx.SeqStmt([fails, body]))


def _of_symbols(body: Any) -> Any:
    """A packed function's body with those checks only that compare dims with symbolic ones."""
    statements = _kept(body)
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)


def _kept(statement: Any) -> list[Any]:
    kind = type(statement)
    if kind is tirx.SeqStmt:
        return [kept for each in statement.seq for kept in _kept(each)]
    if kind is tirx.AssertStmt:
        if not _names_symbols(statement.condition):
            return []
        message = [tvm.ir.StringImm(UNFIT + _KEPT_MESSAGE)]
        return [tirx.AssertStmt(statement.condition, statement.error_kind, message)]
    if kind is tirx.IfThenElse:  # strides
        if type(statement.then_case) is not tirx.AssertStmt or statement.else_case is not None:
            raise _Unexpected
        return []
    if kind is tirx.AttrStmt and statement.attr_key != "compute_scope":
        inner = _kept(statement.body)
        body = inner[0] if len(inner) == 1 else tirx.SeqStmt(inner)
        return [tirx.AttrStmt(statement.node, statement.attr_key, statement.value, body)]
    return [statement]


def _names_symbols(condition: Any) -> bool:
    """Whether a condition is about more than one argument alone, which the checking functions have seen to."""
    if isinstance(condition, (tirx.And, tirx.Or, tirx.Not, tirx.IntImm)):  # dtype, type and data, null, nothing
        return False
    if not isinstance(condition, tirx.EQ):
        raise _Unexpected
    sides = (condition.a, condition.b)
    if any(isinstance(side, tirx.IntImm) for side in sides):
        return False
    fields = [_field(side) for side in sides]
    if _DEVICE_ID in fields:
        return False
    if _INT64 not in fields:
        raise _Unexpected
    return True


def _field(side: Any) -> int | None:
    value = side.value if isinstance(side, tirx.Cast) else side
    if isinstance(value, tvm.ir.Call) and value.op.same_as(tvm.ir.Op.get("tirx.tvm_struct_get")):
        return int(value.args[2])
    return None


def _call(symbol: str, *arguments: Any) -> Any:
    return tvm.ir.Call(_extern(), [_name(symbol), *arguments], ret_ty="int32")


@functools.cache
def _extern() -> Any:
    return tvm.ir.Op.get("tirx.call_extern")


@functools.cache
def _name(symbol: str) -> Any:
    return tvm.ir.StringImm(symbol)


@functools.lru_cache(maxsize=1024)
def _int32(value: int) -> Any:
    return tirx.IntImm("int32", value)


@functools.lru_cache(maxsize=1024)
def _int64(value: int) -> Any:
    return tirx.IntImm("int64", value)
