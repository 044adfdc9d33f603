"""Kernels with short checks of arguments: calls of ``checker.py`` in place of TVM's own.

Before ``MakePackedAPI``, the function whose parameters are all compact tensors without an offset gets the packed
function of ``wrapper.py`` instead of the one that TVM would write.  What is checked follows from the parameters of the
PrimFunc, so a function that asserts or returns something itself, or calls another one, keeps TVM's.  Where the last
passes of the installed TVM are others than those of TVM 0.27, all do.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from oracles.execution import checker
from oracles.execution.wrapper import Expected, Unbound, wrapped

_LAST = ("tirx.MakePackedAPI", "tirx.FP8StorageLegalize", "tirx.BF16StorageLegalize")
# A tenth of a kernel's time.  They move conditions out of loops and rewrite divisions: no value changes by it, and most
# kernels do not at all.
_LEFT_OUT = ("s_tir.HoistIfThenElse", "s_tir.RenormalizeSplitPattern")
_LLVM = "target.build.llvm"


@functools.cache
def available() -> bool:
    """Whether the installed TVM makes packed functions in the passes that are known here."""
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
    """What the parameters of a PrimFunc take; ``None`` where its packed function is TVM's."""
    if not available():
        return None
    found = tuple([_expected(param.ty) for param in function.params])
    if not found or any(each is None for each in found) or _has_other_ways_out(function):
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


def _has_other_ways_out(function: Any) -> bool:
    """Whether a body asserts or returns something, which ``MakePackedAPI`` rewrites."""
    found: list[Any] = []
    tvm_ffi.structural_walk(function.body, [((tirx.AssertStmt, tirx.Return), found.append)], order="pre")
    return bool(found)


def library(module: Any, target: Any) -> Any:
    """Compile a module of PrimFuncs as ``tvm.tirx.build`` does, with short checks where they can be.

    Args:
        module: The module.
        target: A target of LLVM.

    Raises:
        Exception: Whatever TVM raises.
    """
    if not available():
        return tvm.tirx.build(module, target)
    whole, finish = _pipeline()
    bound = tirx.transform.BindTarget(target.with_host(target))(module)
    with _context(disabled_pass=[*_LAST, *_LEFT_OUT]):
        lowered = whole(bound)
    packed = _last()(with_short_checks(lowered))
    return tvm.get_global_func(_LLVM)(finish(packed), target)


@functools.cache
def _pipeline() -> tuple[Any, Any]:
    """All passes until code is generated: those before it is known what is of the host, and those after."""
    whole, host, _device = tirx.get_default_tir_pipeline(tvm.target.Target("llvm"))
    return whole, host()


@functools.cache
def _last() -> Any:
    transform = tirx.transform
    return tvm.transform.Sequential(
        [transform.MakePackedAPI(), transform.FP8StorageLegalize(), transform.BF16StorageLegalize()]
    )


def _context(**changes: Any) -> Any:
    """The context of passes as it is, with changes."""
    now = tvm.transform.PassContext.current()
    return tvm.transform.PassContext(opt_level=now.opt_level, config=dict(now.config), **changes)


def with_short_checks(module: Any) -> Any:
    """The module with packed functions in place of those whose parameters are known.

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
