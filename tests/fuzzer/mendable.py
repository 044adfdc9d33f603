"""A pass of a user's whose behaviour stands in a file beside this one: tests copy it, break it and mend it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import tvm

STATE = Path(__file__).with_name("state")


def mendable() -> Any:
    @tvm.transform.module_pass(opt_level=0, name="mendable")
    def run(module: Any, _context: Any) -> Any:
        how = STATE.read_text()
        if how == "broken":
            raise RuntimeError("cannot handle this")
        if how == "otherwise":
            raise KeyError("another error")
        if how == "deadly":
            os.kill(os.getpid(), signal.SIGSEGV)
        return module

    return run
