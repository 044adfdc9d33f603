"""TVMScript that all releases read: the same module, in words that none of them lacks."""

from __future__ import annotations

import re

import pytest
import tvm
import tvm_ffi

from fuzzer.repro.module.dialect import common

FUNCTIONS = """
n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, n), dtype="float32"), s: R.Shape([n, m])) -> R.Tensor((2, "n * 3 - 2")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv: R.Tensor((2, n * 3 - 2), dtype="float32") = R.zeros(R.shape([2, n * 3 - 2]), dtype="float32")
            R.output(lv)
        return lv

    @R.function
    def other(x: R.Tensor((m, 1), dtype="float32")) -> R.Any:
        return x
"""
FUNCTIONS_SAID = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, "n"), dtype="float32"), s: R.Shape(["n", "m"])) -> R.Tensor((2, "n * 3 - 2")):
        R.func_attr({"num_input": 1})
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((2, n * 3 - 2), dtype="float32") = R.zeros(R.shape([2, n * 3 - 2]), dtype="float32")
            R.output(lv)
        return lv

    @R.function
    def other(x: R.Tensor(("m", 1), dtype="float32")) -> R.Object:
        m = T.int64()
        return x
"""
KERNEL = """
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def negate(A: T.Buffer((n, T.int64(2)), "float32"), C: T.Buffer((2,), "float32"), B: T.Buffer((n,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(n):
            with T.sblock("negate"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi, T.int64(0)] * C[0]

    @R.function
    def main(x: R.Tensor((n, 2), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((n,), "float32"):
        cls = Module
        lv = R.call_tir(cls.negate, (x, y), out_ty=R.Tensor((n,), dtype="float32"))
        return lv
"""
KERNEL_SAID = """
    def negate(var_A: T.handle, C: T.Buffer((2,), "float32"), var_B: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        A = T.match_buffer(var_A, (n, T.int64(2)), "float32")
        B = T.match_buffer(var_B, (n,), "float32")
        for i in range(n):
"""
CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((2,), "float32")):
        A[0] = A[0] * T.float32(2.0)

    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype="float32"), k: T.int64) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        lv = R.call_tir_inplace(cls.twice, (x,), out_ty=R.Tensor((2,), dtype="float32"), inplace_indices=[0])
        lv1 = R.call_dps_packed("some.function", (lv,), out_ty=R.Tensor((2,), dtype="float32"))
        lv2: T.int64 = k
        lv3 = R.call_pure_packed("ä", lv1, ty_args=(R.Tensor((2,), dtype="float32"),))
        return lv3
"""
CALLS_SAID = """
    def main(x: R.Tensor((2,), dtype="float32"), k: R.Prim("int64")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        lv = R.call_tir_inplace(cls.twice, (x,), [0], R.Tensor((2,), dtype="float32"))
        lv1 = R.call_dps_packed("some.function", (lv,), R.Tensor((2,), dtype="float32"))
        lv2: R.Prim("int64") = k
        lv3 = R.call_pure_packed("ä", lv1, ty_args=(R.Tensor((2,), dtype="float32"),))
"""
DEFAULTS = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 2, 3), dtype="float32")) -> R.Tensor(dtype="float32", ndim=4):
        gv: R.Tensor(dtype="float32", ndim=4) = R.image.affine_grid(x, size=R.shape([4, 4]), align_corners={})
        return gv
"""


@pytest.mark.parametrize(("text", "said"), [(FUNCTIONS, FUNCTIONS_SAID), (KERNEL, KERNEL_SAID), (CALLS, CALLS_SAID)])
def test_what_one_release_prints_is_said_in_words_of_all(text: str, said: str) -> None:
    made = common(text)
    assert said.strip("\n") in made
    assert "TypeVar" not in made
    assert common(made) == made


@pytest.mark.parametrize("text", [FUNCTIONS, KERNEL, CALLS, DEFAULTS.format("True"), DEFAULTS.format("False")])
def test_it_is_the_same_module(text: str) -> None:
    try:
        module = tvm.script.from_source(text)
    except tvm.error.DiagnosticError as error:
        if tvm.__version__.startswith("0.27."):
            raise  # the texts are in its words
        pytest.skip(f"in words of another release: {error}")
    assert tvm_ffi.structural_equal(tvm.script.from_source(common(text)), module)
    again = re.sub(r"^ *# .*\n", "", str(module.script()), flags=re.MULTILINE).replace(r"\xC3\xA4", "ä")
    assert tvm_ffi.structural_equal(tvm.script.from_source(common(again)), module)


def test_arguments_that_only_some_releases_have_are_left_away_at_their_defaults() -> None:
    assert "size=R.shape([4, 4]))" in common(DEFAULTS.format("True"))
    assert "align_corners=False" in common(DEFAULTS.format("False"))
    layout = "lv = R.layout_transform(x, index_map=f, pad_value=None, axis_separators=[], input_axis_separators=[])"
    assert common(layout) == "lv = R.layout_transform(x, index_map=f, pad_value=None)"
    layout = layout.replace("tors=[]", "tors=[1]")
    assert common(layout) == layout


def test_the_dtype_of_the_operands_is_left_away_as_older_releases_print_it() -> None:
    for name in ("matmul", "nn.conv2d", "nn.conv3d_transpose"):
        assert common(f'lv = R.{name}(x, w, out_dtype="void")') == f"lv = R.{name}(x, w)"
    kept = 'lv = R.matmul(x, w, out_dtype="float16")'
    assert common(kept) == kept


def test_words_of_older_releases() -> None:
    assert common("lv = R.call_tir(f, (x,), out_sinfo=R.Tensor((2,)))") == "lv = R.call_tir(f, (x,), R.Tensor((2,)))"
    variables = "lv = R.call_tir(f, (x,), out_sinfo=R.Tensor((2,)), tir_vars=R.shape([n]))"
    assert common(variables) == variables.replace("out_sinfo=", "")
    older = FUNCTIONS_SAID.strip("\n")
    assert common(older) == older


def test_other_text_is_left_alone() -> None:
    for text in ("", "{not Python", '{"root_index": 1}', "I = 1"):
        assert common(text) == text
