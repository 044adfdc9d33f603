"""Intervals through code that was not drawn: what every value of a seed lies in, where that can be argued.

A drawn operator's operands are guarded as it is drawn. A seed's are not: where this analysis cannot say that every
operator is defined for all inputs of the default domain, and that no value leaves the range of its dtype, the seed is
judged by its structure alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.ir import GenericConst, GlobalVar, Op

from strategies.bounds import Bounds, default_bounds, dtype_bounds, is_float, union_of
from strategies.copying import attributes
from strategies.dims import SYMBOL_RANGE, Range, dim_range
from strategies.values import Value, same_dim

MOST_CALLS = 32
"""Calls of functions that one analysis follows: each is analysed anew for its arguments."""
_DTYPES = frozenset(
    {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"}
)
_SMALL = 2.0**-6
"""Least divisor: what is smaller turns rounding errors into differences that say nothing."""


class Unproven(Exception):
    """The analysis cannot argue that a seed is defined for every input; the message is a short phrase."""


def unproven(module: Any) -> str:
    """Why the values of a module's public functions cannot be bounded; empty when they can."""
    try:
        for var, function in module.functions.items():
            if isinstance(function, relax.Function) and "global_symbol" in attributes(function):
                bounds_of(module, var.name_hint)
    except Unproven as reason:
        return str(reason)
    return ""


def bounds_of(module: Any, name: str, symbols: Mapping[Any, Range] | None = None) -> Value:
    """What the result of a function lies in, part by part, for parameters of the default domain.

    Args:
        module: The module.
        name: Name of the function.
        symbols: Ranges of symbolic dims; those that are not named lie in :data:`~strategies.dims.SYMBOL_RANGE`.

    Raises:
        Unproven: when that cannot be argued.
    """
    return _Analysis(module, symbols or {}).function(module[name], None)


def parameter_value(ty: Any) -> Value:
    """A parameter of a type, bounded by the default domain; raises ``Unproven`` for what has none."""
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
    def __init__(self, module: Any, symbols: Mapping[Any, Range]) -> None:
        self.module = module
        self.symbols = dict(symbols)
        self.calls = 0

    def function(self, function: Any, arguments: Sequence[Value] | None) -> Value:
        """The result of a function; of its parameters' default domain when no arguments are given."""
        if not isinstance(function, relax.Function):
            raise Unproven("a kernel or an external function")
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise Unproven("recursion, or many calls")
        values = [parameter_value(each.ty) for each in function.params] if arguments is None else list(arguments)
        for param in function.params:
            self._declare(param.ty)
        return self.sequence(function.body, dict(zip(function.params, values, strict=True)))

    def _declare(self, ty: Any) -> None:
        for part in _leaves(ty):
            shape = part.shape if isinstance(part, relax.TensorType) else part
            for dim in getattr(shape, "values", None) or ():
                for var in _variables(dim):
                    self.symbols.setdefault(var, SYMBOL_RANGE)

    def sequence(self, body: Any, env: dict[Any, Value]) -> Value:
        if not isinstance(body, relax.SeqExpr):
            return self.value(body, env)
        for block in body.blocks:
            for binding in block.bindings:
                if isinstance(binding, relax.MatchCast):
                    raise Unproven("a match_cast, which may fail")
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
            return parts[expr.index]
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
        if not isinstance(call.op, Op):
            raise Unproven("a call of a closure or an external function")
        name = call.op.name.removeprefix("relax.")
        rule = RULES.get(name)
        if rule is None:
            raise Unproven(f"operator {name}")
        arguments = [self.value(each, env) for each in call.args]
        return self.fitted(call.ty, rule(_Step(self, call, arguments)))

    def fitted(self, ty: Any, found: Bounds | tuple[Bounds, ...]) -> Value:
        """The result as a value, checked against what its dtype may hold."""
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


class _Step:
    """A call with what is known of its arguments, as the rules look at it."""

    def __init__(self, analysis: _Analysis, call: Any, arguments: Sequence[Value]) -> None:
        self.analysis = analysis
        self.expr = call
        self.attrs = call.attrs
        self.ty = call.ty
        self.arguments = arguments

    def __getitem__(self, index: int) -> Bounds:
        """Bounds of an argument that is a tensor."""
        return _bounds(self.arguments[index])

    def __len__(self) -> int:
        return len(self.arguments)

    def dims(self, index: int) -> tuple[Any, ...]:
        found = self.arguments[index].dims
        if found is None:
            raise Unproven("a tensor of unknown shape")
        return found

    def most(self, dims: Sequence[Any]) -> int:
        """The greatest number of elements."""
        total = 1
        for dim in dims:
            total *= dim_range(dim, self.analysis.symbols)[1]
        return total

    def least(self, dims: Sequence[Any]) -> int:
        total = 1
        for dim in dims:
            total *= max(0, dim_range(dim, self.analysis.symbols)[0])
        return total

    def reduced(self) -> tuple[Any, ...]:
        """The dims that a reduction goes over."""
        dims, axes = self.dims(0), self.attrs.axis
        if axes is None:
            return dims
        chosen = [int(axis) for axis in (axes if hasattr(axes, "__iter__") else (axes,))]
        return tuple(dims[axis] for axis in chosen)


