from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import tvm
from tvm import relax, tirx

from oracles.measure.original import Original
from relaxkit.ir.domain import Given
from relaxkit.runtime import session
from relaxkit.runtime.poison import PATTERNS, poisoned

op = relax.op


def garbage() -> Any:
    """Returns a tensor that nobody has written, of symbolic shape, and one that somebody has."""
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 3), "float32"))

    def body(bb: Any) -> Any:
        return relax.Tuple([bb.emit(op.builtin.alloc_tensor(x.ty.shape, "float32", 0)), bb.emit(op.add(x, x))])

    return samples.function([x], body)


def test_what_is_not_written_holds_the_pattern_and_what_is_written_does_not() -> None:
    program = session().build(garbage())
    x = np.ones((2, 3), "float32")
    for pattern in PATTERNS:
        with poisoned(program, pattern):
            unwritten, written = program.call("main", [x])
        assert unwritten.tobytes() == bytes([pattern]) * unwritten.nbytes
        assert (written == 2).all()
    program.call("main", [x])  # and nothing is left of it


def test_an_empty_tensor_is_no_trouble() -> None:
    program = session().build(garbage())
    with poisoned(program, PATTERNS[0]):
        unwritten, _ = program.call("main", [np.ones((0, 3), "float32")])
    assert unwritten.shape == (0, 3)


def test_an_original_that_reads_garbage_is_not_clean() -> None:
    for module, clean in ((garbage(), False), (samples.elementwise(), True)):
        original = Original(module, str(tvm.ir.save_json(module)), 0, Given())
        assert original.clean(original.entries[0]) is clean


def test_garbage_that_is_clipped_is_not_clean() -> None:
    """NaN and large numbers come out of a clip alike, and so may what is left of before; RunCodegen was blamed."""
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    module = samples.function(
        [x], lambda bb: bb.emit(op.clip(bb.emit(op.builtin.alloc_tensor(x.ty.shape, "float32", 0)), -2, 2))
    )
    dirty = session().build(module)
    with poisoned(dirty, PATTERNS[1]):  # its memory goes back to the pool that the next program takes from
        dirty.call("main", [np.ones((2, 3), "float32")])
    original = Original(module, str(tvm.ir.save_json(module)), 0, Given())
    assert not original.clean(original.entries[0])


def test_an_original_that_prints_garbage_is_not_clean() -> None:
    """Its result is as it should be; only what it prints is not, and a pass was blamed for another print."""
    for written in (False, True):
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        builder = relax.BlockBuilder()
        with builder.function("main", [x], pure=False):
            unwritten = builder.emit(op.builtin.alloc_tensor(relax.ShapeExpr([2]), "float32", 0))
            builder.emit(op.print(x if written else unwritten, format="seen {}"))
            builder.emit_func_output(builder.emit(op.add(x, x)))
        module = builder.get()
        original = Original(module, str(tvm.ir.save_json(module)), 0, Given())
        assert original.entries[0].printed
        assert original.clean(original.entries[0]) is written


def test_memory_of_kernels_is_poisoned() -> None:
    """A kernel that returns what its own workspace holds."""
    from tvm.script import tirx as T

    @T.prim_func(private=True)
    def kernel(x: T.Buffer((1024,), "float32"), y: T.Buffer((1024,), "float32")) -> None:
        T.func_attr({"tirx.noalias": True})
        workspace = T.alloc_buffer((1024,))
        for i in range(1024):
            y[i] = T.if_then_else(x[i] > T.float32(5.0), T.float32(0.0), workspace[i])
        for i in range(1024):
            workspace[i] = x[i]

    bb, x = relax.BlockBuilder(), samples.var("x", (1024,))
    with bb.function("main", [x]):
        variable = bb.add_func(kernel, "kernel")
        bb.emit_func_output(bb.emit(relax.call_tir(variable, [x], relax.TensorType((1024,), "float32"))))
    program = session().build(bb.finalize())
    for pattern in PATTERNS:
        with poisoned(program, pattern):
            held = program.call("main", [np.ones(1024, "float32")])
        assert held.tobytes() == bytes([pattern]) * held.nbytes
