from __future__ import annotations

import pytest
from drawing import drawn, with_scope
from tvm import relax

from strategies.scope.bounds import Bounds
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible


def operand(scope):
    return scope.tensor(dtypes=("float32",), shape=(2,))


def test_what_is_emitted_is_bound_visible_and_typed():
    def use(scope):
        value = scope.emit(relax.op.abs(operand(scope).expr), Bounds(0, 3, False))
        return value, scope.values[-1], scope.builder.lookup_binding(value.expr)

    for value, newest, bound in drawn(with_scope(use), 5):
        assert newest is value
        assert bound.op.name == "relax.abs"
        assert (value.dtype, value.dims, value.bounds) == ("float32", (2,), Bounds(0, 3, False))


def test_what_must_outlive_a_dataflow_block_is_an_output():
    def use(scope):
        value = operand(scope)
        scope.builder._end_block()
        scope.builder._begin_dataflow_block()
        scope.in_dataflow = True
        inner = scope.emit(relax.op.abs(value.expr))
        scope.keep_outputs = True
        return inner, scope.emit(relax.op.negative(inner.expr)), scope.outputs

    for inner, kept, outputs in drawn(with_scope(use), 5):
        assert isinstance(inner.expr, relax.DataflowVar)
        assert not isinstance(kept.expr, relax.DataflowVar)
        assert outputs == 1


def test_an_equal_call_is_bound_once_where_duplicates_are_forbidden():
    def use(scope):
        value = operand(scope)
        return [scope.emit(relax.op.abs(value.expr)).expr for _ in range(2)]

    assert all(first.same_as(second) for first, second in drawn(with_scope(use, forbidden={Feature.DUPLICATE_CODE}), 5))
    assert not any(first.same_as(second) for first, second in drawn(with_scope(use), 5))


def test_a_constant_becomes_a_variable_for_operators_that_take_nothing_else():
    def use(scope):
        return scope.builder.lookup_binding(
            scope.emit(relax.op.grad.start_checkpoint(scope.scalar(1.0, "float32").expr)).expr
        )

    plain = set(Feature) - {Feature.VAGUE_TYPES, Feature.VAGUE_OPERANDS}  # no cast between
    assert all(isinstance(call.args[0], relax.Var) for call in drawn(with_scope(use, features=plain), 5))


def test_a_cast_gives_symbolic_dims_unless_casts_are_forbidden():
    def use(scope):
        value = scope.tensor(dtypes=("float32",), ranks=(1,))
        return scope.match_cast(value, [scope.frame.new_symbol((1, 4))])

    assert not any(value.is_static for value in drawn(with_scope(use), 5))

    def refused(scope):
        with pytest.raises(Infeasible):
            use(scope)
        return True

    assert all(drawn(with_scope(refused, forbidden={Feature.MATCH_CAST}), 5))
