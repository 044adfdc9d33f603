"""Helpers for tests of strategies: values drawn from random bytes, the same in every run, and fresh scopes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TypeVar

from hypothesis import strategies as st
from tvm import relax

from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, ModuleFrame
from strategies.scope.from_bytes import draw_from_bytes
from strategies.scope.scope import Scope

T = TypeVar("T")

BUFFER = 8192
"""Bytes of one case, as campaigns use them."""


def drawn(strategy: st.SearchStrategy[T], count: int, seed: int = 1) -> Iterator[T]:
    """``count`` values; the test fails when one is discarded."""
    source = random.Random(seed)
    for number in range(count):
        value = draw_from_bytes(strategy, source.randbytes(BUFFER))
        assert value is not None, f"case {number} was discarded"
        yield value


EXECUTABLE = frozenset(Feature) - {Feature.VAGUE_OPERANDS}  # what takes these does not build


def scope_of(draw, features=EXECUTABLE, forbidden=frozenset()):
    module = ModuleFrame(relax.BlockBuilder(), frozenset(features), True, forbidden=frozenset(forbidden))
    scope = Scope(draw, module, FunctionFrame())
    scope.builder.begin_scope([])
    scope.builder._begin_binding_block()
    return scope


def with_scope(use, **arguments):
    """A strategy that gives what ``use`` makes of a fresh scope."""

    @st.composite
    def strategy(draw):
        scope = scope_of(draw, **arguments)
        result = use(scope)
        scope.builder._end_block()
        scope.builder.end_scope()
        return result

    return strategy()
