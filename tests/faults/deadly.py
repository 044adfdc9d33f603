"""Passes that die, hang or do nothing: the module and the pass's name decide which.

So that what should have happened can be computed without any of it happening: :func:`fault_of`.
"""

from __future__ import annotations

import ctypes
import enum
import hashlib
import os
import re
import signal
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi

from relaxkit.passes.contract import Contract


class Fault(enum.Enum):
    """What a pass does; the value is the kind that its failure must have."""

    SEGMENTATION = "signal 11"
    ARITHMETIC = "signal 8"
    ABORT = "signal 6"
    BUS = "signal 7"
    ILLEGAL = "signal 4"
    KILLED = "signal 9"
    EXIT = "exit 3"
    UNKNOWN_EXIT = "exit 255"
    MEMORY = "memory"
    HANG = "hang"
    NONE = ""


SHARES = {
    Fault.SEGMENTATION: 130, Fault.ARITHMETIC: 100, Fault.ABORT: 100, Fault.BUS: 60, Fault.ILLEGAL: 60,
    Fault.KILLED: 15, Fault.EXIT: 60, Fault.UNKNOWN_EXIT: 10, Fault.MEMORY: 60, Fault.HANG: 5,
}  # fmt: skip
"""Of a thousand cases, those that end so. What may have come from outside is tried three times, a hang takes time."""
_SUM = 1000


def fault_of(module: Any, name: str) -> Fault:
    """What the pass of this name does with a module."""
    text = f"{name}|{tvm_ffi.structural_hash(module)}"
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % _SUM
    for fault, share in SHARES.items():
        number -= share
        if number < 0:
            return fault
    return Fault.NONE


def _commit(fault: Fault) -> None:
    if fault is Fault.SEGMENTATION:
        ctypes.string_at(0)
    elif fault is Fault.EXIT:
        os._exit(3)
    elif fault is Fault.UNKNOWN_EXIT:
        os._exit(255)
    elif fault is Fault.ABORT:
        os.abort()
    elif fault is Fault.MEMORY:
        bytearray(1 << 40)
    elif fault is Fault.HANG:
        re.match("(a+)+$", "a" * 60 + "b")  # in native code, without end
    elif fault is not Fault.NONE:
        os.kill(os.getpid(), int(fault.value.split()[1]))
        signal.pause()


def _factory(name: str) -> Callable[[], Any]:
    def factory() -> Any:
        @tvm.transform.module_pass(opt_level=0, name=name)
        def run(module: Any, _context: Any) -> Any:
            _commit(fault_of(module, name))
            return module

        return run

    # It may run on any module that is drawn, lowered ones too: then it decides alone what happens.
    factory.contract = Contract(name, any_stage=True)  # type: ignore[attr-defined]  # where it is looked for
    return factory


NAMES = tuple(f"deadly_{number}" for number in range(10))
globals().update({name: _factory(name) for name in NAMES})
