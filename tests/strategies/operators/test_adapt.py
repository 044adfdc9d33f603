"""Operands adapted from values at hand: what was asked for, by few operators of many kinds, and runnable."""

import multiprocessing
import random
from collections import Counter

import pytest
import tvm
from harness import ALL, run, scope_of
from hypothesis import strategies as st
from tvm import relax

from strategies.operators.adapt import adapted
from strategies.operators.adapt import rank as adapt_rank
from strategies.operators.adapt import shape as adapt_shape
from strategies.operators.drawing import ANY, FLOATS
from strategies.scope.from_bytes import draw_from_bytes
from strategies.scope.values import Value, same_dims

ALWAYS = 64


def ask(scope):
    """A value at hand, and then an operand of a drawn kind."""
    first = scope.tensor(dtypes=ANY)
    scope.emit(relax.op.permute_dims(first.expr, list(range(first.rank))), first.bounds)
    dtypes = scope.pick((FLOATS, None, ("int64", "int32"), ("bool",), ("int8", "uint8"), ("float16",)))
    way = scope.index(3)
    asked = {"dtypes": dtypes}
    if way == 0:
        asked["ranks"] = (scope.index(6),)
    elif way == 1:
        asked["shape"] = tuple(scope.integer(1, 4) for _ in range(scope.index(5)))
    else:
        asked |= {"ranks": (4,), "static": True, "where": lambda v: 0 not in v.dims and max(v.dims) <= 8}
    before = len(scope.values)
    value = adapted(scope, share=ALWAYS, **asked)
    return asked, value, [v for v in scope.values[before:] if not v.is_parameter]


def asked_for(count):
    """Asked, value, what was bound for it, and the module."""
    strategy = st.composite(lambda draw: scope_of(draw, ALL, True, ask))()
    for seed in range(count):
        yield draw_from_bytes(strategy, random.Random(seed).randbytes(4096))


def test_the_operand_is_what_was_asked_for():
    for (asked, value, _), _ in asked_for(400):
        assert asked["dtypes"] is None or value.dtype in asked["dtypes"]
        if "shape" in asked:
            assert same_dims(value.dims, asked["shape"])
        else:
            assert value.rank in asked["ranks"]
        assert "where" not in asked or (value.is_static and asked["where"](value))


def test_it_takes_few_operators():
    cases = [(value, len(bound)) for (_, value, bound), _ in asked_for(400)]
    counts = Counter(number for _, number in cases)
    assert sum(value.is_parameter for value, _ in cases) < 60
    assert counts[1] + counts[2] > 200
    assert sum(number for count, number in counts.items() if count > 4) < 20


def test_adapters_are_many():
    found = Counter()

    def look(expr):
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
            found[expr.op.name] += 1

    for _, alone in asked_for(600):
        assert relax.analysis.check_well_formed(alone.module)
        relax.analysis.post_order_visit(alone.module["main"], look)
    assert len(found) >= 30
    most = found.most_common(2)[1][1]  # the first is the permutation that every case begins with
    assert most < sum(found.values()) / 3


def test_no_draw_at_all_is_what_the_scope_gives():
    strategy = st.composite(lambda draw: scope_of(draw, ALL, True, lambda s: adapted(s, ranks=(3,), share=ALWAYS)))()
    value, alone = draw_from_bytes(strategy, bytes(4096))
    assert value.is_parameter
    assert not alone.values


RANKERS = [
    *((ranker, lambda rank: range(rank + 1, 7)) for ranker in adapt_rank.GROW),
    *((ranker, range) for ranker in adapt_rank.SHRINK),
    *((ranker, lambda rank: [rank]) for ranker in adapt_rank.SAME),
]


@pytest.mark.parametrize(("ranker", "ranks"), RANKERS)
def test_a_step_says_the_shape_that_tvm_infers(ranker, ranks):
    def draw(scope):
        value = scope.tensor(dtypes=FLOATS, ranks=(3, 2, 4), where=lambda v: v.rank > 0)
        found = []
        for rank in ranks(value.rank):
            step = ranker(scope, value, rank)
            if step is not None:
                made = scope.emit(step.build(), step.bounds)
                found.append((made.rank == rank, same_dims(made.dims, step.dims), made.dtype == value.dtype))
        return found

    strategy = st.composite(lambda source: scope_of(source, ALL, True, draw))()
    found = [flags for seed in range(40) for flags in draw_from_bytes(strategy, random.Random(seed).randbytes(2048))[0]]
    assert found
    assert all(all(flags) for flags in found)


@pytest.mark.parametrize("shaper", [*adapt_shape.INTO, adapt_shape.gather_into], ids=lambda s: s.__name__)
def test_a_step_into_a_shape_has_that_shape(shaper):
    targets = [(2, 3), (3, 2), (6,), (1, 2, 3), (2, 1, 3, 1), (4, 3), (2, 2), (3,), (), (1,), (2, 6), (2, 4, 3), (4, 4)]
    sources = [(2, 3), (1, 3), (6,), (2, 1, 3), (4, 5), (2, 4, 3), (3,), (1,)]

    def draw(scope):
        found = []
        for dims in sources:
            value = scope.make(dims, "float32")
            for target in targets:
                step = shaper(scope, value, target)
                if step is not None:
                    made = scope.emit(step.build(), step.bounds)
                    found.append(same_dims(made.dims, target) and same_dims(step.dims, target))
        return found

    strategy = st.composite(lambda source: scope_of(source, ALL, True, draw))()
    found = [flag for seed in range(10) for flag in draw_from_bytes(strategy, random.Random(seed).randbytes(4096))[0]]
    assert found
    assert all(found)


def _execute(seeds):
    cases = list(asked_for(seeds))
    return [text for seed, (_, alone) in enumerate(cases) if alone.values for text in run(alone, seed)]


@pytest.mark.slow
def test_adapted_operands_run_within_their_bounds():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_execute, (60,)).get(timeout=300) == []


def test_a_value_of_the_right_shape_is_mostly_taken_as_it_is():
    def draw(scope):
        value = scope.make((2, 3), "float32")
        computed = scope.emit(relax.op.negative(value.expr), value.bounds)
        return computed, adapted(scope, dtypes=("float32",), ranks=(2,), share=ALWAYS)

    strategy = st.composite(lambda source: scope_of(source, ALL, True, draw))()
    pairs = [draw_from_bytes(strategy, random.Random(seed).randbytes(2048))[0] for seed in range(100)]
    assert sum(isinstance(got, Value) and got.expr.same_as(made.expr) for made, got in pairs) > 50
