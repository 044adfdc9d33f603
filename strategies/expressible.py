"""Modules that the installed release of TVM can express."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import reject
from hypothesis import strategies as st
from tvm import relax

from releases import prims
from releases.gaps import excuses, is_newest
from strategies.choices import Draw
from strategies.features import Feature

T = TypeVar("T")

INEXPRESSIBLE: frozenset[Feature] = frozenset({Feature.PRIM_PARAMS} if prims.apart() else ())
"""Features that no module of the installed release has. Where scalars stand apart from Relax expressions (TVM 0.25), a
scalar parameter is no dim."""


def expressible(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """What a strategy draws, without what an older release refuses to build, or takes for ill formed.

    Before 0.26 two functions must not share a symbolic variable.
    """
    return strategy if is_newest() else _expressible(strategy)


@st.composite
def _expressible(draw: Draw, strategy: st.SearchStrategy[T]) -> T:
    try:
        drawn: T = draw(strategy)
        if relax.analysis.check_well_formed(getattr(drawn, "module", drawn)):
            return drawn
    except Exception as error:
        if not excuses(error):
            raise
    reject()
    raise AssertionError("not reached")
