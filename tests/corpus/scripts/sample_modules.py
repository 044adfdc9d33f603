"""Scripts of our own to import: never run, only read. Each name says what becomes of it."""
# ruff: noqa -- TVMScript as others write it
# mypy: ignore-errors

import nowhere_installed  # would fail if the file were run
import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T  # the older name of the package

WIDTH = 4
MADE = nowhere_installed.make()


@I.ir_module
class AtModuleLevel:
    @R.function
    def main(x: R.Tensor((2, WIDTH), "float32")) -> R.Tensor((2, WIDTH), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            b = R.nn.relu(a)
            R.output(b)
        return b


@R.function
def on_its_own(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    y: R.Tensor((n,), "float32") = R.exp(x)
    return y


@pytest.mark.parametrize("size, dtype", [(3, "float32"), (5, "float16")])
def test_with_parameters(size, dtype):
    half = size * 2

    @I.ir_module
    class Parametrized:
        @R.function
        def main(x: R.Tensor((half, size), dtype)):
            y = R.permute_dims(x)
            return y

    raise AssertionError("tests are not run")


class TestPair:
    class Before:
        """A bare class of functions."""

        @R.function
        def main(x: R.Tensor((2, 4), "float32")):
            y = R.nn.relu(x)
            z = R.negative(y)
            return z

    class Expected:
        @R.function
        def main(x: R.Tensor((2, 4), "float32")):
            y = R.negative(x)
            return y

    def check(self):
        return 0


def test_older_spelling():
    @I.ir_module
    class Older:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("double"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = A[vi] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Older
            y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
            return y


def test_constant():
    weights = np.arange(6).astype("float32").reshape(2, 3)

    @R.function
    def with_constant(x: R.Tensor((2, 3), "float32")):
        y = R.multiply(x, R.const(weights, "float32"))
        return y


def test_same_again():
    @I.ir_module
    class Duplicate:
        @R.function
        def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
            with R.dataflow():
                a = R.add(x, x)
                b = R.nn.relu(a)
                R.output(b)
            return b


def test_unknown_name():
    @I.ir_module
    class NeedsMore:
        @R.function
        def main(x: R.Tensor((2, 4), "float32")):
            y = R.multiply(x, MADE)
            return y


def test_ill_formed():
    @I.ir_module(check_well_formed=False)
    class IllFormed:
        @R.function
        def main(x: R.Tensor((2, 4), "float32")):
            with R.dataflow():
                y = R.print(format="%s")
                z = R.add(x, x)
                R.output(z)
            return z


def test_kernel_alone():
    @I.ir_module
    class KernelAlone:
        @T.prim_func(s_tir=True)
        def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.sblock("double"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = A[vi] * T.float32(2)


def test_index():
    @I.ir_module
    class Indexed:
        @R.function
        def main(x: R.Tensor((4,), "float32"), i: R.Tensor((2,), "int64")):
            y = R.take(x, i, axis=0)
            return y

        @R.function(private=True)
        def divided(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            z = R.divide(x, y)
            return z


def test_lowered():
    @I.ir_module
    class Lowered:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            s = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
            y = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")
            return y
