"""The modules that planted passes are tried on: generated once, the same for every pass."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import tvm
from tvm_ffi.serialization import from_json_graph_str

from strategies import ir_modules
from strategies.scope.from_bytes import draw_from_bytes

SEED = 20260

_BYTES = 8192
_MODULES = ir_modules()
_blocks: list[bytes] = []
_source = random.Random(SEED)


def modules(count: int) -> Iterator[Any]:
    """Fresh copies of the first ``count`` modules."""
    return map(module, range(count))


def module(index: int) -> Any:
    """A fresh copy of module number ``index``."""
    return from_json_graph_str(text(index))


@functools.cache
def text(index: int) -> str:
    """JSON of module number ``index``, for which no other is drawn."""
    while len(_blocks) <= index:
        _blocks.append(_source.randbytes(_BYTES))
    block, further = _blocks[index], random.Random(f"{SEED} {index}")
    while True:
        module = draw_from_bytes(_MODULES, block)
        if module is not None and _readable(saved := str(tvm.ir.save_json(module))):
            return saved
        block = further.randbytes(_BYTES)


def _readable(saved: str) -> bool:
    """Say whether TVM can read what it wrote: not constants of rank 2 and more without elements."""
    try:
        from_json_graph_str(saved)
    except tvm.error.InternalError as error:
        if "Invalid DLTensor file format" not in str(error):
            raise
        return False
    return True
