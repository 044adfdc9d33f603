"""Arrays become tensors and come back, whatever their dtype, shape and order in memory."""

from __future__ import annotations

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*)
import numpy as np
import pytest

from relaxkit.runtime.values import from_tvm, tensor

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "bfloat16", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3,), (2, 3), (1, 2, 3, 4)])
def test_a_tensor_is_a_copy_of_its_array(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype).T
    made = tensor(array)
    assert str(made.dtype) == dtype
    back = from_tvm(made)
    assert isinstance(back, np.ndarray)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == np.ascontiguousarray(array).tobytes()
    before = back.copy()
    array[...] = (array == np.zeros((), dtype)).astype(dtype)
    assert from_tvm(made).tobytes() == before.tobytes()


def test_every_bit_of_a_float_is_kept() -> None:
    bits = np.array([0x7FC00001, 0xFFC12345, 0x80000000, 1], "uint32")
    assert (from_tvm(tensor(bits.view("float32"))).view("uint32") == bits).all()
