"""Printing, assertions, and operators that are the identity (docstrings of ``tvm.relax.op.base`` and ``builtin``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.execution.values import ShapeValue
from oracles.interpreter.errors import Raised
from oracles.interpreter.packed import declared
from oracles.interpreter.registry import semantics
from oracles.interpreter.request import Request


@semantics("print")
def print_(request: Request) -> Any:
    """Print the values by the format string, or, when that is empty, in one line."""
    template, *values = request.args
    texts = _texts(request, values, 1)
    request.machine.printed.append((template.format(*texts) if template else " ".join(texts)) + "\n")
    return ()


@semantics("assert_op")
def assert_op(request: Request) -> Any:
    """Nothing when the condition is true, else an error with the formatted message."""
    condition, template, *values = request.args
    if not bool(np.asarray(condition)):
        texts = _texts(request, values, 2)
        raise Raised(template.format(*texts) if template else ", ".join(texts) or "Assertion Failed")
    return ()


@semantics("to_vdevice", "hint_on_device", "builtin.stop_lift_params")
def same(request: Request) -> Any:
    """The argument: where a tensor lies, and what passes make of it, is no matter of values."""
    return request.args[0]


@semantics("null_value")
def null_value(_request: Request) -> Any:
    """An argument that is left out."""
    return None


def _texts(request: Request, values: list[Any], first: int) -> list[str]:
    """Values as ``render_object`` writes them; floats in their declared dtype."""
    machine, arguments = request.machine, request.call.args
    return [_text(declared(machine, value, arguments[first + at].ty)) for at, value in enumerate(values)]


def _text(value: Any) -> str:
    if isinstance(value, ShapeValue):
        return str(value.dims)
    if isinstance(value, tuple):
        return f"({', '.join(_text(part) for part in value)})"
    return str(value)
