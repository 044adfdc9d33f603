from __future__ import annotations

import contextlib

import pytest
import tvm
from drawing import drawn, with_scope
from tvm import relax

from strategies.operators.drawing import partner, typical
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


def test_a_drawn_symbol_is_a_dim_of_nothing_but_the_parameter_that_defines_it():
    def use(scope):
        symbol = scope.symbol()
        assert scope.frame.symbol_list == []
        for dims in ([symbol * 2], [symbol + 1, 2]):  # parameters that would not define it
            with pytest.raises(Infeasible):
                scope.make(dims, "float32")
        with pytest.raises(Infeasible):
            scope.shape_expr([2, symbol])
        made = scope.make([symbol * 2, symbol], "float32")
        assert scope.frame.symbol_list == [symbol]
        return scope.tensor(shape=[symbol * 2]), made

    for later, made in drawn(with_scope(use), 20):
        assert made.is_parameter
        assert later.rank == 1


def test_a_drawn_symbol_without_room_for_its_parameter_is_refused():
    def use(scope):
        symbol = scope.symbol()
        scope.closed = True
        with pytest.raises(Infeasible):
            scope.make([2, symbol], "float32")
        return True

    assert all(drawn(with_scope(use), 5))


def test_a_drawn_symbol_that_no_parameter_got_is_no_dim_of_later_values():
    def use(scope):
        left = scope.symbol()
        scope.closed = True
        return left, [scope.draw_shape((3, 4)) for _ in range(4)]

    for left, shapes in drawn(with_scope(use), 40):
        assert not any(left in shape for shape in shapes)


def test_a_drawn_symbol_that_no_parameter_got_is_what_the_next_one_may_define():
    def use(scope):
        left = scope.symbol()
        made = scope.make(scope.draw_shape((4,)), "float32")
        return scope.frame.symbol_list, left, made

    cases = list(drawn(with_scope(use), 60))
    assert any(left in made.shape for _, left, made in cases)
    for defined, left, made in cases:
        assert (left in defined) is (left in made.shape)


def test_a_symbol_of_a_shape_that_was_not_used_is_taken_back():
    def use(scope):
        tried = []

        def where(value):
            tried.append(value)
            return value.is_static

        scope.tensor(ranks=(1,), where=where)
        return len(tried), scope.frame

    cases = list(drawn(with_scope(use), 60))
    assert any(tries > 1 for tries, _ in cases)
    for _, frame in cases:
        assert not frame.symbols
        assert frame.symbol_list == frame.awaited == []


def test_symbols_of_shape_parameters_are_told_from_those_of_tensors():
    def use(scope):
        frame = scope.frame
        lone, shared = frame.new_symbol((1, 4)), scope.symbol()
        scope.parameter(relax.ShapeType([lone, shared, lone]))
        tensor = frame.new_symbol((1, 4))
        scope.parameter(relax.TupleType([relax.TensorType([tensor, shared], "float32")]))
        return frame, lone, shared, tensor

    for frame, lone, shared, tensor in drawn(with_scope(use), 3):
        assert frame.shape_symbols == [lone]
        assert frame.symbol_list == [shared, tensor]
        assert frame.awaited == []


def test_behind_a_branch_its_parameters_are_seen_and_its_casts_are_not():
    def use(scope):
        outer = scope.parameter(relax.TensorType((2,), "float32"))
        with scope.branch():
            scope.emit(relax.op.negative(outer.expr))
            given = scope.parameter(relax.TensorType((3,), "float32"))
            scope.frame.cast_symbols.append(scope.frame.new_symbol((1, 4)))
        scope.closed = True
        with contextlib.suppress(Infeasible), scope.branch():
            scope.keep_outputs = True
            scope.parameter(relax.TensorType((4,), "float32"))
            scope.make([scope.symbol()], "float32")
        return scope, outer, given

    for scope, outer, given in drawn(with_scope(use), 3):
        assert scope.values == [outer, given]
        assert scope.frame.cast_symbols == []
        assert scope.branches == 0
        assert not scope.keep_outputs


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


def test_typical_numbers_fill_no_tensor_without_elements_whose_json_is_not_read_back():
    def use(scope):
        empty = scope.parameter(relax.TensorType((2, 0), "float32"))
        scope.aimed = True
        found = [partner(scope, empty).expr for _ in range(10)]
        return typical(scope, "float32", (2, 0)), typical(scope, "float32", (2, 1)), found

    for nothing, number, found in drawn(with_scope(use), 20):
        assert nothing is None
        assert number is not None
        for expr in found:
            if not isinstance(expr, relax.Var):
                assert tvm.ir.load_json(tvm.ir.save_json(expr)) is not None
