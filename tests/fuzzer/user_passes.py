"""Passes of a user's, good and deadly, for the tests of campaigns."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import tvm
from tvm import relax

NOT_CALLABLE = 3


def _functions(module: Any) -> int:
    return sum(isinstance(function, relax.Function) for function in module.functions.values())


def identity() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="identity")
    def run(module: Any, context: Any) -> Any:
        return module

    return run


def refuses_second_function() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="refuses_second_function")
    def run(module: Any, context: Any) -> Any:
        if _functions(module) > 1:
            raise RuntimeError(f"cannot handle {_functions(module)} functions")
        return module

    return run


def segfaults_on_if() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="segfaults_on_if")
    def run(module: Any, context: Any) -> Any:
        if "if " in module.script():
            ctypes.string_at(0)
        return module

    return run


def hangs_on_second_function() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="hangs_on_second_function")
    def run(module: Any, context: Any) -> Any:
        while _functions(module) > 1:
            pass  # busy, as a pass that does not come back is
        return module

    return run


def eats_memory_on_second_function() -> Any:
    hoard: list[bytearray] = []

    @tvm.transform.module_pass(opt_level=0, name="eats_memory_on_second_function")
    def run(module: Any, context: Any) -> Any:
        while _functions(module) > 1:
            hoard.append(bytearray(os.urandom(1024)) * 4096)
        return module

    return run


def exits_on_second_function() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="exits_on_second_function")
    def run(module: Any, context: Any) -> Any:
        if _functions(module) > 1:
            os._exit(3)
        return module

    return run


def not_a_pass() -> Any:
    return 42


def raises() -> Any:
    raise ValueError("two\nlines")


def leaves() -> Any:
    sys.exit("good bye")


def recurses() -> Any:
    return recurses()


def kills() -> Any:
    ctypes.string_at(0)
