"""Every law is tried against the reference interpreter on drawn operands, and so is what its condition excludes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from test_soundness import mutants
from tvm import relax
from tvm.relax import op

from oracles.measure.interpret import Interpreted, compare_interpreted
from relaxkit.interpreter import Interpreter, Precision, Undefined, Unsupported
from relaxkit.ir.law import TUPLE, Law, On
from relaxkit.passes.arguments import given_of
from relaxkit.passes.contract import NumericPromise
from relaxkit.passes.contracts import CONTRACTS, contract_for, laws
from relaxkit.passes.pass_ref import PassRef
from relaxkit.proof import Result, prove
from relaxkit.proof import equality as equality_module
from relaxkit.proof.dims import DimTable
from relaxkit.proof.equality import Equality, function_of, module_of
from relaxkit.proof.evaluate import SymbolicProgram
from relaxkit.proof.terms import Terms

LAWS = {law.name: law for contract in CONTRACTS.values() for law in contract.laws}
NEAR = 2.0**-36
FEW, MANY = 30, 1_000
MOST_TRIES = 400
"""Draws for each that is wanted: operands are drawn regardless of one another, and most calls of them are ill-typed."""

Random = np.random.Generator


def one_of(random: Random, *values: Any) -> Any:
    return values[random.integers(len(values))]


def layout(random: Random, letters: str) -> str:
    return "".join(random.permutation(list(letters))) if random.integers(3) else letters


def convolution(name: str) -> Callable[..., Any]:
    kernel = "IO" if name.endswith("transpose") else "OI"
    space = {"1": "W", "2": "HW", "3": "DHW"}[name[4]]

    def make(random: Random, data: Any, weight: Any) -> Any:
        layouts = [f"NC{space}", f"{kernel}{space}", f"NC{space}"]
        if random.integers(2):
            layouts = [layout(random, each) for each in layouts]
        names = dict(zip(("data_layout", "kernel_layout", "out_layout"), layouts, strict=True))
        groups = one_of(random, 1, 1, 2)
        return getattr(op.nn, name)(data, weight, groups=groups, padding=one_of(random, 0, 1), **names)

    return make


def rank(value: Any) -> int:
    return len(value.ty.shape.values)


def axes_of(random: Random, rank: int) -> list[int]:
    """Axes in any order, some of them counted from the end."""
    return [int(each) - rank * int(random.integers(4) == 0) for each in random.permutation(rank)]


def normalized(random: Random, *operands: Any) -> Any:
    # Exact in every dtype: the law takes them as numbers of it.
    narrow = str(operands[0].ty.dtype) == "float16"
    attributes = {
        "epsilon": 0.001 if narrow else 2.0**-6,
        "center": bool(random.integers(3)),
        "scale": bool(random.integers(3)),
    }
    momentum, training = one_of(random, 0.25, 0.5), bool(random.integers(2))
    axis = int(random.integers(-rank(operands[0]), rank(operands[0])))
    return op.nn.batch_norm(*operands, axis=one_of(random, 1, axis), momentum=momentum, training=training, **attributes)


CALLS: dict[str, Callable[..., Any]] = {
    "matmul": lambda random, x, y: op.matmul(x, y, one_of(random, None, None, None, str(x.ty.dtype), "float64")),
    "permute_dims": lambda random, x: op.permute_dims(
        x, one_of(random, None, [*range(rank(x))], *[axes_of(random, rank(x)) for _ in range(4)])
    ),
    "take": lambda random, x, y: op.take(x, y, one_of(random, None, 0, 1, -1, -1), one_of(random, "fast", "clip")),
    "astype": lambda random, x: op.astype(
        x, one_of(random, "int32", "float16", "float32", "float64", "float32", str(x.ty.dtype))
    ),
    "nn.batch_norm": normalized,
    "nn.layer_norm": lambda random, *operands: op.nn.layer_norm(
        *operands,
        one_of(random, [-1], [rank(operands[0]) - 1], [0], [-2, -1]),
        epsilon=2.0**-6,
        center=bool(random.integers(3)),
        scale=bool(random.integers(3)),
    ),
    "concat": lambda random, xs: op.concat(xs, one_of(random, 0, 1, -1)),
    "layout_transform": lambda random, x: op.layout_transform(x, index_map(random, rank(x))),
    "expand_dims": lambda random, x: op.expand_dims(x, one_of(random, 0, 1, [0, -1])),
    "squeeze": lambda random, x: op.squeeze(x, one_of(random, None, 0)),
    "sort": lambda random, x: op.sort(x, one_of(random, 0, -1), bool(random.integers(2))),
    "argsort": lambda random, x: op.argsort(x, one_of(random, 0, -1), bool(random.integers(2)), "int64"),
    "topk": lambda random, x: op.topk(
        x, 1, one_of(random, 0, -1), one_of(random, "both", "values", "indices"), bool(random.integers(2)), "int64"
    ),
    "cumsum": lambda random, x: op.cumsum(x, one_of(random, None, 0, -1), exclusive=bool(random.integers(2))),
    "cumprod": lambda random, x: op.cumprod(x, one_of(random, None, 0, -1), exclusive=bool(random.integers(2))),
    "multinomial_from_uniform": lambda random, p, u, rows: op.multinomial_from_uniform(
        p, u, rows, one_of(random, "int64", "int32")
    ),
    "nn.softmax": lambda random, x: op.nn.softmax(x, one_of(random, -1, 0)),
    **{f"nn.conv{axes}d{kind}": convolution(f"conv{axes}d{kind}") for axes in (1, 2, 3) for kind in ("", "_transpose")},
    **{
        name: lambda random, x, name=name: getattr(op, name)(x, one_of(random, None, None, 0, [0, 1]))
        for name in ("sum", "mean", "prod", "max", "min", "variance", "std")
    },
}


def index_map(random: Random, ndim: int) -> Any:
    """A permutation of the indices, or a map that computes one."""
    order = random.permutation(ndim)
    if random.integers(3) == 0:
        return tvm.tirx.IndexMap.from_func(lambda *i: [*i[:-1], i[-1] // 2, i[-1] % 2], ndim=ndim, index_dtype="int64")
    return tvm.tirx.IndexMap.from_func(lambda *i: [i[each] for each in order], ndim=ndim, index_dtype="int64")


VECTORS = ("gamma", "beta", "mean", "variance")
SHAPES = ("shape", "other")
NEAR_KERNELS = 2.0**-9
"""Kernels compute in the dtypes of their operands, and fast ones approximate."""
INDICES = ("indices",)


def axes_of_windows(operator: str) -> int:
    """The axes of the operands of a convolution; 0 for another operator."""
    return int(operator[7]) + 2 if operator.startswith("nn.conv") else 0


KERNELS = (laws.RANKED, laws.SAMPLED, laws.FAST, laws.TRANSPOSED)
APART = (laws.CONVOLUTION_IN_ANOTHER_LAYOUT,)
"""Laws whose condition keeps out what is not drawn."""


@dataclass
class Draw:
    """Operands and calls of a left side."""

    random: Random
    law: Law

    def __post_init__(self) -> None:
        sizes = [[2], [3], [1, 2], [2, 3], [2, 4], [1, 2, 3]]
        self.sizes = one_of(self.random, *sizes)
        self.dtype = one_of(self.random, "float32", "float32", "float64", "float16", "int32")
        alike = self.shape(one_of(self.random, 1, 2, 2, 3, 3, 3, 4))
        self.root = one_of(self.random, *self.law.left.operators.split()).removeprefix("relax.")
        self.alike = None if axes_of_windows(self.root) or self.random.integers(2) else alike
        self.axes = axes_of(self.random, len(alike)) if self.root == "concat" and self.alike else None
        self.builder = relax.BlockBuilder()
        self.params: dict[str, Any] = {}
        self.bindings: list[Any] = []

    def shape(self, ndim: int) -> list[int]:
        return [int(one_of(self.random, *self.sizes)) for _ in range(ndim)]

    def leaf(self, name: str) -> Any:
        known = f"{name}{len(self.params)}"
        if name in SHAPES:
            (*_, last) = self.bindings or [None]
            shape = [int(each) for each in (self.x if last is None else last.var).ty.shape.values]
            same = [int(each) for each in self.x.ty.shape.values]
            shapes = (shape, same, shape[::-1], [int(np.prod(shape))], [2, *shape])
            return relax.ShapeExpr(one_of(self.random, *shapes))
        if name in ("p", "u", "rows"):
            rows, samples = self.sizes[0], self.sizes[-1]
            shape, dtype = {"p": ([rows, 4], "float32"), "u": ([samples, 1], "float32"),
                            "rows": ([samples, 1], "int64")}[name]  # fmt: skip
            ty = relax.TensorType(shape, dtype)
        elif name in INDICES:
            ty = relax.TensorType(self.shape(one_of(self.random, 1, 1, 1, 2)), "int64")
        elif name in VECTORS:
            ty = relax.TensorType(self.shape(1 if "batch" in self.law.left.operators or self.random.integers(2) else 2),
                                  self.dtype)  # fmt: skip
        else:
            ndim = one_of(self.random, 1, 2, 2, 3, 3, 3, 4)
            inside = self.law.left.operands[0]
            windows = inside.operators.removeprefix("relax.") if isinstance(inside, On) else self.root
            ndim = axes_of_windows(windows) or axes_of_windows(self.root) or ndim
            shape = self.shape(ndim) if self.alike is None or not self.random.integers(4) else self.alike
            ty = relax.TensorType(shape, self.dtype)
        self.params[known] = self.x = relax.Var(known, ty)
        return self.params[known]

    def build(self, pattern: On | str) -> Any:
        if isinstance(pattern, str):
            return self.leaf(pattern)
        name = self.root
        if pattern is not self.law.left:
            name = one_of(self.random, *pattern.operators.split()).removeprefix("relax.")
        operands = [self.build(each) for each in pattern.operands]
        if name == TUPLE:
            return relax.Tuple(operands)
        if name == "permute_dims" and self.axes is not None and self.random.integers(8):
            call = op.permute_dims(operands[0], self.axes)
        elif isinstance(pattern.operands[0], On) and name == "nn.batch_norm" and self.random.integers(8):
            call = op.nn.batch_norm(*operands, axis=1, epsilon=2.0**-6, training=False)  # others rarely fit
        elif name in CALLS:
            call = CALLS[name](self.random, *operands)
        else:
            attrs = getattr(op.nn, name[3:])(*operands).attrs if name.startswith("nn.") else None
            call = relax.Call(tvm.ir.Op.get(f"relax.{name}"), operands, attrs)
        call = self.builder.normalize(call)
        self.bindings.append(relax.VarBinding(relax.Var(f"call{len(self.bindings)}", call.ty), call))
        return self.bindings[-1].var

    def function(self) -> Any:
        left = self.build(self.law.left)
        body = relax.SeqExpr([relax.BindingBlock(self.bindings)], left)
        return relax.Function(list(self.params.values()), body, left.ty)

    def arguments(self) -> list[Any]:
        return [self.values(each) for each in self.params.values()]

    def values(self, param: Any) -> Any:
        shape = [int(each) for each in param.ty.shape.values]
        if param.name.rstrip("0123456789") in INDICES:
            return self.random.integers(0, min(self.sizes), shape)
        if param.name.startswith("rows"):
            return self.random.integers(0, self.sizes[0], shape)
        drawn = self.random.normal(size=shape) * 2
        if param.name.startswith(("p", "u")):
            drawn = np.abs(drawn) + 0.1
            return (drawn / np.sum(drawn, -1, keepdims=True) if param.name[0] == "p" else drawn % 1).astype("float32")
        return (np.abs(drawn) + 0.1 if "variance" in param.name else drawn).astype(str(param.ty.dtype))


def run(function: Any, arguments: list[Any], precision: Precision, module: Any = None) -> list[Any]:
    if not module:
        module = tvm.IRModule({"law": function.without_attr("global_symbol")})
    value = Interpreter(module, precision).call("law", arguments)
    return list(value) if isinstance(value, tuple) else [value]


def same(law: Law, expected: list[Any], other: Any, others: list[Any], module: Any = None) -> bool:
    """Whether a function computes what is expected: to the bit, or in real arithmetic."""
    near = NEAR_KERNELS if law in KERNELS else NEAR
    try:
        pairs = list(zip(expected, run(other, others, precision_of(law), module), strict=True))
    except (Undefined, Unsupported):
        return False
    if any(mine.shape != its.shape or mine.dtype != its.dtype for mine, its in pairs):
        return False
    return all(
        np.allclose(mine, its, rtol=near, atol=near * np.nanmax(np.abs(mine), initial=1.0), equal_nan=True)
        if mine.dtype.kind == "f" and not law.exact
        else np.array_equal(mine, its, equal_nan=mine.dtype.kind == "f")
        for mine, its in pairs
    )


def precision_of(law: Law) -> Precision:
    return Precision.DECLARED if law.exact or law in KERNELS else Precision.FLOAT64


def tried(law: Law, wanted: int, seed: int = 0) -> Counter[str]:
    """Try a law where its condition holds, so often; and where it does not, to see what it keeps out."""
    seen: Counter[str] = Counter()
    for number in itertools.count():
        if seen["held"] >= wanted and (law.condition is None or law in APART or seen["kept out"]):
            return seen
        assert number < MOST_TRIES * wanted, f"{law.name}: {dict(seen)}"
        draw = Draw(np.random.default_rng([seed, number]), law)
        try:
            left = draw.function()
        except Exception as error:
            if "Mismatched type on argument" in str(error):
                raise  # the draw is at fault, not the types of its operands
            continue
        judged(law, left, draw.arguments(), seen)
    raise AssertionError


def judged(law: Law, left: Any, arguments: list[Any], seen: Counter[str]) -> None:
    terms = Terms()
    dims, shapes = DimTable(terms), dict[Any, Any]()
    program = SymbolicProgram(tvm.IRModule({"law": left}), terms, dims, shapes)
    given = program.parameters("law", None)
    value = program.call_function("law", given)
    # A call of several results is one term, of which the program sees the elements.
    first = value.fields[0] if hasattr(value, "fields") else value
    term = terms[first].children[0] if terms[first].head == "item" else first
    equality = Equality(terms, dims, shapes)
    equality.add(term)
    for found in equality.fits(law.left, term):
        operands = SimpleNamespace(**found)
        holds = law.condition is None or law.condition(operands)
        if not holds and seen["kept out"]:
            continue
        try:
            module, right = module_of(law.right(operands))
        except Exception:
            right = None
        if right is None or not tvm_ffi.structural_equal(left.ret_ty, right.ret_ty):
            seen["ill-typed" if holds else "kept out"] += 1
            continue
        others = [arguments[given.index(equality.operands[each])] for each in right.params]
        try:
            expected = run(left, arguments, precision_of(law))
        except (Undefined, Unsupported):
            return
        agrees = same(law, expected, right, others, module if module.functions else None)
        assert agrees or not holds, f"{law.name}\n{left}\n{right}"
        seen["held" if holds else "not needed" if agrees else "kept out"] += 1


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_law_holds_where_its_condition_does_and_needs_it(law: Law) -> None:
    tried(law, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_law_holds_on_a_thousand_operands(law: Law) -> None:
    tried(law, MANY, seed=1)


def test_channels_in_packs_are_kept_out() -> None:
    x, w = (relax.Var(name, relax.TensorType((1, 2, 4, 4, 2), "float32")) for name in "xw")
    conv = op.nn.conv2d(x, w, data_layout="NCHW2c", kernel_layout="OIHW2i")
    operands = SimpleNamespace(x=x, w=w, conv=conv)
    law = laws.CONVOLUTION_IN_ANOTHER_LAYOUT
    assert law.condition is not None
    assert not law.condition(operands)
    with pytest.raises(Exception, match=r"(?i)axes|ndim|dimension|PermuteDims"):
        function_of(law.right(operands))


WRONG = {
    "a vector among stacks of matrices": replace(laws.PRODUCT_ASSOCIATES, condition=lambda m: rank(m.b) > 1),
    "another order of rounding": replace(laws.PRODUCT_ASSOCIATES, exact=True),
    "permutations the other way round": replace(
        laws.PERMUTATIONS[1],
        right=lambda m: op.permute_dims(m.x, [laws._axes(m.outer, m.x)[each] for each in laws._axes(m.inner, m.x)]),
    ),
    "operands exchanged": Law(
        "wrong", On("relax.subtract", ("x", "y"), "difference"), lambda m: op.subtract(m.y, m.x), lambda m: True
    ),
    "a formula without its shift": replace(
        laws.NORMALIZED, right=lambda m: relax.Tuple([laws._normalized(m).fields[0].args[0], m.mean, m.variance])
    ),
}


@pytest.mark.parametrize("law", WRONG.values(), ids=WRONG)
def test_a_wrong_law_is_caught(law: Law) -> None:
    with pytest.raises(AssertionError, match="\n"):
        tried(law, FEW)


def test_laws_that_round_belong_to_passes_that_may_or_are_measured() -> None:
    """A proof up to reassociation says nothing of a promise to the bit: see the numeric oracle."""
    rounding = {name for name, contract in CONTRACTS.items() if not all(law.exact for law in contract.laws)}
    exact = {name for name in rounding if CONTRACTS[name].numeric is NumericPromise.BIT_EXACT}
    assert exact == {"DecomposeOpsForInference", "DispatchSampling", "DispatchSortScan", "FuseTransposeMatmul"}


# -- modules ---------------------------------------------------------------------------------------------------


def module(shapes: str, body: Callable[..., Any], dtype: str = "float32") -> Any:
    """A function of tensors, whose shapes are written like "2n 3": a letter is a symbolic dim."""
    names: dict[str, Any] = {}

    def dim(letter: str) -> Any:
        return int(letter) if letter.isdigit() else names.setdefault(letter, tvm.tirx.Var(letter, "int64"))

    types = [relax.TensorType([dim(each) for each in shape], dtype) for shape in shapes.split()]
    params = [relax.Var(f"p{number}", ty) for number, ty in enumerate(types)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(body(builder, *params))
        builder.emit_func_output(out)
    return relax.transform.AttachGlobalSymbol()(relax.transform.Normalize()(builder.get()))


def proved(before: Any, after: Any, *used: Law) -> str:
    return str(prove(before, after, laws=used))


ASSOCIATED = "proved up to reassociation by laws: a product is associative"


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ("23 34 45", True),
        ("n3 3m m5", True),
        ("223 34 45", True),
        ("3 34 45", True),
        ("23 34 4", True),
        ("3 234 245", False),  # the vector becomes a matrix of two rows
        ("23 243 4", False),
    ],
)
def test_products_are_associated_but_for_vectors_among_stacks(shapes: str, expected: bool) -> None:
    try:
        one = module(shapes, lambda bb, a, b, c: op.matmul(bb.emit(op.matmul(a, b)), c))
        other = module(shapes, lambda bb, a, b, c: op.matmul(a, bb.emit(op.matmul(b, c))))
    except Exception:
        assert not expected
        return
    assert str(prove(one, other)).startswith("different")
    assert (proved(one, other, laws.PRODUCT_ASSOCIATES) == ASSOCIATED) is expected


def test_a_vector_among_square_stacks_is_never_associated() -> None:
    """Both sides are of one type here, and other numbers."""
    for shapes in ("2 222 222", "222 222 2", "22 222 2"):
        one = module(shapes, lambda bb, a, b, c: op.matmul(bb.emit(op.matmul(a, b)), c))
        other = module(shapes, lambda bb, a, b, c: op.matmul(a, bb.emit(op.matmul(b, c))))
        if tvm_ffi.structural_equal(one["main"].ret_ty, other["main"].ret_ty):
            assert proved(one, other, laws.PRODUCT_ASSOCIATES).startswith("different"), shapes


def test_exact_laws_prove_to_the_bit_and_the_words_say_by_which() -> None:
    before = module("234", lambda bb, x: op.permute_dims(bb.emit(op.permute_dims(x, [1, 0, 2])), [1, 0, 2]))
    said = prove(before, module("234", lambda bb, x: x), laws=laws.PERMUTATIONS)
    assert said.result is Result.PROVED
    assert said.exact
    assert "two permutations are one" in said.laws


def test_a_graph_that_grows_too_large_stays_different(monkeypatch: pytest.MonkeyPatch) -> None:
    one = module("23 34 45", lambda bb, a, b, c: op.matmul(bb.emit(op.matmul(a, b)), c))
    other = module("23 34 45", lambda bb, a, b, c: op.matmul(a, bb.emit(op.matmul(b, c))))
    for bound in ("MOST_NODES", "MOST_SECONDS"):
        with monkeypatch.context() as patch:
            patch.setattr(equality_module, bound, 0)
            assert proved(one, other, laws.PRODUCT_ASSOCIATES).startswith("different")


def normalized_module(training: bool) -> Any:
    def body(bb: Any, x: Any, *vectors: Any) -> Any:
        called = bb.emit(op.nn.batch_norm(x, *vectors, axis=1, epsilon=1e-5, training=training))
        return relax.TupleGetItem(called, 0)

    return module("n322 3 3 3 3", body)


def convolution_module() -> Any:
    def body(bb: Any, x: Any, w: Any, y: Any) -> Any:
        added = bb.emit(op.add(y, bb.emit(op.nn.conv2d(x, w))))
        return op.sum(bb.emit(op.nn.relu(added)))

    return module("n244 3222 n333", body)


def taken_module() -> Any:
    def body(bb: Any, x: Any, w: Any) -> Any:
        indices = relax.const(np.array([1, 0, 1]), "int64")
        return op.matmul(x, bb.emit(op.take(w, indices, axis=1)))

    return module("n3 32", body)


def folded_module() -> Any:
    def body(bb: Any, x: Any) -> Any:
        weight = relax.const(np.linspace(-1, 1, 24).reshape(3, 2, 2, 2), "float32")
        vectors = [relax.const(np.linspace(first, 2, 3), "float32") for first in (0.5, -1, 0.25, 1)]
        called = bb.emit(op.nn.batch_norm(bb.emit(op.nn.conv2d(x, weight)), *vectors, axis=1, training=False))
        return relax.TupleGetItem(called, 0)

    return module("n244", body)


def transformed_module() -> Any:
    def body(bb: Any, x: Any, y: Any) -> Any:
        swapped = tvm.tirx.IndexMap.from_func(lambda i, j: (j, i), index_dtype="int64")
        moved = bb.emit(op.layout_transform(bb.emit(op.layout_transform(x, swapped)), swapped))
        return op.subtract(moved, y)

    return module("34 34", body)


def concatenated_module() -> Any:
    def body(bb: Any, x: Any, y: Any) -> Any:
        moved = [bb.emit(op.permute_dims(each, [1, 0])) for each in (x, y)]
        return op.concat(moved, axis=0)

    return module("34 34", body)


def reshaped_module() -> Any:
    return module("34 34", lambda bb, x, y: op.subtract(bb.emit(op.reshape(bb.emit(op.reshape(x, [12])), [3, 4])), y))


PASSES = [
    ("FoldBatchnormToConv2D()", folded_module()),
    ("OptimizeLayoutTransform()", transformed_module()),
    ("ReorderPermuteDimsAfterConcat()", concatenated_module()),
    ("RemoveRedundantReshape()", reshaped_module()),
    ("AdjustMatmulOrder()", module("29 92 29", lambda bb, a, b, c: op.matmul(a, bb.emit(op.matmul(b, c))))),
    ("ExpandMatmulOfSum()", module("n3 34 34", lambda bb, x, a, b: op.matmul(x, bb.emit(op.add(a, b))))),
    ("ReorderTakeAfterMatmul()", taken_module()),
    ("ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI']})", convolution_module()),
    ("DecomposeOpsForInference()", normalized_module(training=False)),
    ("DecomposeOpsForTraining()", normalized_module(training=True)),
    (
        "DecomposeOpsForTraining()",
        module("n34 4 4", lambda bb, x, gamma, beta: op.nn.layer_norm(x, gamma, beta, [-1], epsilon=0.01)),
    ),
    ("ToMixedPrecision()", module("23 34", lambda bb, x, w: op.nn.relu(bb.emit(op.matmul(x, w))))),
    ("FastMathTransform()", module("n3 n3", lambda bb, x, y: op.subtract(bb.emit(op.tanh(x)), y))),
    ("FuseTransposeMatmul()", module("n3 43", lambda bb, x, w: op.matmul(x, bb.emit(op.permute_dims(w))))),
]


@pytest.mark.parametrize(
    ("expression", "given"), PASSES, ids=[f"{name} {number}" for number, (name, _) in enumerate(PASSES)]
)
def test_what_a_pass_gives_is_proved_and_no_mutant_of_it_that_computes_otherwise(expression: str, given: Any) -> None:
    ref = PassRef(expression.partition("(")[0], f"relax.transform.{expression}")
    after, used = ref.build()(given), contract_for(ref).laws
    assert str(prove(given, after)).startswith("different"), "without laws"
    proof = prove(given, after, laws=used)
    assert proof.result is Result.PROVED
    assert proof.exact is all(law.exact for law in used)
    assert proof.laws
    results = Counter[str]()
    for mutant in mutants(after):
        result = str(prove(given, mutant, laws=used).result)
        seen = compare_interpreted(given, mutant, 1, given_of([]))
        assert result != "proved" or seen in (Interpreted.EQUAL, Interpreted.NEAR), mutant.script()
        results[result] += 1
    assert results["different"] or not results


def test_the_other_mode_of_batch_norm_is_not_proved() -> None:
    """DecomposeOpsForInference takes every batch_norm for one of inference."""
    given = normalized_module(training=True)
    after = relax.transform.DecomposeOpsForInference()(given)
    assert proved(given, after, laws.NORMALIZED).startswith("different")
