"""Arrays of tvm_ffi are iterated without a check of each index."""

from __future__ import annotations

import pytest
import tvm_ffi

from relaxkit.compat.shims import iterate_quickly


def test_arrays_are_iterated_as_before_but_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [tvm_ffi.convert(items) for items in ([], [1, 2, 3], [[1], ["a", None]])]
    before = [list(array) for array in arrays]
    monkeypatch.setattr(tvm_ffi.Array, "__iter__", tvm_ffi.Array.__iter__)  # given back behind the test
    iterate_quickly()
    assert [list(array) for array in arrays] == before
    array = arrays[1]
    assert (next(iter(array)), max(array), [*reversed(array)], 2 in array) == (1, 3, [3, 2, 1], True)
