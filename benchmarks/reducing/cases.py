"""Failing modules of 30 to 200 bindings for ``benchmarks/reduction.py``: a small trigger amid much that is noise.

Half of the triggers are defects of TVM 0.27.0.post1, so that they fail as findings do; the other half are planted in
passes of ``planted_passes.py``.  All modules follow from fixed seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from fuzzer.core.case import Case
from relaxkit.ir.sketch.sketch import bindings_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

op = relax.op
F32 = "float32"
DEVICE = "relax.transform.UpdateVDevice(relax.VDevice('llvm', 0, 'other'), 0)"


@dataclass(frozen=True, slots=True)
class Specimen:
    """A failing case.

    Attributes:
        name: What it stands for.
        case: The case.
        oracle: The oracle whose failure is to be kept.
        bindings: Bindings of its module.
        fails: Whether it fails at all.
    """

    name: str
    case: Case
    oracle: OracleName
    bindings: int
    fails: bool = True


def tensor(name: str, *shape: Any, dtype: str = F32, vdevice: Any = None) -> Any:
    return relax.Var(name, relax.TensorType(shape, dtype, vdevice))


class Noise:
    """Emits bindings that no trigger needs: a fixed mix of operators on each other's results.

    Args:
        builder: Inside a function.
        start: The value to begin with, of rank 2.
        seed: Decides the mix.
    """

    def __init__(self, builder: Any, start: Any, seed: int) -> None:
        self.builder = builder
        self.values = [start]
        self.chance = random.Random(seed)

    def emit(self, count: int) -> Any:
        """At least ``count`` further bindings; the last value depends on most of the others."""
        emitted = 0
        while emitted < count:
            emitted += self._one()
        return self.values[-1]

    def mixed(self, count: int) -> Any:
        """As :meth:`emit`, and a sum of the values at the end, so that nothing is unused."""
        self.emit(max(0, count - 4))
        total = self.values[-1]
        for value in self.chance.sample(self.values, min(4, len(self.values))):
            total = self.builder.emit(op.maximum(total, value))
        self.values.append(total)
        return total

    def _one(self) -> int:
        chance, emit = self.chance, self.builder.emit
        value = self.values[-1] if chance.random() < 0.7 else chance.choice(self.values)
        other = chance.choice(self.values)
        what = chance.randrange(9)
        before = len(self.values)
        if what < 3:
            self.values.append(emit(chance.choice((op.tanh, op.sin, op.abs, op.negative, op.floor))(value)))
        elif what < 5:
            self.values.append(emit(chance.choice((op.add, op.multiply, op.minimum))(value, other)))
        elif what == 5:
            pair = emit(relax.Tuple([value, other]))
            self.values.append(emit(relax.TupleGetItem(pair, chance.randrange(2))))
            return 2
        elif what == 6:
            self.values.append(emit(op.where(emit(op.greater(value, other)), value, other)))
            return 2
        elif what == 7:
            wide = emit(op.astype(value, "float64"))
            self.values.append(emit(op.astype(emit(op.tanh(wide)), F32)))
            return 3
        else:
            self.values.append(emit(op.add(value, relax.const(np.float32(chance.randrange(1, 9) / 8), F32))))
        return len(self.values) - before


def function(builder: Any, name: str, count: int, seed: int, *shape: Any, private: bool = False) -> Any:
    """A function of noise alone."""
    x = tensor("x", *shape)
    with builder.function(name, [x], private=private):
        with builder.dataflow():
            out = builder.emit_output(Noise(builder, x, seed).mixed(count))
        return builder.emit_func_output(out)


def around(trigger: Callable[[Any, Any], Any], before: int, after: int, seed: int, *shape: Any) -> Any:
    """A module with one function that has a trigger in its middle, whose value is returned among others."""
    builder = relax.BlockBuilder()
    x = tensor("x", *(shape or (3, 4)))
    with builder.function("main", [x]):
        with builder.dataflow():
            noise = Noise(builder, x, seed)
            first = noise.mixed(before)
            result = trigger(builder, first)
            last = Noise(builder, first, seed + 1).mixed(after)
            outputs = [builder.emit_output(relax.Tuple([result, last, first]))]
        builder.emit_func_output(outputs[0])
    return builder.finalize()


# -- modules ----------------------------------------------------------------------------------------------------------


def transposed_output() -> Any:
    """FuseTransposeMatmul raises where the transposed weight is used a second time."""
    builder = relax.BlockBuilder()
    x, w = tensor("x", 3, 4), tensor("w", 8, 4)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            before = Noise(builder, x, 11).mixed(90)
            turned = builder.emit_output(op.permute_dims(w))
            product = builder.emit(op.matmul(before, turned))
            out = builder.emit_output(Noise(builder, product, 12).mixed(90))
        builder.emit_func_output(relax.Tuple([turned, out]))
    return builder.finalize()


def rank_only_weight() -> Any:
    """VMShapeLower kills the process on a weight of which only the rank is known."""
    builder = relax.BlockBuilder()
    function(builder, "other", 20, 21, 5, 8)
    x, w = tensor("x", 3, 4), relax.Var("w", relax.TensorType(ndim=2, dtype=F32))
    with builder.function("main", [x, w], attrs={"num_input": 1}):
        with builder.dataflow():
            before = builder.emit_output(Noise(builder, x, 22).mixed(40))
        known = builder.match_cast(w, relax.TensorType((4, 8), F32))
        builder.emit_func_output(builder.emit(op.matmul(before, known)))
    return builder.finalize()


def several_functions() -> Any:
    """MergeCompositeFunctions fails on a module with a second function that has bindings."""
    builder = relax.BlockBuilder()
    for index in range(6):
        function(builder, f"part{index}", 16, 30 + index, 2 + index, 4)
    x, w = tensor("x", 3, 4), tensor("w", 4, 8)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            product = builder.emit(op.matmul(Noise(builder, x, 37).mixed(10), w))
            out = builder.emit_output(Noise(builder, op.nn.relu(product), 38).mixed(10))
        builder.emit_func_output(out)
    return builder.finalize()


def many_calls() -> Any:
    """FastMathTransform raises at a call of a function; here some call others."""
    builder = relax.BlockBuilder()
    helpers = [function(builder, f"helper{index}", 9, 40 + index, 3, 4, private=True) for index in range(5)]
    x = tensor("x", 3, 4)
    with builder.function("main", [x]):
        noise = Noise(builder, x, 45)
        for helper in helpers:
            noise.values.append(builder.emit(tvm.ir.Call(helper, [noise.mixed(6)])))
        builder.emit_func_output(noise.mixed(6))
    return builder.finalize()


def private_symbolic() -> Any:
    """InlinePrivateFunctions leaves a callee's symbolic dim behind."""
    builder = relax.BlockBuilder()
    k, n = tvm.tirx.Var("k", "int64"), tvm.tirx.Var("n", "int64")
    p = tensor("p", k, 4)
    with builder.function("helper", [p], private=True):
        with builder.dataflow():
            full = builder.emit(op.full(relax.ShapeExpr([k, 4]), relax.const(1.0, F32), F32))
            out = builder.emit_output(op.add(Noise(builder, p, 51).mixed(25), full))
        helper = builder.emit_func_output(out)
    function(builder, "other", 30, 52, tvm.tirx.Var("m", "int64"), 4)
    x = tensor("x", n, 4)
    with builder.function("main", [x]):
        called = builder.emit(tvm.ir.Call(helper, [Noise(builder, x, 53).mixed(25)]))
        builder.emit_func_output(Noise(builder, called, 54).mixed(20))
    return builder.finalize()


