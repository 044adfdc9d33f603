"""The modules that planted passes are tried on: generated once, the same for every pass."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import tvm
from tvm_ffi.serialization import from_json_graph_str

from strategies import ir_modules
from strategies.scope.from_bytes import draw_from_bytes

SEED = 20260

_texts: list[str] = []
_source = random.Random(SEED)


def modules(count: int) -> Iterator[Any]:
    """Fresh copies of the first ``count`` modules."""
    for index in range(count):
        yield from_json_graph_str(text(index))


def text(index: int) -> str:
    """JSON of module number ``index``."""
    while len(_texts) <= index:
        module = draw_from_bytes(ir_modules(), _source.randbytes(8192))
        if module is not None:
            _keep(str(tvm.ir.save_json(module)))
    return _texts[index]


def _keep(saved: str) -> None:
    """Add a module, unless TVM cannot read what it wrote: constants of rank 2 and more without elements."""
    try:
        from_json_graph_str(saved)
    except tvm.error.InternalError as error:
        if "Invalid DLTensor file format" not in str(error):
            raise
    else:
        _texts.append(saved)
