"""Modules of our own writing that stand for a seed collection in tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi

from strategies.seeds.collection import SeedRef, find_seeds
from strategies.seeds.facts import describe
from strategies.seeds.file import Seed, write

CHAIN = """
@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 3), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.add(b, a)
            R.output(c)
        return c
"""
SYMBOLIC = """
@I.ir_module
class Symbolic:
    @R.function(private=True)
    def inner(x: R.Tensor(("m", 4), "float32")) -> R.Tensor(("m", 4), "float32"):
        m = T.int64()
        y: R.Tensor((m, 4), "float32") = R.tanh(x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        cls = Symbolic
        z = R.zeros(R.shape([n, 4]), "float32")
        y: R.Tensor((n, 4), "float32") = cls.inner(x)
        both = R.maximum(y, z)
        return both
"""
KERNEL = """
@I.ir_module
class Kernel:
    @T.prim_func(private=True, s_tir=True)
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("double"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Kernel
        y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((4,), "float32"))
        z = R.call_tir(cls.double, (y,), out_ty=R.Tensor((4,), "float32"))
        return z
"""
INDEXED = """
@I.ir_module
class Indexed:
    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64")):
        y = R.take(x, i, axis=0)
        return y
"""
BRANCHES = """
@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2), "float32")):
        if c:
            a = R.subtract(x, y)
            r = R.exp(a)
        else:
            b = R.add(x, y)
            r = R.negative(b)
        t = (r, x)
        return t
"""
LOWERED = """
@I.ir_module
class Lowered:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        s = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
        y = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")
        return y
"""
ALL = (CHAIN, SYMBOLIC, KERNEL, INDEXED, BRANCHES, LOWERED)


def parsed(text: str) -> Any:
    """The module of a script."""
    return tvm.script.from_source(text)


def seed_of(text: str) -> Seed:
    """The module of a script as a seed."""
    module = parsed(text)
    fingerprint = f"{tvm_ffi.structural_hash(module) & (1 << 64) - 1:016x}"
    text = str(tvm.ir.save_json(module))
    return replace(describe(module), fingerprint=fingerprint, file="tests.py", line=1, name="Module", module_json=text)


def collection(directory: Path, texts: tuple[str, ...] = ALL) -> SeedRef:
    """A collection of scripts."""
    write(directory, [seed_of(text) for text in texts], str(tvm.__version__))
    return find_seeds(directory)
