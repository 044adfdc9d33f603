from __future__ import annotations

import pytest
import samples

from fuzzer.minimizer.emit import emit
from fuzzer.minimizer.kernels import kernels_fit
from fuzzer.minimizer.retype import Invalid
from fuzzer.minimizer.sketch import take


def test_kernels_fit_as_tvm_made_them() -> None:
    assert kernels_fit(samples.kernels())


@pytest.mark.parametrize("dtypes", [{"float16": "float32"}, {"float32": "float64"}])
def test_a_kernel_called_with_another_dtype_is_invalid(dtypes: dict[str, str]) -> None:
    sketch = take(samples.kernels())
    sketch.retype.dtypes = dtypes
    with pytest.raises(Invalid, match="kernel"):
        emit(sketch)


def test_a_kernel_called_with_another_static_extent_is_invalid() -> None:
    sketch = take(samples.kernels())
    sketch.retype.dims = {4: 3}
    with pytest.raises(Invalid, match="kernel"):
        emit(sketch)
