"""Every kernel that is built node by node, run by an interpreter: in its buffers, filled, within its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import drawn, in_tiers, missing
from kernel_interpreter import Interpreter, OutOfBounds, Unwritten
from tvm import relax, tirx
from tvm.ir import is_prim_expr

from relaxkit.runtime import session
from strategies import Feature, features_of, ir_modules
from strategies.kernels.builder import (
    BlockReduction,
    BufferSource,
    Extent,
    KernelBuilder,
    Nest,
    Reads,
    ScalarTerm,
    fixed,
)
from strategies.kernels.stages import STAGES, Extents
from strategies.kernels.terms import const
from strategies.scope.bounds import Bounds, dtype_bounds, is_float

KINDS = [
    Feature.DRAWN_KERNELS,
    Feature.SYMBOLIC_KERNELS,
    Feature.KERNEL_OUTPUTS,
    Feature.INPLACE_KERNELS,
    Feature.LOWERED,
]


class Recorder:
    """What builders were asked for, and what came of it."""

    def __init__(self, patch):
        self.kernels = []
        operand, scalar, store, finish = (
            getattr(KernelBuilder, name) for name in ("operand", "scalar", "store", "finish")
        )

        def recording(method, keep):
            def run(builder, *args, **more):
                result = method(builder, *args, **more)
                self.current.setdefault(id(builder), []).append(keep(result, args))
                return result

            return run

        def finished(builder, attrs):
            function = finish(builder, attrs)
            self.kernels.append((function, self.current.pop(id(builder))))
            return function

        self.current = {}
        patch.setattr(KernelBuilder, "operand", recording(operand, lambda result, _: ("operand", result)))
        patch.setattr(KernelBuilder, "scalar", recording(scalar, lambda result, _: ("scalar", result)))
        patch.setattr(KernelBuilder, "store", recording(store, lambda _, args: ("store", args[0])))
        patch.setattr(KernelBuilder, "finish", finished)


def array_in(chance, shape, source):
    low, high = source.bounds.lo, source.bounds.hi
    if is_float(source.dtype):
        numbers = np.asarray(low + (high - low) * chance.random(shape))  # NumPy's uniform refuses 0.0 to -0.0
        numbers[chance.random(shape) < 0.2] = high
    else:
        numbers = chance.integers(int(low), int(high) + 1, shape)
    return np.asarray(numbers, "float64")


def check(function, record, seed):
    """Run a kernel on drawn sizes and numbers; every buffer must keep to the bounds that its last block declared."""
    chance = np.random.default_rng(seed)
    machine = Interpreter(function)
    operands = [item for kind, item in record if kind == "operand"]
    for kind, item in record:
        extents = item.extents if kind == "operand" else [item]
        for extent in extents if kind in ("operand", "scalar") else ():
            if isinstance(extent.inner, tirx.Var):
                machine.values.setdefault(extent.inner, int(chance.integers(1, 4)))
    given = {source.buffer: array_in(chance, machine.shape(source.buffer), source) for source in operands}
    arguments = []
    for parameter in function.params:
        if is_prim_expr(parameter):
            arguments.append(machine.values[parameter])
        else:
            arguments.append(given.get(parameter, np.full(machine.shape(parameter), np.nan)))
    machine.run(arguments)
    last = {target.buffer: target for kind, target in record if kind == "store"}
    for buffer, target in last.items():
        found, slack = machine.arrays[buffer], 1e-6
        assert (found >= target.bounds.lo - slack).all(), target
        assert (found <= target.bounds.hi + slack).all(), target
        limit = dtype_bounds(target.dtype)
        assert limit.lo <= target.bounds.lo
        assert target.bounds.hi <= limit.hi
    return machine


@in_tiers(25, 60)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_kernels_stay_in_their_buffers_and_bounds(kind, count, monkeypatch):
    recorder = Recorder(monkeypatch)
    for _ in drawn(ir_modules(demand=[kind], max_functions=1, max_bindings=1), count):
        pass
    assert len(recorder.kernels) >= count / 3
    for seed, (function, record) in enumerate(recorder.kernels):
        try:
            check(function, record, seed)
        except Exception as error:
            raise AssertionError(function.script()) from error


def test_all_stages_and_nests_are_drawn(monkeypatch):
    recorder = Recorder(monkeypatch)
    parts = {"T.init()", "T.if_then_else", "T.Select", "T.where", "T.unroll", "sblock_alloc_buffer", "op_pattern",
             "layout_free_buffers", "operator_name", "//"}  # fmt: skip
    without_block = "no block"

    def met(_):
        texts = [function.script() for function, _ in recorder.kernels]
        recorder.kernels.clear()
        bare = {without_block for text in texts if 'T.sblock("b0")' not in text}
        return bare.union(*({part for part in parts if part in text} for text in texts))

    modules = drawn(ir_modules(demand=[Feature.DRAWN_KERNELS], max_functions=1, max_bindings=1), 150)
    assert not missing({*parts, without_block}, map(met, modules))


def test_compiled_kernels_compute_what_the_interpreter_does(monkeypatch):
    recorder = Recorder(monkeypatch)
    for _ in drawn(ir_modules(demand=[Feature.DRAWN_KERNELS], max_functions=1, max_bindings=1), 25, seed=7):
        pass
    for seed, (function, record) in enumerate(recorder.kernels):
        kernels = session().kernels
        compiled = kernels.modules({kernels.symbol(function): function})[0][kernels.symbol(function)]
        operands = {source.buffer: source.dtype for kind, source in record if kind == "operand"}
        machine = check(function, record, seed)
        chance = np.random.default_rng(seed)
        again = Interpreter(function)
        again.values = {var: machine.values[var] for var in machine.values if str(var).startswith(("d", "s"))}
        arrays = []
        for parameter in function.params:
            if is_prim_expr(parameter):
                arrays.append(again.values[parameter])
                continue
            shape = again.shape(parameter)
            dtype = operands.get(parameter) or str(parameter.ty.dtype.dtype)
            arrays.append(chance.integers(0, 3, shape).astype(dtype))
        ours = [item.astype("float64") if isinstance(item, np.ndarray) else item for item in arrays]
        again.run(ours)
        from relaxkit.runtime import to_tvm

        theirs = [to_tvm(item) for item in arrays]
        compiled(*theirs)
        for mine, its, parameter in zip(ours, theirs, function.params, strict=True):
            if parameter not in operands and not is_prim_expr(parameter):
                np.testing.assert_allclose(mine, its.numpy().astype("float64"), rtol=2e-2, atol=2e-2)


def test_symbolic_kernels_have_symbols_and_scalars():
    modules = list(drawn(ir_modules(demand=[Feature.SYMBOLIC_KERNELS], max_functions=1, max_bindings=1), 40))
    calls = [
        binding.value
        for module in modules
        for function in module.functions.values()
        if isinstance(function, relax.Function)
        for block in function.body.blocks
        for binding in block.bindings
        if str(getattr(getattr(binding.value, "op", None), "name", "")) == "relax.call_tir"
    ]
    assert any(is_prim_expr(argument) for call in calls for argument in call.args[1].fields)


def test_the_interpreter_sees_what_it_is_for():
    def kernel(index, reduced=()):
        builder = KernelBuilder()
        source = BufferSource(
            tirx.decl_buffer([4], "float32", "A", layout=None), (fixed(4),), Bounds(0.0, 1.0), "float32"
        )
        builder.inputs.append(source.buffer)
        target = builder.output((fixed(4),) if not reduced else (), source.bounds, "float32")
        axes = [] if reduced else [tirx.Var("v", "int64")]
        more = [tirx.Var("k", "int64")] if reduced else []
        reads = Reads()
        term = reads.load(source, [index((axes + more)[0])])
        reduction = BlockReduction(reduced, const(0, "float32"), lambda a, b: a + b) if reduced else None
        builder.store(target, term, axes, more, reads, Nest(), reduction)
        return builder.finish({})

    data = np.ones(4)
    with pytest.raises(OutOfBounds):
        Interpreter(kernel(lambda v: v + 1)).run([data, np.full(4, np.nan)])
    with pytest.raises(Unwritten):
        Interpreter(kernel(lambda v: v)).run([np.full(4, np.nan), np.full(4, np.nan)])
    with pytest.raises(AssertionError, match="not filled"):
        Interpreter(kernel(lambda v: v, (Extent(0, 0),))).run([data, np.array(np.nan)])
    result = np.array(np.nan)
    Interpreter(kernel(lambda v: v, (fixed(4),))).run([data, result])
    assert result == 4


def test_every_stage_fits_something():
    class Plain:
        def index(self, count):
            return count - 1

        def pick(self, options):
            return options[0]

        def subset(self, options):
            return [options[0]]

    source = BufferSource(
        tirx.decl_buffer([2, 3], "float32", "A", layout=None), (fixed(2), fixed(3)), Bounds(-2, 2), "float32"
    )
    for stage in STAGES:
        found = stage(Plain(), [source], Extents(lambda dim: (dim, dim), True))
        assert found is not None
        assert isinstance(found.body(*variables(found), Reads()), ScalarTerm)


def variables(stage):
    count = len(stage.reduction.extents) if stage.reduction else 0
    return [tirx.Var(f"v{at}", "int64") for at in range(len(stage.extents))], [
        tirx.Var(f"k{at}", "int64") for at in range(count)
    ]


def test_features_are_off_when_forbidden():
    plain = ir_modules(demand=[Feature.KERNELS], forbid=KINDS, max_functions=1)
    for module in drawn(plain, 25):
        assert Feature.KERNELS in features_of(module)
        assert not features_of(module) & set(KINDS)
