"""What processes of campaigns do more quickly: iterate arrays, ask for classes, parse TVMScript."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest
import tvm
import tvm_ffi

from relaxkit.compat.shims import iterate_quickly, parse_quickly


def test_arrays_are_iterated_as_before_but_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [tvm_ffi.convert(items) for items in ([], [1, 2, 3], [[1], ["a", None]])]
    before = [list(array) for array in arrays]
    monkeypatch.setattr(tvm_ffi.Array, "__iter__", tvm_ffi.Array.__iter__)  # given back behind the test
    iterate_quickly()
    assert [list(array) for array in arrays] == before
    array = arrays[1]
    assert (next(iter(array)), max(array), [*reversed(array)], 2 in array) == (1, 3, [3, 2, 1], True)


CLASSES = """
import timeit, tvm
from tvm import relax
from relaxkit.compat.shims import iterate_quickly
var = relax.Var("x", relax.TensorType((1,), "float32"))
kinds = (relax.Var, relax.Expr, relax.Call, tvm.Object)
asked = [(each, kind) for each in (var, var.ty, var.ty.shape, 1) for kind in kinds]
ask = lambda: [isinstance(each, kind) for each, kind in asked]
before, slow = ask(), min(timeit.repeat(ask, number=2000))
iterate_quickly()
assert ask() == before and True in before and False in before
assert min(timeit.repeat(ask, number=2000)) < slow * 0.8
"""


def test_classes_are_asked_as_before_but_faster() -> None:
    subprocess.run([sys.executable, "-c", CLASSES], check=True)  # the class of classes cannot be given back


def test_texts_are_parsed_without_the_stack_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    genuine = inspect.stack

    def stack(*arguments: Any) -> Any:
        asked.append(1)
        return genuine(*arguments)

    monkeypatch.setattr(inspect, "stack", stack)
    monkeypatch.setattr(tvm.script, "from_source", tvm.script.from_source)
    text = "@I.ir_module\nclass Module:\n    @R.function(pure=False)\n    def f(x: R.Tensor((2,))):\n        return x"
    before = tvm.script.from_source(text)
    assert asked
    asked.clear()
    parse_quickly()
    assert tvm_ffi.structural_equal(tvm.script.from_source(text), before)
    assert not asked
    assert inspect.stack is stack
