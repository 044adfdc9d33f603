from __future__ import annotations

from typing import Any

import samples
from tvm import relax

from fuzzer.minimizer.safety import hazards, is_safe
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take
from relaxkit.ir.sketch.slots import Substitute, drop, slots_of

op = relax.op


def without(module: Any, operator: str, stand_in: Substitute) -> Any:
    """The module with the binding of one operator dropped."""
    sketch = take(module)
    (index,) = [
        place
        for place, slot in enumerate(slots_of(sketch))
        if getattr(getattr(slot.binding.value, "op", None), "name", "") == operator
    ]
    drop(sketch, [index], stand_in)
    return emit(sketch)


def test_dropping_the_guard_of_a_logarithm_is_a_new_hazard() -> None:
    module = samples.guarded_log()
    assert not hazards(without(module, "relax.add", Substitute.VISIBLE)) <= hazards(module)
    assert not hazards(without(module, "relax.add", Substitute.PARAMETER)) <= hazards(module)


def test_a_guard_may_lose_what_stands_in_front_of_it() -> None:
    module = samples.guarded_log()
    sketch = take(module)
    sketch.functions.pop("other")
    places = {getattr(slot.binding.value.op, "name", ""): place for place, slot in enumerate(slots_of(sketch))}
    drop(sketch, list(range(places["relax.abs"])), Substitute.PARAMETER)
    assert not hazards(emit(sketch)) <= hazards(module)  # the logarithm is of something else than before
    assert is_safe(emit(sketch), hazards(module))
    drop(sketch, [1], Substitute.VISIBLE)
    assert not is_safe(emit(sketch), hazards(module))


def test_dropping_what_is_behind_the_logarithm_is_none() -> None:
    module = samples.guarded_log()
    assert hazards(without(module, "relax.sum", Substitute.PARAMETER)) <= hazards(module)
    assert hazards(without(module, "relax.log", Substitute.PARAMETER)) <= hazards(module)


def test_a_constant_of_ones_is_safe() -> None:
    module = samples.guarded_log()
    assert hazards(without(module, "relax.add", Substitute.CONSTANT)) <= hazards(module)


def test_smaller_data_under_the_same_index_is_a_new_hazard() -> None:
    builder = relax.BlockBuilder()
    x, i = samples.var("x", 5), samples.var("i", 2, dtype="int64")
    with builder.function("main", [x, i]):
        index = builder.emit(op.clip(i, 0, 4))
        builder.emit_func_output(builder.emit(op.take(x, index)))
    module = builder.finalize()
    sketch = take(module)
    sketch.retype.dims = {5: 3}
    assert not hazards(emit(sketch)) <= hazards(module)


def test_shapes_are_no_part_of_a_hazard_of_single_elements() -> None:
    """A quotient in a module written by hand, whose divisor may be 0, kept its shapes."""
    builder = relax.BlockBuilder()
    x, y = samples.var("x", 5), samples.var("y", 5)
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(op.divide(builder.emit(op.exp(x)), y)))
    module = builder.finalize()
    sketch = take(module)
    sketch.retype.dims = {5: 3}
    assert not is_safe(emit(sketch), frozenset())
    assert is_safe(emit(sketch), hazards(module))
    sketch.retype.dtypes = {"float32": "float16"}
    assert not is_safe(emit(sketch), hazards(module))


def test_inlining_a_call_keeps_the_names() -> None:
    builder = relax.BlockBuilder()
    p = samples.var("p", 3)
    with builder.function("helper", [p], private=True):
        helper = builder.emit_func_output(builder.emit(op.log(p)))
    x = samples.var("x", 3)
    with builder.function("main", [x]):
        positive = builder.emit(op.exp(x))
        builder.emit_func_output(builder.emit(relax.Call(helper, [positive])))
    module = builder.finalize()
    inlined = relax.transform.DeadCodeElimination()(relax.transform.InlinePrivateFunctions()(module))
    assert hazards(module)
    assert hazards(inlined) == hazards(module)
