"""Intervals through code that was not drawn: what every value of a seed lies in, where that can be argued.

A drawn operator's operands are guarded as it is drawn. A seed's are not: where this analysis cannot say that every
operator is defined for all inputs of the default domain, and that no value leaves the range of its dtype, the seed is
judged by its structure alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GenericConst, GlobalVar, Op

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.functions import is_public
from relaxkit.ir.types import dims_in
from strategies.operators import OPERATORS
from strategies.operators.intervals import BoundedCall, Unproven
from strategies.scope.bounds import Bounds, default_bounds, dtype_bounds, is_float
from strategies.scope.dims import SYMBOL_RANGE, Range
from strategies.scope.values import Value

MOST_CALLS = 32
"""Calls of functions that one analysis follows: each is analysed anew for its arguments."""
RULES = {row.name.removeprefix("relax."): row.bounds for row in OPERATORS if row.bounds is not None}
"""Operators whose results can be bounded, each with how; names without ``relax.``."""
_DTYPES = frozenset(
    {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"}
)


def unproven(module: Any) -> str:
    """Say why the values of a module's public functions cannot be bounded; empty when they can."""
    try:
        for var, function in module.functions.items():
            if isinstance(function, relax.Function) and is_public(function):
                bounds_of(module, var.name_hint)
    except Unproven as reason:
        return str(reason)
    return ""


def bounds_of(module: Any, name: str) -> Value:
    """Return what the result of a function lies in, part by part, for parameters of the default domain.

    Symbolic dims lie in :data:`~strategies.scope.dims.SYMBOL_RANGE`.

    Raises:
        Unproven: when that cannot be argued.
    """
    return _Analysis(module).function(module[name], None)


def parameter_value(ty: Any) -> Value:
    """Return a parameter of a type, bounded by the default domain; raises ``Unproven`` for what has none."""
    if isinstance(ty, relax.TupleType):
        return Value(None, ty, parts=tuple(parameter_value(field) for field in ty.fields))
    if isinstance(ty, relax.TensorType):
        if ty.dtype is None or str(ty.dtype) not in _DTYPES or not isinstance(ty.shape, relax.ShapeExpr):
            raise Unproven("a parameter of unknown shape or unusual dtype")
        return Value(None, ty, default_bounds(str(ty.dtype)))
    if isinstance(ty, (relax.ShapeType, tvm.ir.PrimType)):
        return Value(None, ty)
    raise Unproven(f"a parameter that is a {type(ty).__name__}")