Rule = Callable[[_Step], "Bounds | tuple[Bounds, ...]"]


def _bounds(value: Value) -> Bounds:
    if value.bounds is None:
        raise Unproven("an operand that is no tensor of known dtype")
    return value.bounds


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


def _leaves(ty: Any) -> Iterator[Any]:
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from _leaves(field)
    else:
        yield ty


def _variables(dim: Any) -> list[Any]:
    from strategies.calls import symbols_of

    return symbols_of(dim)


# -- rules ------------------------------------------------------------------------------------------------------


def _same(step: _Step) -> Bounds:
    """The elements of the first argument, moved about."""
    return step[0]


def _within(lo: float, hi: float, integral: bool = False) -> Rule:
    return lambda step: Bounds(lo, hi, integral)


def _monotone(function: Callable[[float], float], lo: float = -math.inf, hi: float = math.inf) -> Rule:
    """A non-decreasing function that is defined, and smooth enough, on ``[lo, hi]``."""

    def rule(step: _Step) -> Bounds:
        if not (lo <= step[0].lo and step[0].hi <= hi):
            raise Unproven("a function outside of its domain")
        return step[0].monotone(function)

    return rule


def _of_two(function: Callable[[Bounds, Bounds], Bounds]) -> Rule:
    return lambda step: function(step[0], step[1])


def _divide(step: _Step) -> Bounds:
    if step[1].lo < _SMALL and step[1].hi > -_SMALL:
        raise Unproven("a division by what may be zero")
    if not is_float(step.arguments[0].dtype):
        raise Unproven("a division of integers")
    return step[0] / step[1]


def _astype(step: _Step) -> Bounds:
    source, target = step.arguments[0].dtype, str(step.ty.dtype)
    if target == "bool":
        return Bounds(0, 1, True)
    if is_float(target) or not is_float(source):
        return step[0]
    return step[0].floor()


def _clip(step: _Step) -> Bounds:
    numbers = [float(each.value) for each in step.expr.args[1:] if hasattr(each, "value")]
    if len(numbers) != 2 or numbers[0] > numbers[1]:
        raise Unproven("a clip to limits that are not known")
    return step[0].clipped(*numbers)


def _sum(step: _Step) -> Bounds:
    return step[0].up_to(step.most(step.reduced()))


def _of_some(step: _Step) -> Bounds:
    """A reduction that is one of its elements, or between them: of nothing, undefined."""
    if step.least(step.reduced()) < 1:
        raise Unproven("a reduction of what may be empty")
    return step[0]


def _mean(step: _Step) -> Bounds:
    found = _of_some(step)
    return Bounds(found.lo, found.hi)


def _variance(step: _Step) -> Bounds:
    found = _of_some(step)
    return Bounds(0.0, (found.hi - found.lo) ** 2)


def _matmul(step: _Step) -> Bounds:
    left, right = step.dims(0), step.dims(1)
    if not left or not right or not same_dim(left[-1], right[max(0, len(right) - 2)]):
        raise Unproven("dims that may differ")  # type inference refuses only what it can prove unequal
    return (step[0] * step[1]).up_to(step.most(step.dims(0)[-1:]))


def _static(step: _Step) -> None:
    """Type inference of these refuses only what it can prove unequal: with numbers alone there is no doubt."""
    if not all(part.is_static for value in step.arguments for part in value.parts or (value,)):
        raise Unproven("dims that may differ")


def _conv(step: _Step) -> Bounds:
    """At most all of a kernel's elements take part in one output; padding adds zeros."""
    _static(step)
    return (step[0] * step[1]).up_to(step.most(step.dims(1)))


def _max_pool(step: _Step) -> Bounds:
    if any(int(each) for each in step.attrs.padding) or step.attrs.ceil_mode:
        raise Unproven("a pool whose windows may be empty")
    return step[0]


def _avg_pool(step: _Step) -> Bounds:
    return _max_pool(step).including(0.0)


def _softmax(step: _Step) -> Bounds:
    if step.least(step.dims(0)) < 1:
        raise Unproven("a softmax of what may be empty")
    return Bounds(0.0, 1.0)


def _log_softmax(step: _Step) -> Bounds:
    _softmax(step)
    return Bounds(-(step[0].hi - step[0].lo) - math.log(max(1, step.most(step.dims(0)))), 0.0)


def _layer_norm(step: _Step) -> Bounds:
    """A normalised element is at most the square root of their number."""
    _static(step)
    if float(step.attrs.epsilon) < 1e-6 or len(step) < 3:
        raise Unproven("a normalisation without epsilon")
    reach = math.sqrt(step.most(step.dims(0)))
    return Bounds(-reach, reach) * step[1] + step[2]


