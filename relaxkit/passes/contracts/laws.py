"""Laws of operators by which the results of algebraic passes are proved; each is tested on drawn operands."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import tvm_ffi
from tvm import IRModule, relax, tirx, topi
from tvm.relax import op
from tvm.relax.backend.gpu_generic import generic_get_sample_index

from relaxkit.ir.law import TUPLE, Law, On
from relaxkit.ir.retype import with_fields

_NUMBERS = ("float16", "bfloat16", "float32", "float64", "int", "uint")
_MATMUL, _PERMUTE = "relax.matmul", "relax.permute_dims"
_UNARY = (
    "relax.nn.relu relax.nn.silu relax.sigmoid relax.tanh relax.exp relax.negative relax.abs relax.sign relax.astype"
)
_BINARY = "relax.add relax.subtract relax.multiply relax.divide relax.maximum relax.minimum relax.not_equal"
_FLOATS = ("float16", "bfloat16", "float32", "float64")
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


def _of(m: Any, name: str, count: int) -> list[Any]:
    return [getattr(m, f"{name}{k}") for k in range(count)]


def _permuted_alike(m: Any, count: int) -> bool:
    axes = [_axes(*each) for each in zip(_of(m, "permuted", count), _of(m, "x", count), strict=True)]
    return all(each == axes[0] for each in axes) and m.concat.attrs.axis is not None


def _concatenated(m: Any, count: int) -> Any:
    axes = _axes(m.permuted0, m.x0)
    return op.permute_dims(op.concat(_of(m, "x", count), axes[m.concat.attrs.axis]), axes)


def _moved(transform: Any) -> list[int]:
    """Return which index of the operand each index of the result is; empty where one is computed."""
    index_map = transform.attrs.index_map
    initial = list(index_map.initial_indices)
    axes = [next((k for k, each in enumerate(initial) if each.same_as(final)), -1) for final in index_map.final_indices]
    return axes if sorted(axes) == [*range(len(initial))] else []


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
CONCATENATED = tuple(
    Law(
        f"{words} permuted tensors that are concatenated may be permuted afterwards",
        On("relax.concat", (On(TUPLE, tuple(On(_PERMUTE, (f"x{k}",), f"permuted{k}") for k in range(count)), "all"),),
           "concat"),
        partial(_concatenated, count=count),
        partial(_permuted_alike, count=count),
    )
    for count, words in ((2, "two"), (3, "three"), (4, "four"))
)  # fmt: skip
TRANSFORMED_BY_PERMUTATION = Law(
    "a layout transform by a permutation of the indices is a permutation",
    On("relax.layout_transform", ("x",), "transform"),
    lambda m: op.permute_dims(m.x, _moved(m.transform)),
    lambda m: len(_moved(m.transform)) == _rank(m.x),
)
RESHAPES = (
    Law(
        "two reshapes are one",
        On("relax.reshape", (On("relax.reshape", ("x", "other"), "inner"), "shape"), "outer"),
        lambda m: op.reshape(m.x, m.shape),
    ),
    Law(
        "a reshape to the shape that a tensor has is none",
        On("relax.reshape", ("x", "shape"), "outer"),
        lambda m: m.x,
        lambda m: tvm_ffi.structural_equal(m.x.ty.shape, m.shape),
    ),
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


def _folded(m: Any) -> Any:
    epsilon = relax.prim_value(tirx.FloatImm("float32", m.norm.attrs.epsilon))
    scale = op.divide(m.gamma, op.sqrt(op.add(m.variance, epsilon)))
    shift = op.subtract(m.beta, op.multiply(m.mean, scale))
    (channels,) = m.gamma.ty.shape.values
    value = _again(m.conv, m.x, op.multiply(m.w, op.reshape(scale, [channels, 1, 1, 1])))
    return relax.Tuple([op.add(value, op.reshape(shift, [1, channels, 1, 1])), m.mean, m.variance])


NORMALIZED_CONVOLUTION = Law(
    "a normalized convolution is one with a scaled kernel, shifted",
    On("relax.nn.batch_norm", (On("relax.nn.conv2d", ("x", "w"), "conv"), "gamma", "beta", "mean", "variance"), "norm"),
    _folded,
    lambda m: (
        _dtypes(m.x, m.w, m.gamma, m.beta, m.mean, m.variance) == ["float32"]
        and not m.norm.attrs.training
        and m.norm.attrs.axis == 1
        and m.norm.attrs.scale
        and m.norm.attrs.center
        and not m.conv.attrs.out_dtype
        and _layouts(m.conv)[0] == _layouts(m.conv)[1]
    ),
    source="the formulas in both documentations: a convolution is linear in its kernel, each output channel apart",
    exact=False,
)


def _normalized_per_row(m: Any) -> Any:
    axes = list(m.norm.attrs.axes)
    epsilon = relax.const(m.norm.attrs.epsilon, _dtypes(m.x)[0])
    deviation = op.sqrt(op.add(op.variance(m.x, axes, keepdims=True), epsilon))
    value = op.divide(op.subtract(m.x, op.mean(m.x, axes, keepdims=True)), deviation)
    value = op.multiply(value, m.gamma) if m.norm.attrs.scale else value
    return op.add(value, m.beta) if m.norm.attrs.center else value


LAYERS_NORMALIZED = Law(
    "layer_norm is its formula",
    On("relax.nn.layer_norm", ("x", "gamma", "beta"), "norm"),
    _normalized_per_row,
    lambda m: (
        _dtypes(m.x, m.gamma, m.beta) in (["float32"], ["float64"])
        and [int(each) % _rank(m.x) for each in m.norm.attrs.axes] == [*range(_rank(m.x))][-len(m.norm.attrs.axes) :]
    ),
    source="the formula in the documentation, with epsilon in the operands' dtype",
    exact=False,
)

# -- floats of other widths: the same real numbers, which are rounded otherwise ----------------------------------------

_rounding = partial(Law, source="a cast between floats rounds, and does nothing else", exact=False)
_LINEAR = f"{_MATMUL} " + " ".join(f"relax.nn.conv{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", "_transpose"))
_ELEMENTWISE = (
    "relax.nn.relu relax.nn.silu relax.nn.gelu relax.sigmoid relax.tanh relax.exp relax.log relax.sqrt relax.sin "
    "relax.cos relax.erf relax.square relax.negative relax.abs relax.sign relax.floor relax.ceil relax.round"
)
_MOVING = f"{_PERMUTE} relax.flatten relax.expand_dims relax.squeeze"
_REDUCING = "relax.sum relax.mean relax.prod relax.max relax.min relax.variance relax.std"
_ARITHMETIC = "relax.add relax.subtract relax.multiply relax.divide relax.maximum relax.minimum"


def _cast_afterwards(m: Any) -> Any:
    """Call an operator on operands as they were before they were cast, and cast the result."""
    dtype = getattr(m.call.attrs, "out_dtype", None) or m.x_cast.attrs.dtype
    plain = {"out_dtype": None} if getattr(m.call.attrs, "out_dtype", None) else {}
    operands = [m.x, m.y] if hasattr(m, "y") else [m.x, m.shape] if hasattr(m, "shape") else [m.x]
    return op.astype(_again(m.call, *operands, **plain), dtype)


def _floats_are_cast(m: Any) -> bool:
    casts = [m.x_cast.attrs.dtype, *([m.y_cast.attrs.dtype] if hasattr(m, "y") else [])]
    dtypes = [*_dtypes(*([m.x, m.y] if hasattr(m, "y") else [m.x])), *map(str, casts)]
    out = getattr(m.call.attrs, "out_dtype", None) or dtypes[0]
    return all(each in _FLOATS for each in (*dtypes, str(out)))


_X, _Y = (On("relax.astype", (name,), f"{name}_cast") for name in "xy")
CASTS = (
    Law(
        "a cast to the dtype that a tensor has is none",
        On("relax.astype", ("x",), "cast"),
        lambda m: m.x,
        lambda m: _dtypes(m.x) == [str(m.cast.attrs.dtype)],
    ),
    _rounding(
        "two casts between floats are one",
        On("relax.astype", (_X,), "cast"),
        lambda m: op.astype(m.x, m.cast.attrs.dtype),
        lambda m: all(each in _FLOATS for each in (*_dtypes(m.x), str(m.x_cast.attrs.dtype), str(m.cast.attrs.dtype))),
    ),
    _rounding(
        "a product in another float dtype is cast",
        On(_LINEAR, ("x", "y"), "product"),
        lambda m: op.astype(_again(m.product, m.x, m.y, out_dtype=None), m.product.attrs.out_dtype),
        lambda m: (
            m.product.attrs.out_dtype is not None
            and all(each in _FLOATS for each in (*_dtypes(m.x, m.y), str(m.product.attrs.out_dtype)))
        ),
    ),
    *(
        _rounding(f"what is computed of {words} may be cast afterwards", on, _cast_afterwards, _floats_are_cast)
        for words, on in (
            ("a cast float", On(f"{_ELEMENTWISE} {_REDUCING}", (_X,), "call")),
            ("two cast floats", On(f"{_ARITHMETIC} {_LINEAR}", (_X, _Y), "call")),
        )
    ),
    *(
        Law(f"elements that were cast may be moved before, {words}", on, _cast_afterwards)
        for words, on in (
            ("to where the attributes say", On(_MOVING, (_X,), "call")),
            ("into a shape", On("relax.reshape relax.broadcast_to", (_X, "shape"), "call")),
        )
    ),
)
"""Floats of other widths are the same real numbers, which are rounded otherwise."""

# -- kernels that stand for operators ----------------------------------------------------------------------------------


def _by(make: Any, *operands: Any) -> IRModule:
    """Make a module whose only Relax function is a value of operands: what a function of the builder emits."""
    builder = relax.BlockBuilder()
    with builder.function("law", list(operands)):
        builder.emit_func_output(make(builder, *operands))
    return builder.get()


def _kernel(function: Any, *arguments: Any, **named: Any) -> Any:
    return lambda builder, *operands: builder.emit_te(function, *operands, *arguments, **named)


def _ranked(m: Any) -> IRModule:
    """Sort or scan as the kernels of TOPI do for every target without its own."""
    name, attrs = str(m.ranked.op.name).removeprefix("relax."), m.ranked.attrs
    if name in ("cumsum", "cumprod"):
        axis = None if attrs.axis is None else int(attrs.axis)
        return _by(_kernel(getattr(topi, name), axis, attrs.dtype, attrs.exclusive), m.x)
    if name == "sort":
        return _by(_kernel(topi.sort, attrs.axis, not attrs.descending), m.x)
    if name == "argsort":
        return _by(_kernel(topi.argsort, axis=attrs.axis, is_ascend=not attrs.descending, dtype=attrs.dtype), m.x)
    return _by(
        _kernel(topi.topk, k=attrs.k, axis=attrs.axis, ret_type=attrs.ret_type, is_ascend=not attrs.largest,
                dtype=attrs.dtype),
        m.x,
    )  # fmt: skip


def _sampled(m: Any) -> IRModule:
    dtypes = [str(each.ty.dtype) for each in (m.p, m.u, m.rows)]

    def make(builder: Any, p: Any, u: Any, rows: Any) -> Any:
        summed = builder.emit(op.cumsum(p, axis=1, dtype=dtypes[0], exclusive=False))
        found = builder.add_func(generic_get_sample_index(*dtypes, m.sampled.attrs.dtype), "get_sample_index")
        shape = relax.TensorType(u.ty.shape, m.sampled.attrs.dtype)
        return builder.emit(relax.call_tir(found, [summed, u, rows], out_ty=shape))

    return _by(make, m.p, m.u, m.rows)


def _fast(m: Any) -> IRModule:
    name = str(m.slow.op.name).rpartition(".")[2]
    if name == "softmax":
        return _by(_kernel(topi.nn.fast_softmax, m.slow.attrs.axis), m.x)
    return _by(_kernel(getattr(topi, f"fast_{name}")), m.x)


def _by_transposed(m: Any) -> IRModule:
    """Multiply as the kernel that FuseTransposeMatmul makes of such a product alone."""
    product = partial(op.matmul, out_dtype=m.product.attrs.out_dtype)
    module = _by(
        lambda builder, x, w: builder.emit(product(x, builder.emit(op.permute_dims(w, m.moved.attrs.axes)))), m.x, m.w
    )
    fused = relax.transform.FuseTransposeMatmul()(relax.transform.ConvertToDataflow(1)(module))
    return relax.transform.DeadCodeElimination(["law"])(fused)


_kernel_law = partial(Law, source="the documentation of both; rounding is the kernel's own", exact=False)
RANKED = _kernel_law(
    "a sort or a scan is the kernel of TOPI",
    On("relax.sort relax.argsort relax.topk relax.cumsum relax.cumprod", ("x",), "ranked"),
    _ranked,
)
SAMPLED = _kernel_law(
    "a sample is found in the sums of its probabilities",
    On("relax.multinomial_from_uniform", ("p", "u", "rows"), "sampled"),
    _sampled,
)
FAST = _kernel_law(
    "a function is approximated by its fast counterpart",
    On("relax.exp relax.erf relax.tanh relax.nn.softmax", ("x",), "slow"),
    _fast,
    # The polynomial of erf has numbers that are too small for float16.
    lambda m: m.slow.op.name != "relax.erf" or _dtypes(m.x)[0] in ("float32", "float64"),
    source="FastMathTransform's documentation: fast but approximate counterparts",
)
TRANSPOSED = _kernel_law(
    "a product with a transposed tensor is a kernel that reads it the other way round",
    On(_MATMUL, ("x", On(_PERMUTE, ("w",), "moved")), "product"),
    _by_transposed,
)
