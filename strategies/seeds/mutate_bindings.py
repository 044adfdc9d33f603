"""Mutations of one binding: another value of the same type is bound in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tvm_ffi
from tvm import relax
from tvm.ir import Op

from relaxkit.ir.copying import Copier
from strategies.scope.bounds import is_float
from strategies.scope.choices import Choices
from strategies.seeds.replacements import Unchanged, count_bindings, pick_function, replaced

op = relax.op


def at_binding(make: Callable[[Choices, Copier, Any, Any], Any]) -> Callable[[Choices, Any], Any]:
    """Return a mutation that binds another value at one place of one function."""

    def apply(choices: Choices, module: Any) -> Any:
        var, function = pick_function(choices, module)
        count = count_bindings(function)
        if not count:
            raise Unchanged
        target, at = choices.index(min(count, 1 << 16)), -1

        def change(copier: Copier, binding: Any, value: Any) -> Any:
            nonlocal at
            at += 1
            if at != target:
                return value
            new = copier.builder.normalize(make(choices, copier, binding, value))
            if not tvm_ffi.structural_equal(new.ty, binding.var.ty, map_free_vars=True):
                raise ValueError("another type")  # what is downstream may rely on this one: kernels do
            return new

        copier = Copier(relax.BlockBuilder(module), change=change, fresh=False)
        return replaced(module, {var: copier.function(function)})

    return apply


def alias(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Return the value through a variable of its own."""
    return copier.local(value)


def through_tuple(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Return the value put into a tuple and taken out again."""
    first = copier.local(value)
    members = [first] * (1 + choices.index(3))
    return relax.TupleGetItem(copier.local(relax.Tuple(members)), choices.index(len(members)))


def cast(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Return the value through a cast to its own type."""
    ty = binding.var.ty
    if not isinstance(ty, (relax.TensorType, relax.ShapeType)):
        raise Unchanged
    return copier.builder.match_cast(copier.local(value), copier.type(ty))


def duplicate(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Return the value bound twice, both used or only one."""
    first = copier.local(value)
    if choices.index(2) and _is_number(binding.var.ty):  # both are used
        return op.maximum(first, copier.local(value))
    return value


def replace(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Draw a kindred operator on the same operands."""
    if _is_whole(binding.var.ty) or not (isinstance(value, relax.Call) and isinstance(value.op, Op)):
        raise Unchanged
    name = str(value.op.name).removeprefix("relax.")
    others = [other for group in _KINDRED if name in group for other in group if other != name]
    if not others:
        raise Unchanged
    return relax.Call(Op.get(f"relax.{choices.pick(others)}"), value.args, value.attrs, value.ty_args)


def swap(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Draw two operands of one type, exchanged."""
    if not isinstance(value, relax.Call):
        raise Unchanged
    args = list(value.args)
    inner = args[1] if len(args) > 1 and isinstance(args[1], relax.Tuple) else None
    items = list(inner.fields) if inner is not None else args
    pairs = [
        (i, j)
        for i in range(len(items))
        for j in range(i + 1, len(items))
        if not items[i].same_as(items[j]) and _same_type(items[i], items[j]) and not _is_whole(items[i].ty)
    ]
    if not pairs:
        raise Unchanged
    i, j = choices.pick(pairs)
    items[i], items[j] = items[j], items[i]
    if inner is not None:
        args[1], items = relax.Tuple(items), args
    return relax.Call(value.op, args if inner is not None else items, value.attrs, value.ty_args)


def insert(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Draw an operator on the value."""
    ty = binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        raise Unchanged
    first = copier.local(value)
    made = _between(choices, copier, first, str(ty.dtype), ty.ndim)
    return made if choices.index(4) < 3 or not _is_number(ty) else op.minimum(copier.local(made), first)


def _between(choices: Choices, copier: Copier, first: Any, dtype: str, rank: int) -> Any:
    """Draw an operator whose result is of the operand's type."""
    if dtype == "bool":
        return op.logical_not(first)
    ways: list[Callable[[], Any]] = [lambda: op.maximum(first, first)]
    if rank >= 0:
        ways.append(lambda: op.permute_dims(first, list(range(rank))))
    if rank >= 2:
        axes = [*range(rank - 2), rank - 1, rank - 2]
        ways.append(lambda: op.permute_dims(copier.local(op.permute_dims(first, axes)), axes))
    if is_float(dtype):
        ways += [partial(each, first, first) for each in (op.add, op.subtract, op.multiply)]
        ways += [partial(op.abs, first), *(partial(relax.Call, Op.get(f"relax.{each}"), [first]) for each in _UNARY)]
    if dtype == "float32":
        ways.append(lambda: op.astype(copier.local(op.astype(first, "float16")), "float32"))
    return choices.pick(ways)()


def drop(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Draw another value of the same type instead: one of the operands if there is one, else a parameter."""
    if _is_whole(binding.var.ty):
        raise Unchanged
    items = list(value.args) if isinstance(value, relax.Call) else []
    items += [field for item in items if isinstance(item, relax.Tuple) for field in item.fields]
    items += copier.params
    fits = [
        item
        for item in items
        if (isinstance(item, relax.Var) and isinstance(item.ty, relax.Type))
        and tvm_ffi.structural_equal(item.ty, binding.var.ty)
    ]
    if not fits:
        raise Unchanged
    return choices.pick(fits)


def _same_type(left: Any, right: Any) -> bool:
    types = (relax.TensorType, relax.TupleType)
    return isinstance(left.ty, types) and bool(tvm_ffi.structural_equal(left.ty, right.ty))


def _is_whole(ty: Any) -> bool:
    """Say whether a type holds integers: they may be indices, and another index may be out of range.

    Passes run operators on constants while they compile. A seed may say what it says; a mutation must not make
    undefined behaviour of it.
    """
    if isinstance(ty, relax.TupleType):
        return any(_is_whole(field) for field in ty.fields)
    return isinstance(ty, relax.TensorType) and (ty.dtype is None or "int" in str(ty.dtype))


def _is_number(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and ty.dtype is not None and str(ty.dtype) != "bool"


_UNARY = (
    "exp", "nn.relu", "tanh", "sigmoid", "nn.silu", "nn.gelu", "cos", "floor", "sqrt", "negative", "square", "erf",
)  # fmt: skip
_KINDRED: tuple[tuple[str, ...], ...] = (
    (*_UNARY, "abs", "sin", "sign", "round", "ceil", "trunc", "log", "rsqrt", "atan", "sinh", "cosh", "tan"),
    ("add", "multiply", "subtract", "maximum", "minimum", "divide", "power", "floor_mod"),
    ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    ("logical_and", "logical_or", "logical_xor"),
    ("sum", "max", "min", "mean", "prod", "variance", "std"),
    ("argmax", "argmin"),
    ("cumsum", "cumprod"),
    ("nn.softmax", "nn.log_softmax"),
    ("nn.max_pool1d", "nn.avg_pool1d"),
    ("nn.max_pool2d", "nn.avg_pool2d"),
    ("nn.max_pool3d", "nn.avg_pool3d"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("tril", "triu"),
)
"""Operators that take the same arguments and attributes."""
