"""All-reduce between processes on one GPU: what ``IPCAllReduceRewrite`` asks for before it does anything."""

from __future__ import annotations

from typing import Any

import tvm

CUSTOM_ALL_REDUCE = "runtime.disco.cuda_ipc.custom_allreduce"


def with_all_reduce(built: Any) -> Any:
    """Register a function of that name, unless TVM has its own, and give back the pass; nothing here calls it."""
    if tvm.get_global_func(CUSTOM_ALL_REDUCE, allow_missing=True) is None:
        tvm.register_global_func(CUSTOM_ALL_REDUCE, lambda *arguments: None)
    return built
