"""Calls between functions: arguments that fit a callee's parameters, symbolic dims unified."""

from __future__ import annotations

import dataclasses
from typing import Any

from tvm import relax, tirx

from relaxkit.ir.dims import symbols_of
from strategies.scope.dims import Range, dim_range
from strategies.scope.frame import CalleeSignature, Infeasible
from strategies.scope.results import bounds_like
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value, same_dim, same_dims

Binding = dict[Any, Dim]


def draw_call(scope: Scope) -> Value | None:
    """Bind a call of an earlier function; ``None`` when there is none that may be called here."""
    known = [s for s in scope.module.callables if s.depth < scope.frame.deepest and not s.typed and may_call(scope, s)]
    if not known:
        return None
    return call(scope, known[-1 - scope.index(len(known))])


def may_call(scope: Scope, callee: CalleeSignature) -> bool:
    """Say whether a call of ``callee`` may stand here: no effect in a dataflow block or a pure function."""
    return not callee.impure or not (scope.in_dataflow or scope.frame.pure_only)


def call(scope: Scope, callee: CalleeSignature) -> Value:
    """Bind a call of ``callee`` with values at hand or made for it; of a closure that it returns, too.

    Raises:
        Infeasible: when the call has an effect that may not be here, or a dim of the callee cannot be computed.
    """
    if not may_call(scope, callee):
        raise Infeasible("an effect in a dataflow block or a pure function")
    arguments = arguments_for(scope, callee)
    result = scope.emit(relax.Call(callee.var, arguments))
    return called(scope, callee, result)


def arguments_for(scope: Scope, callee: CalleeSignature) -> list[Any]:
    """Return arguments that fit the callee's parameters, symbolic dims unified."""
    binding: Binding = {symbol: symbol for symbol in callee.shared}
    return [_argument(scope, parameter, binding, callee) for parameter in callee.parameters]


def called(scope: Scope, callee: CalleeSignature, result: Value) -> Value:
    """Note what an emitted call means for the caller; gives its value with what is known of it."""
    frame = scope.frame
    frame.depth = max(frame.depth, callee.depth + 1)
    frame.impure = frame.impure or callee.impure
    scope.values.remove(result)
    if callee.returns is not None:
        closure = dataclasses.replace(callee.returns, var=result.expr)
        frame.closures[result.expr] = closure
        scope.see(result)
        return call(scope, closure)
    known = bounds_like(result.ty, callee.result)
    return scope.see(Value(result.expr, result.ty, known.bounds, known.parts))


def _argument(scope: Scope, parameter: Value, binding: Binding, callee: CalleeSignature) -> Any:
    if parameter.is_tuple:
        parts = [_argument(scope, part, binding, callee) for part in parameter.parts]
        return relax.Tuple(parts)
    if parameter.is_shape:
        return relax.ShapeExpr([_concrete(scope, dim, binding, callee) for dim in parameter.ty.values])
    if parameter.is_prim:
        return _primitive(scope, str(parameter.ty.dtype))
    dims = parameter.dims if parameter.dims is not None else callee.casts.get(parameter.expr)
    if dims is None:  # any shape of that rank will do
        return scope.tensor(dtypes=(parameter.dtype,), ranks=(parameter.rank,), bounds=parameter.bounds).expr
    fits = [
        v for v in reversed(scope.tensors()) if v.device is None and _fits(scope, v, parameter, dims, binding, callee)
    ]
    if fits and (index := scope.index(len(fits) + 1)) < len(fits):
        chosen = fits[index]
        _unify(scope, chosen.shape, dims, binding, callee)
        return scope.guard(chosen, parameter.bounds).expr
    wanted = [_concrete(scope, dim, binding, callee) for dim in dims]
    return scope.tensor(dtypes=(parameter.dtype,), shape=wanted, bounds=parameter.bounds).expr


def _primitive(scope: Scope, dtype: str) -> Any:
    """Draw an argument for a primitive parameter: a parameter of the caller's, or a number; true or false."""
    prims = [v for v in scope.values if v.is_prim and v.is_parameter and str(v.ty.dtype) == dtype]
    if prims and scope.index(2):
        return prims[-1].expr
    return tirx.IntImm(dtype, scope.index(2) if dtype == "bool" else 1 + scope.index(4))


def _fits(
    scope: Scope, value: Value, parameter: Value, dims: tuple[Dim, ...], binding: Binding, callee: CalleeSignature
) -> bool:
    if value.dtype != parameter.dtype or value.dims is None or len(value.dims) != len(dims):
        return False
    return _unify(scope, value.dims, dims, dict(binding), callee)


def _unify(
    scope: Scope, actual: tuple[Dim, ...], formal: tuple[Dim, ...], binding: Binding, callee: CalleeSignature
) -> bool:
    """Bind the callee's symbols so that ``formal`` becomes ``actual``; false when they cannot."""
    for have, want in zip(actual, formal, strict=True):
        if isinstance(want, int):
            if have != want if isinstance(have, int) else True:
                return False
        elif isinstance(want, tirx.Var):
            if want in binding:
                if not same_dim(binding[want], have):
                    return False
            elif not _inside(scope.dim_range(have), callee.symbols.get(want)):
                return False
            else:
                binding[want] = have
        else:
            made = substitute(want, binding)
            if made is None or not same_dims((made,), (have,)):
                return False
    return True


def _inside(inner: Range, outer: Range | None) -> bool:
    return outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]


def _concrete(scope: Scope, dim: Dim, binding: Binding, callee: CalleeSignature) -> Dim:
    """Return what a formal dim is in this call; symbols not yet bound are chosen now."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, tirx.IntImm):
        return int(dim)
    if isinstance(dim, tirx.Var):
        if dim not in binding:
            binding[dim] = _choice(scope, callee.symbols[dim])
        return binding[dim]
    for var in symbols_of(dim):
        if var not in binding:
            binding[var] = _choice(scope, callee.symbols[var])
    made = substitute(dim, binding)
    if made is None:
        raise Infeasible("a dim of the callee cannot be computed")
    return made


def _choice(scope: Scope, limits: Range) -> Dim:
    low, high = limits
    frame = scope.frame
    known = frame.symbol_list + frame.shape_symbols + frame.cast_symbols
    own = [s for s in known if _inside(dim_range(s, frame.symbols), limits)]
    if own and scope.index(2):
        return scope.pick(own)
    return low + scope.index(high - low + 1)


def substitute(dim: Any, binding: Binding) -> Dim | None:
    """Return a dim with its symbols replaced; ``None`` when one is not bound or the expression is of another kind."""
    if isinstance(dim, (int, tirx.IntImm)):
        return int(dim)
    if isinstance(dim, tirx.Var):
        return binding.get(dim)
    symbols = symbols_of(dim)
    if symbols and all(symbol in binding and same_dim(binding[symbol], symbol) for symbol in symbols):
        return dim
    left, right = (getattr(dim, side, None) for side in "ab")
    if left is None or right is None:
        return None
    a, b = substitute(left, binding), substitute(right, binding)
    if a is None or b is None:
        return None
    made: Dim | None = None
    if isinstance(dim, tirx.Add):
        made = a + b
    elif isinstance(dim, tirx.Mul):
        made = a * b
    elif isinstance(dim, tirx.Sub):
        made = a - b
    elif isinstance(dim, tirx.Max):
        made = max(a, b) if isinstance(a, int) and isinstance(b, int) else tirx.max(a, b)
    return int(made) if isinstance(made, tirx.IntImm) else made
