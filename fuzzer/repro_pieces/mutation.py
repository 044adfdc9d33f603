"""Mutation oracle: the input must stay as it was."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi

from fuzzer.repro_pieces.frame import run_passes


def check_mutation(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Compare the input's JSON before and after the passes ran on it, whether or not they raised."""
    before = str(tvm.ir.save_json(module))
    try:
        run_passes(passes, module)
    except Exception as error:
        print(f"note: the passes raised {type(error).__name__}")
    if str(tvm.ir.save_json(module)) == before:
        return "OK", "the input is unchanged"
    found = tvm_ffi.get_first_structural_mismatch(tvm.ir.load_json(before), module)
    where = str(found[0]) if found else "a part that structural comparison ignores"
    return "BUG", f"the input module was modified in place: {where}"
