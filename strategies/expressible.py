"""Modules that the installed release of TVM can express."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from releases import prims
from releases.gaps import excuses, is_newest
from strategies.choices import Draw
from strategies.features import Feature

T = TypeVar("T")

INEXPRESSIBLE: frozenset[Feature] = frozenset({Feature.PRIM_PARAMS} if prims.apart() else ())
"""Features that no module of the installed release has. Where scalars stand apart from Relax expressions (TVM 0.25), a
scalar parameter is no dim."""


def expressible(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """What a strategy draws, without the draws that TVM refuses to build because it is an older release."""
    return strategy if is_newest() else _expressible(strategy)


@st.composite
def _expressible(draw: Draw, strategy: st.SearchStrategy[T]) -> T:
    try:
        return draw(strategy)
    except Exception as error:
        if not excuses(error):
            raise
    return reject()
