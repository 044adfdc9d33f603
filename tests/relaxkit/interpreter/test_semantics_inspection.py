"""What inspection says of tensors: as DLPack has it, of the declared dtype in either precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from older_releases import needs_offsets
from one_operator import computed, module_of
from tvm import relax, tirx

from relaxkit.interpreter import Interpreter, Precision, Undefined


def inspected(name: str, array: np.ndarray[Any, Any], *place: int, precision: Precision = Precision.DECLARED) -> Any:
    operator = tvm.ir.Op.get(f"relax.inspect.{name}")
    return computed(
        lambda x: relax.Call(operator, [x, *(tirx.IntImm("int64", each) for each in place)]), array, precision=precision
    )


def test_dims_and_strides() -> None:
    array = np.zeros((2, 3, 4), "int8")
    assert inspected("tensor_ndim", array) == 3
    assert [inspected("tensor_shape_i", array, place) for place in range(3)] == [2, 3, 4]
    assert [inspected("tensor_stride_i", array, place) for place in range(3)] == [12, 4, 1]
    assert inspected("tensor_ndim", np.zeros((), "int8")) == 0


def test_place_that_a_tensor_has_not() -> None:
    # Type inference refuses it where it knows the rank.
    operator = tvm.ir.Op.get("relax.inspect.tensor_shape_i")
    unknown = relax.TensorType(dtype="int8")
    module = module_of(lambda x: relax.Call(operator, [x, tirx.IntImm("int64", 1)]), unknown)
    with pytest.raises(Undefined, match="dim"):
        Interpreter(module).call("main", [np.zeros(2, "int8")])


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize(
    ("dtype", "code", "bits"), [("int8", 0, 8), ("uint32", 1, 32), ("float16", 2, 16), ("bfloat16", 4, 16)]
)
def test_codes_and_bits_of_dtypes(dtype: str, code: int, bits: int, precision: Precision) -> None:
    array = np.zeros(2, dtype)
    assert inspected("tensor_dtype_code", array, precision=precision) == code
    assert inspected("tensor_dtype_bits", array, precision=precision) == bits
    assert inspected("tensor_dtype_lanes", array, precision=precision) == 1


OFFSETS = ("tensor_byte_offset", "tensor_elem_offset")


@pytest.mark.parametrize("name", OFFSETS)
def test_tensors_begin_where_their_storage_does(name: str) -> None:
    assert inspected(name, np.zeros(4, "float32")) == 0


@needs_offsets
@pytest.mark.parametrize("name", OFFSETS)
def test_only_its_caller_knows_where_a_part_of_a_tensor_lies(name: str) -> None:
    with pytest.raises(Undefined, match="storage"):
        inspected(name, np.zeros(4, "float32")[2:])
