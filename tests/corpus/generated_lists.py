"""``docs/generator/bug_lists.py`` as a module."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

_FILE = Path(__file__).resolve().parents[2] / "docs" / "generator" / "bug_lists.py"


def _loaded() -> Any:
    spec = importlib.util.spec_from_file_location("bug_lists", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bug_lists"] = module  # where msgspec looks for the types of annotations
    spec.loader.exec_module(module)
    return module


bug_lists = _loaded()
