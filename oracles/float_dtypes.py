"""Which float dtypes a module computes in, or a part of it: the narrowest of them says how large a rounding is."""

from __future__ import annotations

from typing import Any

import tvm

from oracles.interpretation import function_name
from oracles.postconditions.common import reached_functions

_FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def floats_in(text: str) -> tuple[str, ...]:
    """Float dtypes that the JSON of a module names."""
    return tuple(dtype for dtype in _FLOATS if f'"{dtype}"' in text)


def floats_of(module: Any, symbol: str) -> tuple[str, ...]:
    """Float dtypes in a public function, and in whatever it calls; raises ``KeyError`` where there is none."""
    reached = reached_functions(module, [function_name(module, symbol)])
    functions = {gv: function for gv, function in module.functions.items() if gv.name_hint in reached}
    return floats_in(tvm.ir.save_json(tvm.IRModule(functions)))
