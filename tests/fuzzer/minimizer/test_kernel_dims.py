"""Kernels over other dims: they compute the same for each element, and reach no element that is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import samples
import tvm
import tvm_ffi
from reduced import candidates
from tvm import relax
from tvm.script import tirx as T

from fuzzer.minimizer.reductions.dims import dims
from fuzzer.minimizer.reductions.kernels import kernel_dims
from relaxkit.ir.sketch.kernels import fixed, resized


@T.prim_func(private=True, s_tir=True)
def row_sums(A: T.Buffer((5, 7), "float32"), B: T.Buffer((5,), "float32")):
    T.func_attr({"tirx.noalias": True})
    C = T.sblock_alloc_buffer((5, 7))
    for i, j in T.grid(5, 7):
        with T.sblock("doubled"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(5, 7):
        with T.sblock("summed"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + C[vi, vj]


@T.prim_func(private=True, s_tir=True)
def shifted(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(4):
        with T.sblock("b"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi + 1]


@T.prim_func(private=True, s_tir=True)
def half(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(3):
        with T.sblock("b"):
            vi = T.axis.spatial(3, i)
            B[vi] = A[vi]


@T.prim_func(private=True, s_tir=True)
def flat(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
    for k in range(24):
        with T.sblock("b"):
            vi = T.axis.spatial(4, k // 6)
            vj = T.axis.spatial(6, k % 6)
            B[vi, vj] = A[vi, vj]


@T.prim_func(private=True, s_tir=True)
def doubled(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n, m))
    for i, j in T.grid(n, m):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def shapes_of(kernel: Any) -> list[list[int | str]]:
    return [
        [int(dim) if isinstance(dim, tvm.tirx.IntImm) else str(dim) for dim in param.shape] for param in kernel.params
    ]


def run(kernel: Any, given: Any, out: tuple[int, ...]) -> Any:
    result = tvm.runtime.tensor(np.zeros(out, "float32"))
    built = tvm.compile(tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")}), target="llvm")
    built(tvm.runtime.tensor(given), result)
    return result.numpy()


def calling(kernel: Any, *operands: tuple[tuple[Any, ...], tuple[Any, ...]]) -> Any:
    """A module that calls a kernel once for each shape of an operand and of the result."""
    builder = relax.BlockBuilder()
    params = [samples.var(f"x{place}", *shape) for place, (shape, _) in enumerate(operands)]
    with builder.function("main", params):
        var = builder.add_func(kernel, "kernel")
        found = [
            builder.emit(relax.call_tir(var, [param], out_ty=samples.TT(out, "float32")))
            for param, (_, out) in zip(params, operands, strict=True)
        ]
        builder.emit_func_output(relax.Tuple(found))
    return builder.finalize()


def test_a_kernel_with_stages_and_reductions_becomes_smaller() -> None:
    small = resized(row_sums, {5: 2, 7: 3})
    assert shapes_of(small) == [[2, 3], [2]]
    assert small.ret_type is not None
    given = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(small, given, (2,)), 2 * given.sum(axis=1))
    assert tvm_ffi.structural_equal(small.attrs, row_sums.attrs)
    parsed = tvm.script.from_source(tvm.IRModule({"k": small}).script(show_meta=True))
    assert tvm_ffi.structural_equal(parsed, tvm.IRModule({"k": small})), "as if it had been written so"


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [(shifted, {5: 2, 4: 2}), (half, {5: 2}), (flat, {4: 2, 6: 3}), (doubled, {5: 2}), (row_sums, {9: 2})],
    ids=["an offset", "a loop beyond the buffer", "a fused loop", "symbols", "no such extent"],
)
def test_a_kernel_that_could_reach_beyond_its_buffers_stays(kernel: Any, sizes: dict[int, int]) -> None:
    assert tvm_ffi.structural_equal(resized(kernel, sizes), kernel)


def test_a_loop_that_leaves_elements_out_may_shrink() -> None:
    small = resized(half, {3: 2})
    np.testing.assert_array_equal(run(small, np.array([3, 4, 5, 6, 7], "float32"), (5,)), [3, 4, 0, 0, 0])


def test_symbols_become_numbers() -> None:
    n, m = doubled.params[0].shape
    static = fixed(doubled, {n: 2, m: 3})
    assert shapes_of(static) == [[2, 3], [2, 3]]
    assert shapes_of(fixed(doubled, {m: 3})) == [["n", 3], ["n", 3]]
    given = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(static, given, (2, 3)), 2 * given)
    parsed = tvm.script.from_source(tvm.IRModule({"k": static}).script(show_meta=True))
    assert tvm_ffi.structural_equal(parsed, tvm.IRModule({"k": static}))


def test_calls_shrink_with_their_kernel() -> None:
    module = calling(row_sums, ((5, 7), (5,)))
    found = [shapes_of(item["kernel"]) for item in candidates(dims, module)]
    assert [[2, 3], [2]] in found
    assert [[2, 2], [2]] in found
    assert not list(candidates(dims, calling(shifted, ((5,), (5,)))))


def test_symbols_are_fixed_where_all_calls_agree() -> None:
    n = tvm.tirx.Var("n", "int64")
    (only,) = candidates(kernel_dims, calling(doubled, ((2, 3), (2, 3)), ((2, 3), (2, 3))))
    assert shapes_of(only["kernel"]) == [[2, 3], [2, 3]]
    (rows,) = candidates(kernel_dims, calling(doubled, ((2, 3), (2, 3)), ((4, 3), (4, 3))))
    assert shapes_of(rows["kernel"]) == [["n", 3], ["n", 3]]
    (columns,) = candidates(kernel_dims, calling(doubled, ((n, 3), (n, 3))))
    assert shapes_of(columns["kernel"]) == [["n", 3], ["n", 3]]
    assert not list(candidates(kernel_dims, calling(doubled, ((2, 3), (2, 3)), ((4, 2), (4, 2)))))
