"""Passes that hang, each in another way; and one that does so on one module in five."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi

from relaxkit.passes.contract import Contract


def _sleep() -> None:
    time.sleep(3600)


def _spin() -> None:
    while True:
        pass


def _native() -> None:
    re.match("(a+)+$", "a" * 60 + "b")


def _factory(name: str, hang: Callable[[], None], share: int) -> Callable[[], Any]:
    def factory() -> Any:
        @tvm.transform.module_pass(opt_level=0, name=name)
        def run(module: Any, _context: Any) -> Any:
            if tvm_ffi.structural_hash(module) % share == 0:
                hang()
            return module

        return run

    factory.contract = Contract(name, any_stage=True)  # type: ignore[attr-defined]  # where it is looked for
    return factory


sleeps = _factory("sleeps", _sleep, 1)
spins = _factory("spins", _spin, 1)
native = _factory("native", _native, 1)
sometimes = _factory("sometimes", _spin, 5)