def _rms_norm(step: _Step) -> Bounds:
    _static(step)
    if float(step.attrs.epsilon) < 1e-6:
        raise Unproven("a normalisation without epsilon")
    reach = math.sqrt(step.most(step.dims(0)))
    return Bounds(-reach, reach) * step[1]


def _attention(step: _Step) -> Bounds:
    """Weighted means of the values, with weights that sum to one."""
    _static(step)
    if step.attrs.causal_mask is not None or step.attrs.window_size is not None or step.least(step.dims(2)) < 1:
        raise Unproven("an attention of what may be nothing")
    return Bounds(step[2].lo, step[2].hi)


def _concat(step: _Step) -> Bounds:
    _static(step)
    return union_of(_bounds(part) for part in step.arguments[0].parts)


def _split(step: _Step) -> tuple[Bounds, ...]:
    return tuple(step[0] for _ in step.ty.fields)


def _take(step: _Step) -> Bounds:
    axis = step.attrs.axis
    dims = step.dims(0) if axis is None else step.dims(0)[int(axis) :][:1]
    if step[1].lo < 0 or step[1].hi > step.least(dims) - 1:
        raise Unproven("indices that may be out of range")
    return step[0]


def _full(step: _Step) -> Bounds:
    return step[len(step) - 1]


def _pad(step: _Step) -> Bounds:
    if str(step.attrs.pad_mode) != "constant":
        raise Unproven("a pad that is not constant")
    return step[0].including(float(step.attrs.pad_value))


def _leaky(step: _Step) -> Bounds:
    slope = float(step.attrs.alpha)
    if not 0 <= slope <= 1:
        raise Unproven("a leaky slope beyond one")
    return step[0].including(0.0)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "permute_dims", "reshape", "expand_dims", "squeeze", "flatten", "flip", "broadcast_to", "repeat", "tile",
            "strided_slice", "nn.batch_flatten",
        ),
        _same,
    ),
    "nn.relu": lambda step: step[0].maximum(Bounds(0, 0, True)),
    "negative": lambda step: -step[0],
    "abs": lambda step: step[0].absolute(),
    "square": lambda step: step[0].square(),
    "exp": _monotone(math.exp, hi=9.0),
    "sqrt": _monotone(math.sqrt, lo=0.0),
    "log": _monotone(math.log, lo=_SMALL),
    "rsqrt": lambda step: -_monotone(lambda x: -1 / math.sqrt(x), lo=_SMALL)(step),  # type: ignore[operator]
    "sigmoid": _within(0.0, 1.0),
    "tanh": _within(-1.0, 1.0),
    "erf": _within(-1.0, 1.0),
    "sin": _within(-1.0, 1.0),
    "cos": _within(-1.0, 1.0),
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), lambda step: step[0].floor()),
    "sign": _within(-1, 1, True),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "logical_not"), _within(0, 1, True)),
    **dict.fromkeys(
        (
            "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
            "logical_xor",
        ),
        _within(0, 1, True),
    ),
    **dict.fromkeys(("nn.gelu", "nn.gelu_tanh", "nn.silu"), lambda step: step[0].including(0.0).including(-0.3)),
    "nn.leakyrelu": _leaky,
    "nn.softplus": lambda step: Bounds(0.0, max(0.0, step[0].hi) + 1.0),
    "nn.softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "add": _of_two(Bounds.__add__),
    "subtract": _of_two(Bounds.__sub__),
    "multiply": _of_two(Bounds.__mul__),
    "divide": _divide,
    "maximum": _of_two(Bounds.maximum),
    "minimum": _of_two(Bounds.minimum),
    "where": lambda step: step[1].union(step[2]),
    "clip": _clip,
    "astype": _astype,
    "sum": _sum,
    "max": _of_some,
    "min": _of_some,
    "mean": _mean,
    "variance": _variance,
    "std": lambda step: _variance(step).monotone(math.sqrt),
    "matmul": _matmul,
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d"), _conv),
    **dict.fromkeys(("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"), _conv),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d"), _max_pool),
    **dict.fromkeys(("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"), _avg_pool),
    "nn.adaptive_avg_pool2d": lambda step: step[0].including(0.0),
    "nn.layer_norm": _layer_norm,
    "nn.rms_norm": _rms_norm,
    "nn.attention": _attention,
    "concat": _concat,
    "stack": _concat,
    "split": _split,
    "take": _take,
    "zeros": _within(0, 0, True),
    "ones": _within(1, 1, True),
    "zeros_like": _within(0, 0, True),
    "ones_like": _within(1, 1, True),
    "full": _full,
    "full_like": _full,
    "nn.pad": _pad,
}
"""Operators whose results can be bounded, each with how; names without ``relax.``."""
