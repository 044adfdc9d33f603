"""One call of a program as a module of its own, and the operands to call it with."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm_ffi import structural_equal

from oracles.core.module_facts import complaint
from relaxkit.interpreter.registry import Request
from relaxkit.ir.retype import fields_of, with_fields
from relaxkit.runtime.values import ShapeValue

FLEGALIZE = "FLegalize"
NAME = "main"
# What is lowered otherwise than by LegalizeOps, and by whom; the virtual machine itself knows the last two.
_LOWERED_BY = {
    "relax.multinomial_from_uniform": "DispatchSampling",
    **dict.fromkeys(("relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod"), "DispatchSortScan"),
    "relax.unique": "VMCodeGen",
    "relax.nonzero": "VMCodeGen",
}


class NotAlone(Exception):
    """The call means nothing outside of its program, or computes nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class SingleCall:
    """A call alone.

    Attributes:
        module: Its function ``main`` has the tensors among the operands as parameters, and makes the call.
        arguments: What to call the function with, as ``oracles.measure.inputs.materialize`` gives it.
    """

    operator: str
    module: Any
    arguments: tuple[Any, ...]

    @property
    def function(self) -> Any:
        """TVM's function that makes such a call; ``None`` where there is none."""
        return _function_of(self.operator)

    @property
    def given(self) -> dict[str, Any]:
        """The attributes that TVM's function gives another value where it is not told."""
        return given_to(self._call)

    @property
    def flags(self) -> list[str]:
        """The names of those that are true or false."""
        return [name for name, value in self.given.items() if isinstance(value, bool)]

    def with_other(self, flag: str) -> SingleCall:
        """Return the call with the other value of a flag; raises whatever TVM raises where that cannot be."""
        call, builder = self._call, relax.BlockBuilder()
        attrs = with_fields(call.attrs, **{flag: not fields_of(call.attrs)[flag]})
        with builder.function(NAME, [*self.module[NAME].params]):
            builder.emit_func_output(builder.emit(relax.Call(call.op, call.args, attrs, call.ty_args)))
        return replace(self, module=builder.get())

    @property
    def _call(self) -> relax.Call:
        return next(each.value for block in self.module[NAME].body.blocks for each in block.bindings)


def _function_of(operator: str) -> Any:
    found: Any = relax.op
    for part in operator.removeprefix("relax.").split("."):
        found = getattr(found, part, None)
    return found if callable(found) else None


def given_to(call: Any, *, needed: bool = False) -> dict[str, Any]:
    """Return the attributes of a call of an operator that TVM's function gives another value where it is not told.

    Args:
        call: The call.
        needed: Whether attributes without a default, which the function must be told, are returned, too.
    """
    mine, operands, function = fields_of(call.attrs), iter(call.args), _function_of(str(call.op.name))
    try:
        asked = inspect.signature(function).parameters
        required = [name for name, each in asked.items() if each.default is each.empty]
        plain = function(**{name: mine[name] if name in mine else next(operands) for name in required})
    except Exception:  # which operand is which parameter, this function alone knows
        return {}
    usual = fields_of(plain.attrs)
    told = [name for name in asked if name in usual and not structural_equal(mine[name], usual[name])]
    return {name: mine[name] for name in asked if name in told or (needed and name in required and name in usual)}


def lowered_by(operator: str) -> str:
    """Name the pass that says how an operator is computed; empty for operators that are lowered to no computation."""
    if operator in _LOWERED_BY:
        return _LOWERED_BY[operator]
    return "LegalizeOps" if tvm.ir.Op.get(operator).get_attr(FLEGALIZE) is not None else ""


