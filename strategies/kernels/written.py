"""Kernels written in TVMScript; every dim is known at run time only, so that one text serves all shapes.

Parsing a kernel takes some fifteen milliseconds: it happens when one is first drawn.
"""

# mypy: ignore-errors

import functools
from typing import Any

from tvm.script import tirx as T


@functools.cache
def double() -> Any:
    """Return ``B = A * 2`` for a float32 matrix."""

    @T.prim_func(private=True, s_tir=True)
    def written_double(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    return written_double


@functools.cache
def transpose_and_double() -> Any:
    """Return ``B = A.T`` and ``C = A * 2`` for a float32 matrix."""

    @T.prim_func(private=True, s_tir=True)
    def transpose_and_double(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (m, n), "float32")
        C = T.match_buffer(c, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("swap"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj, vi] = A[vi, vj]
        for i, j in T.grid(n, m):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(2)

    return transpose_and_double


@functools.cache
def negate_in_place() -> Any:
    """Return ``A = -A`` for a float32 matrix."""

    @T.prim_func(private=True, s_tir=True)
    def negate_in_place(a: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        for i, j in T.grid(n, m):
            with T.sblock("negate"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(-1)

    return negate_in_place