def on_a_device() -> Any:
    """UpdateVDevice modifies its input wherever a type has the device."""
    device = relax.VDevice("llvm")
    builder = relax.BlockBuilder()
    function(builder, "other", 30, 61, 3, 4)
    builder = relax.BlockBuilder(tvm.IRModule(dict(builder.finalize().functions), global_infos={"vdevice": [device]}))
    x, y = (tensor(name, 3, 4, vdevice=device) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            value = builder.emit(op.add(x, y))
            for index in range(30):
                value = builder.emit((op.exp, op.tanh, op.abs)[index % 3](value))
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    return builder.finalize()


def with_num_input() -> Any:
    """LiftTransformParams lifts once more on its own output."""
    builder = relax.BlockBuilder()
    x, w = tensor("x", 3, 4), tensor("w", 3, 4)
    with builder.function("main", [x, w], attrs={"num_input": 2}):
        with builder.dataflow():
            weights = Noise(builder, w, 71).mixed(30)
            values = Noise(builder, x, 72).mixed(40)
            out = builder.emit_output(op.add(values, weights))
        builder.emit_func_output(out)
    return builder.finalize()


def product_in_a_branch() -> Any:
    """A product in one branch of an ``If`` that stands in a branch of another."""
    x, w, c = tensor("x", 4, 4), tensor("w", 4, 4), relax.Var("c", relax.TensorType((), "bool"))

    def branch(seed: int, *, product: bool = False, nested: Any = None) -> Any:
        inner = relax.BlockBuilder()
        with inner.function("branch", [x, w, c]):
            with inner.dataflow():
                value = Noise(inner, x, seed).mixed(12)
                value = inner.emit(op.matmul(value, w)) if product else value
                value = inner.emit_output(Noise(inner, value, seed + 1).mixed(6))
            if nested is not None:
                value = inner.emit(op.add(value, inner.emit(nested)))
            inner.emit_func_output(value)
        return inner.finalize()["branch"].body

    builder = relax.BlockBuilder()
    with builder.function("main", [x, w, c]):
        first = Noise(builder, x, 81).mixed(12)
        inner = relax.If(c, branch(83, product=True), branch(85))
        chosen = builder.emit(relax.If(c, branch(87), branch(89, nested=inner)))
        builder.emit_func_output(Noise(builder, builder.emit(op.add(first, chosen)), 82).mixed(10))
    return builder.finalize()


def kernels() -> Any:
    """Kernels in place of operators; one is no plain loop nest."""
    builder = relax.BlockBuilder()
    x, indices, updates = tensor("x", 4, 4), tensor("i", 4, 4, dtype="int32"), tensor("u", 4, 4)
    with builder.function("main", [x, indices, updates]):
        with builder.dataflow():
            before = Noise(builder, x, 91).mixed(35)
            spread = builder.emit(op.scatter_elements(before, indices, updates, 0, "max"))
            out = builder.emit_output(Noise(builder, spread, 92).mixed(20))
        builder.emit_func_output(out)
    return relax.transform.LegalizeOps()(builder.finalize())


# -- cases ------------------------------------------------------------------------------------------------------------


def stock(name: str) -> PassRef:
    return PassRef(name, f"relax.transform.{name}()")


def planted(name: str) -> PassRef:
    return PassRef(name, f"user:{Path(__file__).resolve().parent / 'planted_passes.py'}:{name}")


def specimens() -> list[Specimen]:
    """All cases; builds their modules, so call it where TVM may run."""

    def specimen(name: str, module: Any, oracle: OracleName, *passes: PassRef, fails: bool = True) -> Specimen:
        return Specimen(name, Case(str(tvm.ir.save_json(module)), passes, 0), oracle, bindings_of(module), fails)

    def cumulated(builder: Any, value: Any) -> Any:
        return builder.emit(op.cumsum(builder.emit(op.sigmoid(value)), 1))

    def two(builder: Any, value: Any) -> Any:
        return builder.emit(op.tanh(builder.emit(op.cumsum(value, 0))))

    calm = [
        "CanonicalizeBindings",
        "DeadCodeElimination",
        "ConvertToDataflow",
        "FoldConstant",
        "EliminateCommonSubexpr",
    ]
    order = (
        *map(stock, calm[:2]),
        planted("marks"),
        *map(stock, calm[2:]),
        planted("trips_over_marks"),
        stock(calm[0]),
    )
    crash, numeric = OracleName.CRASH, OracleName.NUMERIC
    return [
        specimen("crash, cheap query", transposed_output(), crash, stock("FuseTransposeMatmul")),
        specimen("segfault", rank_only_weight(), crash, stock("VMShapeLower")),
        specimen("several functions", several_functions(), crash, stock("MergeCompositeFunctions")),
        specimen("calls of functions", many_calls(), crash, stock("FastMathTransform")),
        specimen("ill-formed, symbolic", private_symbolic(), OracleName.WELL_FORMED, stock("InlinePrivateFunctions")),
        specimen("mutation", on_a_device(), OracleName.MUTATION, PassRef("UpdateVDevice", DEVICE)),
        specimen("not idempotent", with_num_input(), OracleName.IDEMPOTENCE, stock("LiftTransformParams")),
        specimen(
            "not idempotent, planted", around(cumulated, 50, 30, 100), OracleName.IDEMPOTENCE, planted("wraps_again")
        ),
        specimen("wrong value", around(_difference, 30, 10, 110), numeric, planted("turns_differences")),
        specimen(
            "wrong value, symbolic",
            around(_difference, 30, 10, 120, tvm.tirx.Var("n", "int64"), 4),
            numeric,
            planted("turns_differences"),
        ),
        specimen("inside a branch", product_in_a_branch(), crash, planted("in_a_branch")),
        specimen("pipeline order", around(_total, 40, 30, 130), crash, *order),
        specimen("TIR kernel", kernels(), crash, stock("SplitLayoutRewritePreproc")),
        specimen("expensive query", around(cumulated, 25, 10, 140), crash, planted("slow")),
        specimen("two bugs", around(two, 60, 40, 150), crash, planted("two_bugs")),
        specimen("not deterministic", around(cumulated, 40, 20, 160), OracleName.DETERMINISM, planted("counts")),
        specimen("always true", around(_total, 100, 60, 170), crash, planted("always")),
        specimen("always false", around(_total, 40, 30, 180), crash, planted("never"), fails=False),
    ]


def _difference(builder: Any, value: Any) -> Any:
    return builder.emit(op.subtract(builder.emit(op.tanh(value)), value))


def _total(builder: Any, value: Any) -> Any:
    return builder.emit(op.sum(value, 1))
