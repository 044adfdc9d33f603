"""Laws of operators by which the results of algebraic passes are proved; each is tested on drawn operands."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import tvm_ffi
from tvm import relax
from tvm.relax import op

from relaxkit.ir.law import Law, On
from relaxkit.ir.retype import with_fields

_NUMBERS = ("float16", "bfloat16", "float32", "float64", "int", "uint")
_MATMUL, _PERMUTE = "relax.matmul", "relax.permute_dims"
_UNARY = (
    "relax.nn.relu relax.nn.silu relax.sigmoid relax.tanh relax.exp relax.negative relax.abs relax.sign relax.astype"
)
_BINARY = "relax.add relax.subtract relax.multiply relax.divide relax.maximum relax.minimum relax.not_equal"
_real = partial(Law, source="arithmetic of real numbers; of integers modulo two to the number of bits", exact=False)


def _rank(value: Any) -> int:
    return len(value.ty.shape.values)


def _dtypes(*values: Any) -> list[str]:
    return list(dict.fromkeys(str(each.ty.dtype) for each in values))


def _axes(call: Any, value: Any) -> list[int]:
    """Return the axes of ``permute_dims``; without any they are reversed."""
    axes = call.attrs.axes
    return [*range(_rank(value))][::-1] if axes is None else [int(each) % _rank(value) for each in axes]


def _again(call: Any, *operands: Any, **changed: Any) -> Any:
    """Call an operator on other operands, with the same attributes but some."""
    return relax.Call(call.op, list(operands), with_fields(call.attrs, **changed) if changed else call.attrs)


def _plain(*parts: Any) -> bool:
    """Say whether products of some factors accumulate in the dtype of these, which is added and multiplied."""
    (dtype, *others) = _dtypes(*(each for each in parts if isinstance(each, relax.Var)))
    calls = (each for each in parts if not isinstance(each, relax.Var))
    return not others and dtype.startswith(_NUMBERS) and not any(each.attrs.out_dtype for each in calls)


PRODUCT_ASSOCIATES = _real(
    "a product is associative",
    On(_MATMUL, (On(_MATMUL, ("a", "b"), "inner"), "c"), "outer"),
    lambda m: op.matmul(m.a, op.matmul(m.b, m.c)),
    # A vector among stacks of matrices is another matrix once it has been multiplied with one.
    lambda m: (
        (min(map(_rank, (m.a, m.b, m.c))) >= 2 or _rank(m.b) == 2 >= max(_rank(m.a), _rank(m.c)))
        and _plain(m.inner, m.outer, m.a, m.b, m.c)
    ),
)
PRODUCT_OF_SUM = _real(
    "a product distributes over a sum",
    On(_MATMUL, ("x", On("relax.add", ("a", "b"), "sum")), "product"),
    lambda m: op.add(op.matmul(m.x, m.a), op.matmul(m.x, m.b)),
    lambda m: tvm_ffi.structural_equal(m.a.ty.shape, m.b.ty.shape) and _plain(m.product, m.x, m.a, m.b),
)
PRODUCT_OF_TAKEN = _real(
    "a product with columns that are taken is taken from the product",
    On(_MATMUL, ("x", On("relax.take", ("w", "indices"), "taken")), "product"),
    lambda m: _again(
        m.taken, op.matmul(m.x, m.w), m.indices, axis=max(_rank(m.x) - 1, _rank(m.w) - 1 - (_rank(m.x) == 1))
    ),
    lambda m: (
        _rank(m.w) >= 2
        and _rank(m.indices) == 1
        and m.taken.attrs.axis in (-1, _rank(m.w) - 1)
        and m.taken.attrs.mode in ("fast", "clip")
        and _plain(m.product, m.x, m.w)
    ),
)
PERMUTATIONS = (
    Law(
        "a permutation may name the axes that it has anyway",
        On(_PERMUTE, ("x",), "outer"),
        lambda m: op.permute_dims(m.x, _axes(m.outer, m.x)),
    ),
    Law(
        "two permutations are one",
        On(_PERMUTE, (On(_PERMUTE, ("x",), "inner"),), "outer"),
        lambda m: op.permute_dims(m.x, [_axes(m.inner, m.x)[each] for each in _axes(m.outer, m.x)]),
    ),
    Law(
        "a permutation that moves nothing is none",
        On(_PERMUTE, ("x",), "outer"),
        lambda m: m.x,
        lambda m: _axes(m.outer, m.x) == [*range(_rank(m.x))],
    ),
)


def _permuted_afterwards(m: Any, places: slice) -> Any:
    """Permute what is computed of operands instead of one of them; the other one is permuted back."""
    axes = _axes(m.permuted, m.x)
    operands = [m.x] if not hasattr(m, "y") else [m.x, op.permute_dims(m.y, np.argsort(axes).tolist())][places]
    return op.permute_dims(_again(m.function, *operands), axes)


_MOVED = On(_PERMUTE, ("x",), "permuted")
PERMUTED_OPERANDS = tuple(
    Law(
        f"what is computed of {words} may be permuted afterwards",
        On(operators, operands, "function"),
        partial(_permuted_afterwards, places=slice(None, None, step)),
        condition,
    )
    for words, operators, operands, step, condition in (
        ("a permuted tensor", _UNARY, (_MOVED,), 1, None),
        ("a permuted and another tensor", _BINARY, (_MOVED, "y"), 1, lambda m: _rank(m.x) == _rank(m.y)),
        ("a tensor and a permuted one", _BINARY, ("y", _MOVED), -1, lambda m: _rank(m.x) == _rank(m.y)),
    )
)
REDUCED_OVER_ALL = Law(
    "a reduction without axes is over all of them",
    On("relax.sum relax.mean relax.prod relax.max relax.min relax.variance relax.std", ("x",), "reduced"),
    lambda m: _again(m.reduced, m.x, axis=[*range(_rank(m.x))]),
    lambda m: m.reduced.attrs.axis is None,
)


def _layouts(call: Any) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Return the layouts of data, kernel and result of a convolution, and the default ones."""
    space = next(axes for number, axes in (("1d", "W"), ("2d", "HW"), ("3d", "DHW")) if number in call.op.name)
    kernel = "IO" if str(call.op.name).endswith("_transpose") else "OI"
    mine = call.attrs.data_layout, call.attrs.kernel_layout, call.attrs.out_layout or call.attrs.data_layout
    return mine, (f"NC{space}", f"{kernel}{space}", f"NC{space}")


