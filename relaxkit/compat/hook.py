"""Adopt TVM in the moment that it is imported, by whomever: importing it takes a second, and not every command does."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_TVM = "tvm"


def install() -> None:
    """Adopt TVM (:func:`relaxkit.compat.adoption.adopt`) now when it is imported already, else as soon as it is.

    Calling it again does nothing. It costs one comparison of strings for each module that is imported until then.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if _TVM in sys.modules:
        _adopt()
    else:
        sys.meta_path.insert(0, _Finder())


def _adopt() -> None:
    importlib.import_module("relaxkit.compat.adoption").adopt()


class _Finder(importlib.abc.MetaPathFinder):
    """Finds TVM as the finders behind it do, and wraps its loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """TVM's specification with :class:`_Loader`; ``None`` for every other module."""
        if fullname != _TVM:
            return None
        sys.meta_path.remove(self)  # its work is done, and the search below must not come here again
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, and adopts TVM behind it."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """As the wrapped loader."""
        module: ModuleType | None = self.inner.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """As the wrapped loader, and adopt what was loaded."""
        if module.__spec__ is not None:
            module.__spec__.loader = self.inner
        module.__loader__ = self.inner
        self.inner.exec_module(module)
        _adopt()
