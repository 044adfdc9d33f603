from __future__ import annotations

import pytest
from drawing import drawn, with_scope
from tvm import relax

from strategies.scope.bounds import Bounds
from strategies.scope.dims import LARGE
from strategies.scope.features import Feature
from strategies.scope.scope import Infeasible


def test_a_tensor_is_made_when_none_fits():
    def use(scope):
        return scope.tensor(dtypes=("int8",), ranks=(2, 3), bounds=Bounds(1, 2, True))

    for value in drawn(with_scope(use), 60):
        assert value.dtype == "int8"
        assert value.rank in (2, 3)
        assert Bounds(1, 2, True).contains(value.known)


def test_a_shape_is_met_exactly():
    for value in drawn(with_scope(lambda scope: scope.tensor(dtypes=("bool",), shape=(2, 1, 3))), 40):
        assert value.dims == (2, 1, 3)


def test_static_tensors_have_numbers_for_dims():
    assert all(value.is_static for value in drawn(with_scope(lambda scope: scope.tensor(static=True)), 80))


def test_symbolic_tensors_occur_and_their_dims_have_ranges():
    def use(scope):
        value = scope.tensor()
        return value, [scope.dim_range(dim) for dim in value.shape]

    cases = list(drawn(with_scope(use), 120))
    assert any(not value.is_static for value, _ in cases)
    assert all(0 <= lo <= hi <= 8 or lo == hi > LARGE for _, ranges in cases for lo, hi in ranges)


def test_a_symbolic_shape_can_be_asked_for_without_parameters_left():
    def use(scope):
        first = scope.tensor(ranks=(2,), where=lambda v: v.rank == 2)
        scope.closed = True
        scope.values.clear()
        return first, scope.tensor(shape=first.dims, dtypes=(first.dtype,))

    for first, second in drawn(with_scope(use), 60):
        assert second.rank == first.rank
        assert second.dtype == first.dtype


def test_a_condition_that_nothing_meets_is_unfit():
    def use(scope):
        with pytest.raises(Infeasible):
            scope.tensor(where=lambda value: False)
        return True

    assert all(drawn(with_scope(use), 3))


def test_a_forbidden_dtype_is_unfit():
    def use(scope):
        with pytest.raises(Infeasible):
            scope.tensor(dtypes=("int64",))
        with pytest.raises(Infeasible):
            scope.emit(relax.op.argmax(scope.tensor(ranks=(1,)).expr))
        return True

    assert all(drawn(with_scope(use, forbidden={Feature.INTEGERS}), 5))


def test_values_on_another_device_join_no_computation():
    def use(scope):
        value = scope.tensor(dtypes=("float32",), shape=(2,))
        scope.values.clear()
        scope.emit(relax.op.abs(value.expr), device=1)
        return scope.tensor(dtypes=("float32",), shape=(2,))

    assert all(value.device is None for value in drawn(with_scope(use), 20))


def test_choices_cover_their_range_and_shrink_to_the_first():
    numbers = set(drawn(with_scope(lambda scope: scope.index(5)), 100))
    assert numbers == set(range(5))
    assert max(drawn(with_scope(lambda scope: scope.index(300)), 100)) > 200
    assert {len(s) for s in drawn(with_scope(lambda scope: tuple(scope.subset("abc"))), 60)} == {1, 2, 3}