class _Analysis:
    def __init__(self, module: Any) -> None:
        self.module = module
        self.symbols: dict[Any, Range] = {}
        self.calls = 0
        self.local: dict[Any, tuple[Any, dict[Any, Value]]] = {}  # functions, and what is known where they are defined

    def function(
        self, function: Any, arguments: Sequence[Value] | None, outer: Mapping[Any, Value] | None = None
    ) -> Value:
        """Return the result of a function; of its parameters' default domain when no arguments are given."""
        if not isinstance(function, relax.Function):
            raise Unproven("a kernel or an external function")
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise Unproven("recursion, or many calls")
        values = [parameter_value(each.ty) for each in function.params] if arguments is None else list(arguments)
        for param in function.params:
            self._declare(param.ty)
        return self.sequence(function.body, {**(outer or {}), **dict(zip(function.params, values, strict=True))})

    def _declare(self, ty: Any) -> None:
        for dim in dims_in(ty):
            for var in symbols_of(dim):
                self.symbols.setdefault(var, SYMBOL_RANGE)

    def sequence(self, body: Any, env: dict[Any, Value]) -> Value:
        if not isinstance(body, relax.SeqExpr):
            return self.value(body, env)
        for block in body.blocks:
            for binding in block.bindings:
                if isinstance(binding, relax.MatchCast):
                    raise Unproven("a match_cast, which may fail")
                if isinstance(binding.value, relax.Function):
                    self.local[binding.var] = binding.value, env
                else:
                    env[binding.var] = self.value(binding.value, env)
        return self.value(body.body, env)

    def value(self, expr: Any, env: dict[Any, Value]) -> Value:
        if isinstance(expr, relax.Var):
            if expr not in env:
                raise Unproven("a free variable")
            return env[expr]
        if isinstance(expr, GenericConst):
            return Value(None, expr.ty, _constant(expr))
        if isinstance(expr, relax.Tuple):
            return Value(None, expr.ty, parts=tuple(self.value(each, env) for each in expr.fields))
        if isinstance(expr, relax.TupleGetItem):
            parts = self.value(expr.tuple_value, env).parts
            if expr.index >= len(parts):
                raise Unproven("a tuple of unknown parts")
            return parts[int(expr.index)]
        if isinstance(expr, relax.If):
            self.value(expr.cond, env)
            return _join(self.sequence(expr.true_branch, dict(env)), self.sequence(expr.false_branch, dict(env)))
        if isinstance(expr, relax.Call):
            return self.call(expr, env)
        if isinstance(expr.ty, (relax.ShapeType, tvm.ir.PrimType)):
            return Value(None, expr.ty)
        raise Unproven(f"an expression of kind {type(expr).__name__}")

    def call(self, call: Any, env: dict[Any, Value]) -> Value:
        if isinstance(call.op, GlobalVar):
            if call.op not in self.module.functions:
                raise Unproven("a call of what is not there")
            return self.function(self.module[call.op], [self.value(each, env) for each in call.args])
        if call.op in self.local:
            function, outer = self.local[call.op]
            return self.function(function, [self.value(each, env) for each in call.args], outer)
        if not isinstance(call.op, Op):
            raise Unproven("a call of a closure or an external function")
        name = call.op.name.removeprefix("relax.")
        rule = RULES.get(name)
        if rule is None:
            raise Unproven(f"operator {name}")
        arguments = [self.value(each, env) for each in call.args]
        return self.fitted(call.ty, rule(BoundedCall(self.symbols, call, arguments)))

    def fitted(self, ty: Any, found: Bounds | tuple[Bounds, ...]) -> Value:
        """Return the result as a value, checked against what its dtype may hold."""
        if isinstance(found, tuple):
            if not isinstance(ty, relax.TupleType) or len(ty.fields) != len(found):
                raise Unproven("a tuple of unknown parts")
            parts = tuple(self.fitted(field, each) for field, each in zip(ty.fields, found, strict=True))
            return Value(None, ty, parts=parts)
        if not isinstance(ty, relax.TensorType) or ty.dtype is None or str(ty.dtype) not in _DTYPES:
            raise Unproven("a value of unusual type")
        if not isinstance(ty.shape, relax.ShapeExpr):
            raise Unproven("a value of unknown shape")  # operands of dims that nobody proved equal
        dtype = str(ty.dtype)
        if is_float(dtype):
            found = found.rounded()
        if not dtype_bounds(dtype).contains(Bounds(found.lo, found.hi, True)):
            raise Unproven("values that may leave the range of their dtype")
        return Value(None, ty, Bounds(found.lo, found.hi, found.integral or not is_float(dtype)))


def _constant(expr: Any) -> Bounds | None:
    if not isinstance(expr.ty, relax.TensorType):
        return None
    if str(expr.ty.dtype) not in _DTYPES:
        raise Unproven("a constant of unusual dtype")
    array = expr.value.numpy()
    if not array.size:
        return default_bounds(str(expr.ty.dtype))
    lo, hi = float(array.min()), float(array.max())
    if not (math.isfinite(lo) and math.isfinite(hi)):
        raise Unproven("a constant that is not finite")
    return Bounds(lo, hi, bool((array == array.astype("int64")).all()))


def _join(left: Value, right: Value) -> Value:
    if left.parts or right.parts:
        if len(left.parts) != len(right.parts):
            raise Unproven("branches of different tuples")
        return Value(None, left.ty, parts=tuple(map(_join, left.parts, right.parts)))
    if left.bounds is None or right.bounds is None:
        return Value(None, left.ty)
    return Value(None, left.ty, left.bounds.union(right.bounds))
