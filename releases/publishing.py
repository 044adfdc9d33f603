"""Reading and setting names of TVM by dotted path."""

from __future__ import annotations

import importlib
from typing import Any


def found(path: str) -> Any | None:
    """What a dotted path means, ``None`` when the installed TVM has no such thing."""
    home, _, rest = path.partition(".")
    value: Any = importlib.import_module(home)
    while rest:
        head, _, rest = rest.partition(".")
        value = getattr(value, head, None)
        if value is None:
            return None
    return value


def publish(path: str, value: Any) -> None:
    """Set what a dotted path means, also where ``tvm.relax`` shows the names of ``tvm.relax.op`` as its own."""
    parent_path, _, name = path.rpartition(".")
    before = found(path)
    for home in dict.fromkeys((parent_path, "tvm.relax", "tvm.relax.op")):
        holder = found(home)
        if home == parent_path or (before is not None and getattr(holder, name, None) is before):
            setattr(holder, name, value)


def type_key(node: Any) -> str:
    """Name of a class of TVM in its JSON: ``ir.GenericConst``."""
    return str(node.__tvm_ffi_type_info__.type_key)
