"""Modules of one function around an operator, and what the interpreter makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax

from relaxkit.interpreter import Interpreter, Precision


def module_of(build: Callable[..., Any], *types: Any) -> Any:
    """A module whose ``main`` returns what ``build`` makes of parameters of these types.

    A type is an array (its shape and dtype), or a Relax type.
    """
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", _type(each)) for i, each in enumerate(types)]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(build(*params)))
    return builder.get()


def computed(build: Callable[..., Any], *arrays: Any, precision: Precision = Precision.DECLARED) -> Any:
    """What the interpreter gives for an operator on arrays."""
    return Interpreter(module_of(build, *arrays), precision).call("main", list(arrays))


def listed(array: Any) -> list[Any]:
    """The elements of an array, in nested lists."""
    elements: list[Any] = array.tolist()
    return elements


def _type(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return relax.TensorType(value.shape, value.dtype.name)
    return value
