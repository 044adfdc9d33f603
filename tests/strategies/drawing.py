"""Helpers for tests of strategies: values drawn from random bytes, the same in every run, and fresh scopes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from tvm import relax

from strategies import ir_modules
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


def missing(wanted: Iterable[T], found: Iterable[Iterable[T]]) -> set[T]:
    """Return what is wanted and never found; nothing more is drawn when all is found."""
    lacking = set(wanted)
    for each in found:
        lacking.difference_update(each)
        if not lacking:
            break
    return lacking


def parts_of(module: Any, parts: Iterable[str]) -> set[str]:
    """Return the parts that are in the text of a module."""
    text = module.script()
    return {part for part in parts if part in text}


def in_tiers(few: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test by ``count``: few in the default run, many in the slow one."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


PLAIN = 400
"""Modules that all tests of a process share which ask for nothing in particular; they are best in one file."""


_plain: list[Any] = []
_source = random.Random(77)


def plain_draws(count: int = PLAIN) -> list[Any]:
    """Modules as they come, each drawn once; ``None`` is one that was discarded.  Nobody changes them."""
    strategy = ir_modules()
    while len(_plain) < count:
        _plain.append(draw_from_bytes(strategy, _source.randbytes(BUFFER)))
    return _plain[:count]


def plain_modules(count: int = PLAIN) -> list[Any]:
    """The first of the modules that all share, without those that were discarded."""
    return [module for module in plain_draws(count) if module is not None]


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
