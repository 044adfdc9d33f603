"""Arguments, results and printed output: NumPy on our side, TVM objects on the virtual machine's."""

from __future__ import annotations

import contextlib
import enum
import functools
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import tvm
import tvm_ffi


@dataclass(frozen=True, slots=True)
class ShapeValue:
    """A shape that a program returned."""

    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A result that cannot be compared by value, such as a closure."""

    kind: str


# A tree of results: arrays, shapes, numbers, and tuples of those; "|" takes no forward reference in Python 3.10.
Value = Union[np.ndarray[Any, Any], ShapeValue, Opaque, int, float, bool, str, None, tuple["Value", ...]]  # noqa: UP007  (as said above)


def tensor(array: np.ndarray[Any, Any]) -> Any:
    """Return a copy of an array as a tensor of this machine; a fifth of the time of ``tvm.runtime.tensor``."""
    if not _shares(array.dtype):
        return tvm.runtime.tensor(array, device=tvm.cpu(0))
    made = tvm.runtime.empty(array.shape, array.dtype.name, tvm.cpu(0))
    np.from_dlpack(made)[...] = array
    return made


@functools.cache
def _shares(dtype: np.dtype[Any]) -> bool:
    """Say whether NumPy can write into a tensor of a dtype; it knows no bfloat16, and others not in all releases."""
    try:
        made = tvm.runtime.empty((2,), dtype.name, tvm.cpu(0))
        shared = np.from_dlpack(made)
        shared[...] = np.ones(2, dtype)
        return shared.dtype == dtype and bool((made.numpy() == np.ones(2, dtype)).all())
    except Exception:  # each of the three says it in its own way
        return False


def to_tvm(argument: Any) -> Any:
    """Convert an argument (array, number, shape, callable, nested tuple or list, TVM object) for the machine."""
    if isinstance(argument, np.ndarray):
        return tensor(argument)
    if isinstance(argument, (tuple, list)) and not isinstance(argument, tvm.runtime.ShapeTuple):
        return tvm_ffi.convert([to_tvm(item) for item in argument])
    if callable(argument) and not isinstance(argument, tvm_ffi.Object):
        return tvm_ffi.convert(argument)
    return argument


def from_tvm(result: Any) -> Value:
    """Copy a result of the machine into plain values; later calls cannot change them."""
    if isinstance(result, tvm.runtime.Tensor):
        return np.array(result.numpy(), copy=True)
    if isinstance(result, tvm.runtime.ShapeTuple):
        return ShapeValue(tuple(int(dim) for dim in result))
    if isinstance(result, (tvm_ffi.Array, tuple, list)):
        return tuple(from_tvm(item) for item in result)
    if result is None or isinstance(result, (bool, int, float, str)):
        return result
    return Opaque(type(result).__name__)


class ExecMode(enum.Enum):
    """``exec_mode`` of ``relax.build``."""

    BYTECODE = "bytecode"
    COMPILED = "compiled"


# How messages of short checks of arguments begin; apart from ``argument_checks.py``, since scripts quote ``run.py``.

ARGUMENT_ERROR = "unfit argument of a kernel: "


def flattened(value: Any) -> list[Any]:
    """Everything in a tree of tuples."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flattened(part)]
    return [value]


def arrays_in(value: Any) -> list[np.ndarray[Any, Any]]:
    """Return the arrays in a tree of tuples."""
    return [leaf for leaf in flattened(value) if isinstance(leaf, np.ndarray)]


# What a program prints: kept from the terminal, and compared, because an impure call is an effect to be kept.
#
# ``relax.print`` is a Python function of TVM's that prints to ``sys.stdout``, so a redirection sees all of it.

_NOT_WORDS = frozenset({"nan", "inf", "e", "True", "False"})
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


@contextlib.contextmanager
def printed(into: list[str]) -> Iterator[None]:
    """Within it, what is printed goes to ``into``, as one text, instead of the terminal."""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            yield
    finally:
        if text.tell():
            into.append(text.getvalue())


def trace(texts: list[str] | tuple[str, ...], exact: bool) -> tuple[str, ...]:
    """Return what two runs must print alike: every line where numbers are ``exact``, else the words in order.

    Words are labels of format strings; numbers may differ by rounding, and line breaks of tensors with them.
    """
    whole = _ADDRESS.sub("", "".join(texts))
    if exact:
        return tuple(whole.splitlines())
    return tuple(word for word in _WORD.findall(whole) if word not in _NOT_WORDS)