def single_call(request: Request) -> SingleCall:
    """Return the call of a request, alone.

    Constants of one element, shapes and numbers stay in the call, because a kernel may be made for them; symbolic dims
    stay symbolic, and get their values from a parameter behind the tensors.

    Raises:
        NotAlone: It takes functions, or its types leave something open.
    """
    if not lowered_by(request.name):
        raise NotAlone("operator that is not lowered")
    maker = _Maker()
    call = request.call
    arguments = [maker.argument(expr, value) for expr, value in zip(call.args, request.args, strict=True)]
    try:
        new = relax.Call(call.op, arguments, call.attrs, call.ty_args)
        function = maker.function(new, [])
        symbols = list(relax.analysis.free_symbolic_vars(function))
        values = [*maker.values]
        if symbols:
            function = maker.function(new, symbols)
            values.append(tvm.runtime.ShapeTuple([request.dim(symbol) for symbol in symbols]))
        module = tvm.IRModule({NAME: function.with_attr("global_symbol", NAME)})
    except tvm.error.InternalError as error:
        raise NotAlone("call that TVM does not build alone") from error
    if complaint(module) is not None:
        raise NotAlone("call that is not well formed alone")
    return SingleCall(str(request.name), module, tuple(values))


class _Maker:
    """Collects parameters while arguments are rebuilt."""

    def __init__(self) -> None:
        self.params: list[Any] = []
        self.values: list[Any] = []
        self._known: dict[Any, Any] = {}

    def argument(self, expr: relax.Expr, value: Any) -> Any:
        """Return the argument of the new call."""
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self.argument(each, part) for each, part in zip(expr.fields, value, strict=True)])
        if isinstance(expr, tvm.ir.GenericConst) and isinstance(expr.value, tvm.runtime.Tensor):
            # A constant of many elements is data like others; of one, part of the kernel.
            return expr if np.prod(expr.value.shape, dtype=np.int64) <= 1 else self._parameter(expr, value)
        if isinstance(expr, relax.Var):
            return self._parameter(expr, value)
        if isinstance(expr, (relax.Call, relax.Function, relax.ExternFunc, relax.GlobalVar, relax.TupleGetItem)):
            raise NotAlone("argument that is computed in place")
        return expr

    def _parameter(self, expr: relax.Expr, value: Any) -> Any:
        if expr not in self._known:
            # The name of what it stands for tells nothing here.
            new = relax.Var(f"x{len(self.params)}", _plain(expr.ty, value))
            self._known[expr] = new
            self.params.append(new)
            self.values.append(_argument(value))
        return self._known[expr]

    def function(self, call: relax.Call, symbols: list[Any]) -> Any:
        """Return the function that makes the call."""
        extra = [relax.Var("dims", relax.ShapeType(symbols))] if symbols else []
        builder = relax.BlockBuilder()
        with builder.function(NAME, [*self.params, *extra]):
            builder.emit_func_output(builder.emit(call))
        return builder.get()[NAME]


def _plain(ty: tvm.ir.Type, value: Any) -> Any:
    """Return a type without devices; raises ``NotAlone`` where it does not fit a value as that of a parameter must."""
    if isinstance(ty, relax.TensorType) and isinstance(value, np.ndarray):
        if ty.dtype is None or str(ty.dtype) != value.dtype.name:
            raise NotAlone("operand of unknown dtype")
        if isinstance(ty.shape, relax.ShapeExpr):
            return relax.TensorType(ty.shape, ty.dtype)
        return relax.TensorType(list(value.shape), ty.dtype)
    if isinstance(ty, relax.TupleType) and isinstance(value, tuple):
        return relax.TupleType([_plain(field, part) for field, part in zip(ty.fields, value, strict=True)])
    if isinstance(ty, relax.ShapeType) and isinstance(value, ShapeValue):
        return ty if ty.values is not None else relax.ShapeType(list(value.dims))
    if isinstance(ty, tvm.ir.PrimType) and isinstance(value, (bool, int, float)):
        return ty
    raise NotAlone("operand that is not a tensor, shape or number")


def _argument(value: Any) -> Any:
    if isinstance(value, ShapeValue):
        return tvm.runtime.ShapeTuple(value.dims)
    return tuple(_argument(part) for part in value) if isinstance(value, tuple) else value
