"""Broadcasting: which shapes are drawn beside a shape, and what two shapes make together."""

import random

from hypothesis import strategies as st
from tvm import relax, tirx

from strategies.operators.drawing import broadcast_shape, joined
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, ModuleFrame
from strategies.scope.from_bytes import draw_from_bytes
from strategies.scope.scope import MOST_ELEMENTS, Scope


def scopes(body, features=frozenset()):
    @st.composite
    def drawing(draw):
        return body(Scope(draw, ModuleFrame(relax.BlockBuilder(), features, True), FunctionFrame()))

    return drawing()


def shapes_beside(dims, count=200):
    strategy = scopes(lambda scope: broadcast_shape(scope, dims))
    return [draw_from_bytes(strategy, random.Random(seed).randbytes(256)) for seed in range(count)]


def test_shapes_join_as_numpy_broadcasts():
    n = tirx.Var("n", "int64")
    assert joined((2, 3), (3,)) == (2, 3)
    assert joined((1, 3), (2, 1)) == (2, 3)
    assert joined((), (2,)) == (2,)
    assert joined((1,), (n,))[0].same_as(n)
    assert joined((n, 1), (n, 3))[0].same_as(n)


def test_shapes_that_are_not_known_to_broadcast_do_not_join():
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    assert joined((2,), (3,)) is None
    assert joined((n,), (m,)) is None
    assert joined((n,), (2,)) is None


def test_every_drawn_shape_broadcasts():
    for dims in ((), (3,), (1, 2), (2, 1, 1, 3), (1, 1, 1, 1, 1, 2)):
        assert all(joined(dims, shape) is not None for shape in shapes_beside(dims))


def test_either_side_is_stretched():
    dims = (1, 3)
    together = [(shape, joined(dims, shape)) for shape in shapes_beside(dims)]
    assert any(both != dims for _, both in together)  # the known one is stretched
    assert any(shape != dims and both == dims for shape, both in together)  # the new one is
    assert any(len(shape) > len(dims) for shape, _ in together)
    assert any(shape == () for shape, _ in together)


def test_what_is_made_larger_stays_affordable():
    dims = (1, 1031, 1)
    assert all(len(shape) <= 6 for shape in shapes_beside(dims))
    strategy = scopes(lambda scope: [scope.affordable(joined(dims, broadcast_shape(scope, dims))) for _ in range(20)])
    assert all(all(draw_from_bytes(strategy, random.Random(seed).randbytes(1024))) for seed in range(20))
    assert MOST_ELEMENTS <= 16384


def test_zeros_draw_the_shape_itself():
    strategy = scopes(lambda scope: broadcast_shape(scope, (1, 3)), frozenset({Feature.EMPTY_TENSORS}))
    assert draw_from_bytes(strategy, bytes(256)) == (1, 3)
