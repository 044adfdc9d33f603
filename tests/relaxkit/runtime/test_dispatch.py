"""DispatchSampling that remembers its kernels gives the module of the plain pass."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.relax.backend import gpu_generic

from relaxkit.runtime.compile.fast_lowering import MAKER, sampling
from relaxkit.runtime.compile.lowering import target


def sampled(dtype: str) -> Any:
    params = [
        relax.Var("prob", relax.TensorType((3, 4), "float32")),
        relax.Var("uniform", relax.TensorType((5, 1), "float32")),
        relax.Var("indices", relax.TensorType((5, 1), "int64")),
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(relax.op.multinomial_from_uniform(*params, dtype=dtype)))
    return builder.get()


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_the_module_is_that_of_the_plain_pass(dtype: str) -> None:
    maker = getattr(gpu_generic, MAKER)
    module = sampled(dtype)
    with target():
        for _ in range(2):
            tvm.ir.assert_structural_equal(sampling()(module), relax.backend.DispatchSampling()(module))
    assert getattr(gpu_generic, MAKER) is maker


def test_the_kernel_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    maker = getattr(gpu_generic, MAKER)

    def counted(*dtypes: Any) -> Any:
        calls.append(dtypes)
        return maker(*dtypes)

    monkeypatch.setattr(gpu_generic, MAKER, counted)
    sampling.cache_clear()
    with target():
        for dtype in ("int64", "int32", "int64"):
            sampling()(sampled(dtype))
    assert len(calls) == 2


def test_the_maker_is_back_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("no kernel")

    monkeypatch.setattr(gpu_generic, MAKER, fails)
    sampling.cache_clear()
    with target(), pytest.raises(Exception, match="no kernel"):
        sampling()(sampled("int64"))
    assert getattr(gpu_generic, MAKER) is fails
