"""Planted bugs for the crash oracle: undocumented errors, dead processes, hangs, memory.

Each factory is a pass for ``relaxfuzz run --pass tests/planted/crash.py:FACTORY``; ``FACTORY_clean`` is the
same pass without the bug.  The passes only analyse: a crash is all that can be wrong with them.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

import tvm
from tvm import relax

SCANS = {"relax.cumsum", "relax.cumprod", "relax.sort", "relax.argsort", "relax.topk"}
MOVES = {"relax.hint_on_device", "relax.to_vdevice"}


def _analysis(name: str, look: Any) -> Any:
    """A pass that shows every call and tuple of every Relax function to ``look`` and changes nothing."""

    def run(mod: Any, _context: Any) -> Any:
        for function in _functions(mod):
            relax.analysis.post_order_visit(function, look)
        return mod

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _functions(mod: Any) -> list[Any]:
    return [function for function in mod.functions.values() if isinstance(function, relax.Function)]


def _calls(expr: Any, names: set[str]) -> bool:
    return isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name in names


def nested_tuple() -> Any:
    """Counts the leaves of tuples, and takes the fields of a tuple in a tuple for tensors."""

    def look(expr: Any) -> None:
        if isinstance(expr, relax.Tuple):
            for field in expr.ty.fields:
                if isinstance(field, relax.TupleType):
                    _ = [inner.dtype for inner in field.fields if not isinstance(inner, relax.ShapeType)]

    return _analysis("nested_tuple", look)


def nested_tuple_clean() -> Any:
    """Counts the leaves of tuples at any depth."""

    def leaves(ty: Any) -> int:
        return sum(leaves(field) for field in ty.fields) if isinstance(ty, relax.TupleType) else 1

    return _analysis("nested_tuple", lambda expr: leaves(expr.ty) if isinstance(expr, relax.Tuple) else None)


def third_function() -> Any:
    """Numbers the functions with a table that has two places: fails on the third."""

    def run(mod: Any, _context: Any) -> Any:
        places = ["first", "second"]
        _ = [places[index] for index, _function in enumerate(_functions(mod))]
        return mod

    return tvm.transform.module_pass(run, opt_level=0, name="third_function")


def third_function_clean() -> Any:
    """Numbers the functions, however many."""

    def run(mod: Any, _context: Any) -> Any:
        _ = [f"number {index}" for index, _function in enumerate(_functions(mod))]
        return mod

    return tvm.transform.module_pass(run, opt_level=0, name="third_function")


def segfault_on_bool() -> Any:
    """Reads through a null pointer where a call makes a bool tensor: the process dies of SIGSEGV."""

    def look(expr: Any) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.ty, relax.TensorType) and str(expr.ty.dtype) == "bool":
            ctypes.string_at(0)

    return _analysis("segfault_on_bool", look)


def segfault_on_bool_clean() -> Any:
    """Looks at bool tensors with care."""

    def look(expr: Any) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.ty, relax.TensorType):
            _ = str(expr.ty.dtype) == "bool"

    return _analysis("segfault_on_bool", look)


def abort_on_device_move() -> Any:
    """Aborts the process, as a failed C assertion does, at a device hint or copy."""
    return _analysis("abort_on_device_move", lambda expr: os.abort() if _calls(expr, MOVES) else None)


def abort_on_device_move_clean() -> Any:
    """Finds device hints and copies and lives."""
    return _analysis("abort_on_device_move", lambda expr: _calls(expr, MOVES))


def hang_on_scan() -> Any:
    """Never comes back from a sort or a scan."""

    def look(expr: Any) -> None:
        while _calls(expr, SCANS):
            time.sleep(0.01)

    return _analysis("hang_on_scan", look)


def hang_on_scan_clean() -> Any:
    """Finds sorts and scans once."""
    return _analysis("hang_on_scan", lambda expr: _calls(expr, SCANS))


def memory_eater() -> Any:
    """Copies and keeps what it sees of a concatenation until memory is out."""

    def look(expr: Any) -> None:
        hoard = []
        while _calls(expr, {"relax.concat"}):
            hoard.append(b"\x01" * (64 << 20))  # written, not only reserved

    return _analysis("memory_eater", look)


def memory_eater_clean() -> Any:
    """Copies a little of a concatenation, once."""

    def look(expr: Any) -> None:
        if _calls(expr, {"relax.concat"}):
            _ = b"\x01" * (1 << 20)

    return _analysis("memory_eater", look)
