"""Simpler kernels: of the same signature, well formed, and what the plain ones compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import samples
import tvm
import tvm_ffi
from reduced import candidates, functions_of
from tvm import relax, tirx
from tvm.script import tirx as T

from fuzzer.minimizer.reductions.dims import dims, ranks
from fuzzer.minimizer.reductions.kernels import kernels
from fuzzer.minimizer.safety import hazards
from relaxkit.ir.sketch.kernels import fewer_stages, is_plain, plain_bodies, signature, without_annotations


@T.prim_func(private=True, s_tir=True)
def two_stages(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    T.func_attr({"tirx.noalias": True, "op_pattern": 2})
    C = T.sblock_alloc_buffer((3, 4))
    for i, j in T.grid(3, 4):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({"meta_schedule.tiling_structure": "S"})
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i in T.parallel(3):
        for j in range(4):
            with T.sblock("second"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj])


def called(kernel: Any, *dims: int) -> Any:
    """A module that calls a kernel on one operand."""
    builder = relax.BlockBuilder()
    x = samples.var("x", *(dims or (3, 4)))
    with builder.function("main", [x]):
        var = builder.add_func(kernel, "kernel")
        builder.emit_func_output(builder.emit(relax.call_tir(var, [x], out_ty=x.ty)))
    return builder.finalize()


def test_plain_kernels_copy_or_store_ones() -> None:
    array = np.arange(12, dtype="float32").reshape(3, 4)
    results = []
    for kernel in plain_bodies(two_stages):
        assert signature(kernel) == signature(two_stages)
        assert is_plain(kernel)
        out = tvm.runtime.tensor(np.zeros((3, 4), "float32"))
        tvm.compile(tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")}), target="llvm")(
            tvm.runtime.tensor(array), out
        )
        results.append(out.numpy())
    np.testing.assert_array_equal(results, [array, np.ones_like(array)] * 2)
    assert not is_plain(two_stages)


def test_a_stage_goes_that_nothing_reads() -> None:
    (only,) = fewer_stages(two_stages)
    assert "first" not in only.script()
    assert "alloc_buffer" not in only.script()


def test_a_stage_stays_that_is_read() -> None:
    module = samples.kernels()
    found = [item for _, item in module.functions_items() if isinstance(item, tirx.PrimFunc)]
    assert all(not list(fewer_stages(kernel)) for kernel in found)


@T.prim_func(private=True, s_tir=True)
def sorting(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.sblock_alloc_buffer((4,))
    D = T.sblock_alloc_buffer((4,))
    for i in range(4):
        with T.sblock("copy"):
            vi = T.axis.remap("S", [i])
            C[vi] = A[vi]
    with T.sblock("sort"):
        T.reads()
        T.writes()
        T.call_packed("sort", C.data, D.data)
    for i in range(4):
        with T.sblock("result"):
            vi = T.axis.remap("S", [i])
            B[vi] = D[vi]


def test_what_a_call_does_to_a_buffer_is_not_known() -> None:
    assert not list(fewer_stages(sorting)), "a stage reads what it writes, in no region of its own"


def test_any_stage_goes_of_a_kernel_that_nothing_calls() -> None:
    """A kernel that a pass fails on had 174 lines, and stages that were not to blame: nobody runs it."""
    alone = [item.script() for item in candidates(kernels, tvm.IRModule({"sorting": sorting}))]
    assert any("call_packed" in item and "copy" not in item and "D = " in item for item in alone)
    assert any("call_packed" in item and "result" not in item for item in alone)
    inner = tvm.ir.GlobalVar("sorting")
    outer = two_stages.with_body(tirx.Evaluate(tvm.ir.Call(inner, list(two_stages.params))))
    for module in (called(sorting, 4), tvm.IRModule({inner: sorting, "outer": outer})):
        among_calls = [item.script() for item in candidates(kernels, module)]
        assert among_calls
        assert all("copy" in item and "result" in item for item in among_calls if "call_packed" in item)


def test_annotations_and_parallel_loops_go() -> None:
    text = without_annotations(two_stages).script()
    assert "parallel" not in text
    assert "tiling_structure" not in text


def test_candidates_are_smaller_kernels() -> None:
    module = called(two_stages)
    found = list(candidates(kernels, module))
    assert [functions_of(item) for item in found] == [["kernel", "main"]] * len(found)
    assert len(found[0].script().splitlines()) < len(module.script().splitlines())
    assert any("op_pattern" not in item.script() and "second" in item.script() for item in found)


def test_what_is_plain_stays() -> None:
    plain = next(plain_bodies(two_stages)).without_attr("op_pattern").without_attr("tirx.noalias")
    assert list(candidates(kernels, called(plain))) == []


def test_kernels_of_equal_signature_become_one() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3, 4)
    other = next(plain_bodies(two_stages))
    with builder.function("main", [x]):
        for index, kernel in enumerate((two_stages, other)):
            var = builder.add_func(kernel, f"kernel{index}")
            x = builder.emit(relax.call_tir(var, [x], out_ty=x.ty))
        builder.emit_func_output(x)
    first = next(candidates(kernels, builder.finalize()))
    assert functions_of(first) == ["kernel0", "main"]


def test_a_plain_kernel_is_no_hazard() -> None:
    assert hazards(called(two_stages))
    assert not hazards(called(next(plain_bodies(two_stages))))
    assert tvm_ffi.structural_equal(two_stages.attrs, next(plain_bodies(two_stages)).attrs)


def test_dims_shrink_in_plain_kernels_too() -> None:
    plain = called(next(plain_bodies(two_stages)))
    shapes = [[int(dim) for dim in item["main"].ret_ty.shape] for item in candidates(dims, plain)]
    assert [2, 3] in shapes
    assert [2, 2] in shapes
    assert list(candidates(ranks, called(two_stages))) == []
    assert [item["main"].ret_ty.ndim for item in candidates(ranks, plain)] == [1, 1]
