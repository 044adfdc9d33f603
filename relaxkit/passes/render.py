"""Passes by their text, and the text of passes that were given as objects."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relaxkit.files import resolved
from relaxkit.near import near_matches
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef, PassReferenceError, load_factory, split_target

HOW_TO_NAME = 'write "FoldConstant", "relax.transform.FuseOps(0)", "FILE.py:FACTORY" or "package.module:FACTORY"'
"""The forms of a pass as text."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


@functools.cache
def pass_named(text: str) -> PassRef:
    """Return the pass that a text names.

    Args:
        text: ``FILE.py:FACTORY`` or ``package.module:FACTORY``; an expression such as
            ``relax.transform.FuseOps(fuse_opt_level=0)``; the name of a pass in ``relax.transform``; or the name under
            which C++ registered a global function without arguments that makes the pass (``mine.transform.Fold``).

    Raises:
        PassReferenceError: It is none of these, there is no such pass, or it cannot be built so.
    """
    ref = _read(text)
    try:
        ref.build()
    except PassReferenceError:
        raise
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise PassReferenceError(f"'{text}' cannot be built: {type(error).__name__}: {said}") from error
    return ref


def _read(text: str) -> PassRef:
    import tvm
    from tvm import relax

    if ":" in text.partition("(")[0] or text.endswith(".py"):
        where, name, arguments = split_target(text)
        if where.endswith(".py"):
            where = str(resolved(Path(where)))
        return PassRef(name, f"{USER_PREFIX}{where}:{name}{arguments}")
    if "(" in text:
        return PassRef(text.split("(", 1)[0].rsplit(".", 1)[-1], text)
    name = text.removeprefix("relax.").removeprefix("transform.")  # as C++ names those of TVM, too
    if _NAME.fullmatch(name):
        if not hasattr(relax.transform, name):
            raise PassReferenceError(f"relax.transform has no '{name}'{near_matches(name, dir(relax.transform))}")
        return PassRef(name, f"relax.transform.{name}()")
    if not _DOTTED.fullmatch(text):
        raise PassReferenceError(f"'{text}' names no pass: {HOW_TO_NAME}")
    if tvm.get_global_func(text, allow_missing=True) is None:
        hint = "is the library that registers it loaded?"
        with contextlib.suppress(PassReferenceError):
            load_factory(place := ":".join(text.rsplit(".", 1)))
            hint = f"did you mean {place}?"
        raise PassReferenceError(f"no global function is registered as '{text}'; {hint}")
    return PassRef(text.rsplit(".", 1)[-1], f'tvm.get_global_func("{text}")()')


def text_of_pass(built: Any, around: Mapping[str, Any] | None = None) -> PassRef:
    """Return a reference by which another process builds the same pass as this object.

    Found are objects that a module has under a name, classes under ``@module_pass`` or ``@function_pass`` that were
    called without arguments, and passes of TVM's that take none. Whether a pass of TVM's was built with arguments its
    object does not tell: whoever uses the reference must see for themselves that it does the same.

    Args:
        around: Names of the module that uses it, where else than in the module of its class it may be found.

    Raises:
        PassReferenceError: Nothing tells how to build it; the message says what would.
    """
    from tvm import relax

    name = str(built.info.name)
    for key, value in dict(around or {}).items():
        if value is built:
            return _user(str((around or {})["__name__"]), key)
    kind = type(built)
    made = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    if made is kind:
        if kind.__module__.startswith("tvm."):
            short = name.rpartition(".")[2]
            if hasattr(relax.transform, short):
                return PassRef(short, f"relax.transform.{short}()")
        elif _as_without_arguments(built, kind):
            return _user(kind.__module__, kind.__name__)
        else:
            raise PassReferenceError(
                f"{kind.__name__} may have been built with arguments, which cannot be read from the object: "
                f'give it as a string, check(module, "{kind.__module__}:{kind.__name__}(...)")'
            )
    raise PassReferenceError(
        f'another process would not know how to build {name}: give it as a string, check(module, "FILE.py:FUNCTION")'
    )


def _as_without_arguments(built: Any, kind: type[Any]) -> bool:
    try:  # what a constructor without parameters makes, such as a pattern, may differ from itself
        return not inspect.signature(type(built._inst)).parameters or bool(vars(built._inst) == vars(kind()._inst))
    except Exception:  # it needs arguments, or they cannot be compared
        return False


def _user(module: str, name: str) -> PassRef:
    """Return a name of a module: by its file, which another process finds, or by its package."""
    loaded = sys.modules.get(module) or importlib.import_module(module)
    file = getattr(loaded, "__file__", None)
    alone = not getattr(loaded, "__package__", "")
    where = str(Path(file).resolve()) if alone and file and file.endswith(".py") else module
    return PassRef(name, f"{USER_PREFIX}{where}:{name}")
