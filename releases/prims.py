"""Scalars of TVM 0.25, which are no Relax expressions there.

Since 0.26 a ``tirx`` expression is a Relax expression, and its type is ``PrimType``. In 0.25 it is wrapped in
``relax.PrimValue`` where Relax takes it, its type there is ``PrimStructInfo``, and ``PrimType`` is only what a ``tirx``
variable is declared with.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from releases.publishing import publish


def apart() -> bool:
    """Whether scalars of the installed TVM must be wrapped to be Relax expressions."""
    return hasattr(importlib.import_module("tvm.relax"), "PrimStructInfo")


def adopt_scalars() -> None:
    """Where scalars stand apart, have Relax's constructors wrap them and types of scalars be known as such."""
    if not apart():
        return
    tvm = importlib.import_module("tvm")
    relax = importlib.import_module("tvm.relax")
    genuine, wrapped = tvm.ir.PrimType, relax.PrimStructInfo

    class PrimTypes(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, (genuine, wrapped))

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
            return wrapped(*arguments, **keywords)

    # TVM makes one in one place, for a variable of tirx, which _declare sees to.
    tvm.ir.PrimType = PrimTypes("PrimType", (), {"__doc__": wrapped.__doc__})
    tvm.ir.PrimExpr.ty = property(lambda self: wrapped(str(self.dtype)), doc="The type of a scalar, as Relax has it.")
    _declare(tvm.tirx.Var, genuine, wrapped)
    # It calls itself there, by way of ``__eq__``, until the stack ends.
    relax.StructInfo.same_as = tvm.runtime.Object.same_as
    wrap = functools.partial(_wrap, wrapper=relax.PrimValue, scalar=tvm.ir.PrimExpr)
    for owner in (relax.Call, relax.Tuple, relax.If, relax.VarBinding, relax.MatchCast, relax.SeqExpr):
        owner.__init__ = wrap(owner.__init__)
    for name in ("emit", "emit_output", "match_cast", "normalize"):
        setattr(relax.BlockBuilder, name, wrap(getattr(relax.BlockBuilder, name)))
    for operator in ("print", *_BINARY):
        publish(f"tvm.relax.op.{operator}", wrap(getattr(relax.op, operator)))
    publish("tvm.relax.op.one_hot", _numbered(wrap(relax.op.one_hot), tvm.tirx))


_BINARY = (
    "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "divide", "equal", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "log_add_exp", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract",
)  # fmt: skip
"""Operators of two operands, one of which may be a scalar."""


def _wrap(inner: Any, wrapper: Any, scalar: Any) -> Any:
    """The function, with every scalar among its arguments, or in a list that is one, wrapped."""

    def one(value: Any) -> Any:
        return wrapper(value) if isinstance(value, scalar) else value

    def each(value: Any) -> Any:
        return [one(item) for item in value] if isinstance(value, (list, tuple)) else one(value)

    @functools.wraps(inner)
    def wrapping(*arguments: Any, **keywords: Any) -> Any:
        return inner(*map(each, arguments), **{name: each(value) for name, value in keywords.items()})

    return wrapping


def _numbered(inner: Any, nodes: Any) -> Any:
    """``one_hot`` with Python's numbers as on and off, which are int64 and float64 as ``relax.prim_value`` has them."""

    def scalar(value: Any) -> Any:
        if isinstance(value, bool):
            return nodes.IntImm("bool", int(value))
        if isinstance(value, int):
            return nodes.IntImm("int64", value)
        return nodes.FloatImm("float64", value) if isinstance(value, float) else value

    @functools.wraps(inner)
    def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> Any:
        return inner(indices, scalar(on_value), scalar(off_value), depth, axis)

    return one_hot


def _declare(owner: Any, genuine: Any, wrapped: Any) -> None:
    inner = owner.__init__

    @functools.wraps(inner)
    def declaring(self: Any, name: str, dtype: Any, span: Any = None) -> None:
        inner(self, name, genuine(dtype.dtype) if isinstance(dtype, wrapped) else dtype, span)

    owner.__init__ = declaring