def _in_default_layouts(m: Any) -> Any:
    mine, default = _layouts(m.conv)
    names = dict(zip(("data_layout", "kernel_layout", "out_layout"), default, strict=True))
    data, kernel, back = ([old.index(each) for each in new] for old, new in zip(mine, default, strict=True))
    called = _again(m.conv, op.permute_dims(m.x, data), op.permute_dims(m.w, kernel), **names)
    return op.permute_dims(called, np.argsort(back).tolist())


CONVOLUTION_IN_ANOTHER_LAYOUT = _real(
    "a convolution in another layout is one of permuted tensors",
    On(
        " ".join(f"relax.nn.conv{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", "_transpose")), ("x", "w"), "conv"
    ),
    _in_default_layouts,
    lambda m: (
        len({tuple("".join(sorted(each)) for each in layouts) for layouts in _layouts(m.conv)}) == 1
        and _layouts(m.conv)[0] != _layouts(m.conv)[1]
    ),
)


def _normalized(m: Any) -> Any:
    axes = [each for each in range(_rank(m.x)) if each != m.norm.attrs.axis % _rank(m.x)]
    used = moved = [m.mean, m.variance]
    momentum = float(m.norm.attrs.momentum)
    epsilon, old, new = (relax.const(each, _dtypes(m.x)[0]) for each in (m.norm.attrs.epsilon, 1 - momentum, momentum))
    if m.norm.attrs.training:
        used = [op.mean(m.x, axes), op.variance(m.x, axes)]
        moved = [op.add(op.multiply(old, each), op.multiply(new, its)) for each, its in zip(moved, used, strict=True)]
    mean, variance, gamma, beta = (op.expand_dims(each, axes) for each in (*used, m.gamma, m.beta))
    value = op.divide(op.subtract(m.x, mean), op.sqrt(op.add(variance, epsilon)))
    value = op.multiply(value, gamma) if m.norm.attrs.scale else value
    return relax.Tuple([op.add(value, beta) if m.norm.attrs.center else value, *moved])


NORMALIZED = Law(
    "batch_norm is its formula",
    On("relax.nn.batch_norm", ("x", "gamma", "beta", "mean", "variance"), "norm"),
    _normalized,
    lambda m: _dtypes(m.x, m.gamma, m.beta, m.mean, m.variance) in (["float32"], ["float64"]),
    source="the formula in the documentation, with epsilon and momentum in the operands' dtype",
    exact=False,
)
