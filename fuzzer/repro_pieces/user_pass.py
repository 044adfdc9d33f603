"""A pass that the user brought: loaded from its file, or imported."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def user_pass(where: str, factory: str) -> Any:
    """The pass that ``factory`` in a file (or an importable module) builds."""
    if not where.endswith(".py"):
        return getattr(importlib.import_module(where), factory)()
    spec = importlib.util.spec_from_file_location("user_pass_module", where)
    if spec is None or spec.loader is None:
        raise ImportError(where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, factory)()
