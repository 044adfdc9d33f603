"""Which tests judge passes: those are run in processes of their own, and no others."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

MARKER = "relaxfuzz"
_ROOMS = ("oracles", "strategies")
_HOME = Path(__file__).resolve().parent.parent


def touches_passes(item: Any) -> bool:
    """Whether a test names something of ``oracles`` or ``strategies``; of one under ``@given``, whether its file does.

    ``@pytest.mark.relaxfuzz`` says so of any other test, ``@pytest.mark.relaxfuzz(isolate=False)`` the contrary.
    Imports nothing: what a test uses has been imported by its file.
    """
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        return bool(marker.kwargs.get("isolate", True))
    if not any(room in sys.modules for room in _ROOMS):
        return False
    function = getattr(item, "obj", None)
    if inspect.iscoroutinefunction(function):
        return False
    inner: Any = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    inner = inspect.unwrap(inner)
    inner = getattr(inner, "__func__", inner)
    code, names = getattr(inner, "__code__", None), getattr(inner, "__globals__", {})
    if code is None:
        return False
    used = names if getattr(function, "is_hypothesis_test", False) else code.co_names
    return any(_ours(names.get(name)) for name in used)


def _ours(thing: Any) -> bool:
    name = thing.__name__ if isinstance(thing, ModuleType) else str(getattr(thing, "__module__", None) or "")
    room = name.partition(".")[0]
    if room not in _ROOMS:
        return False
    file = getattr(sys.modules.get(room), "__file__", None)
    return file is not None and Path(file).resolve().parent.parent == _HOME
