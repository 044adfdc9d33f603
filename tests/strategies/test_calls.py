from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx

from relaxkit.ir.edits import dead_bindings, without_unused
from relaxkit.ir.functions import called_names
from strategies.constructs.calls import substitute, symbols_of
from strategies.scope.dims import dim_range, most_elements
from strategies.scope.values import same_dim

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (3, (3, 3)),
        (N, (1, 4)),
        (N * 2 + 1, (3, 9)),
        (N * M, (1, 16)),
        (N - M, (-3, 3)),
        (tirx.max(N, 2), (2, 4)),
        (tirx.floordiv(N, 2), (0, 2)),
        (tirx.floormod(N, 3), (0, 2)),
        (tirx.Var("unknown", "int64"), (0, 64)),
    ],
)
def test_ranges_of_dims(dim, expected):
    assert dim_range(dim, {N: (1, 4), M: (1, 4)}) == expected


def test_most_elements_takes_the_upper_ends():
    assert most_elements([N, 3, M + 1], {N: (1, 4), M: (1, 4)}) == 60


def test_substitution_computes():
    assert substitute(N * 2 + 1, {N: 3}) == 7
    assert same_dim(substitute(N + M, {N: M, M: M}), M + M)
    assert substitute(N + M, {N: 1}) is None
    assert substitute(tirx.max(N, 2), {N: 1}) == 2
    assert [var.name for var in symbols_of(N * M + N)] == ["n", "m", "n"]


def module_with_dead_code():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y = relax.Var("y", relax.TensorType((2,), "float32"))
    with builder.function("unused", [y], private=True):
        builder.emit_func_output(builder.emit(relax.op.abs(y)))
    with builder.function("main", [x]):
        first = builder.emit(relax.op.exp(x))
        builder.emit(relax.op.abs(first))
        builder.emit_func_output(first)
    return builder.get()


def test_dead_code_is_counted_and_removed():
    module = module_with_dead_code()
    assert dead_bindings(module["main"].body) == 1
    assert dead_bindings(module["unused"].body) == 0
    assert called_names(module) == set()
    assert {var.name_hint for var in without_unused(module).functions} == {"main"}
    assert isinstance(without_unused(module), tvm.IRModule)
