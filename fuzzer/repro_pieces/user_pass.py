"""A pass that the user brought: loaded from its file, or imported."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any

import tvm


def user_pass(where: str, factory: str) -> Any:
    """The pass that ``factory`` in a file (or an importable module) builds, or is."""
    found = getattr(user_module(where), factory)
    return found if isinstance(found, tvm.ir.transform.Pass) else found()


def user_module(where: str) -> Any:
    """The module in a file, or the one of a name."""
    if where.endswith(".py"):
        sys.path.append(os.path.dirname(where))  # what lies beside it may be imported, as for `python FILE`
        spec = importlib.util.spec_from_file_location("user_pass_module", where)
        if spec is None or spec.loader is None:
            raise ImportError(where)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look for what their annotations mention
        spec.loader.exec_module(module)
        return module
    return importlib.import_module(where)
