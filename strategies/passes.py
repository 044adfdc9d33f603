"""Passes with their arguments, and pipelines, as strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from relaxkit.passes.ordering import BUILDS, PipelineWalk, for_lowered
from relaxkit.passes.pass_ref import PassRef
from strategies.detect.module_facts import Facts, facts_of
from strategies.modules import described_modules
from strategies.pass_arguments.row import LIKELY, NEVER
from strategies.pass_arguments.table import PASS_ROWS, fitness
from strategies.scope.choices import Choices, Draw

ON_LOWERED = frozenset(name for name in PASS_ROWS if for_lowered(name))
"""Passes that are meant for modules that are lowered already; what makes lowered code is not."""

SHORTEST, LONGEST = 2, 6
"""Passes of a drawn pipeline, in a test and in a campaign."""


def passes(names: Sequence[str] | None = None) -> st.SearchStrategy[PassRef]:
    """Return a strategy of passes whose arguments suit any module; raises ``ValueError`` for an unknown name."""
    return _passes(_checked(names), None)


def passes_for(module: Any, names: Sequence[str] | None = None) -> st.SearchStrategy[PassRef]:
    """Return a strategy of passes whose arguments suit ``module``; raises ``ValueError`` for an unknown name."""
    return _passes(_checked(names), facts_of(module))


def pipelines(
    names: Sequence[str] | None = None, min_size: int = SHORTEST, max_size: int = LONGEST, module: Any = None
) -> st.SearchStrategy[tuple[PassRef, ...]]:
    """Return a strategy of pipelines in a legal order: what each pass needs is not behind what another one gives.

    Args:
        names: Passes to draw from, ``None`` for all but the whole builds.
        min_size: Least number of passes.
        max_size: Greatest number of passes.
        module: A module that the arguments must suit.

    Raises:
        ValueError: for an unknown name, or sizes out of order.
    """
    if not 1 <= min_size <= max_size:
        raise ValueError(f"no pipelines of {min_size} to {max_size} passes")
    chosen = tuple(name for name in _checked(names) if name not in BUILDS)
    if not chosen:
        raise ValueError("a pipeline needs a pass that is not a whole build")
    return _pipelines(chosen, min_size, max_size, facts_of(module))


@st.composite
def _passes(draw: Draw, names: tuple[str, ...], facts: Facts | None) -> PassRef:
    choices = Choices(draw)
    return _one(choices, choices.pick(names), facts or Facts())


@st.composite
def _pipelines(draw: Draw, names: tuple[str, ...], min_size: int, max_size: int, facts: Facts) -> tuple[PassRef, ...]:
    return draw_pipeline(Choices(draw), names, min_size, max_size, facts)


def draw_pipeline(
    choices: Choices, names: Sequence[str], min_size: int, max_size: int, facts: Facts
) -> tuple[PassRef, ...]:
    """Draw a pipeline; see :func:`pipelines`.

    Where passes that lower are among the names, it is drawn first how many of the steps come before the first of them.
    """
    size = choices.integer(min_size, max_size)
    walk = PipelineWalk(names, facts.lowered)
    early = choices.index(size + 1)
    drawn = []
    for step in range(size):
        legal = walk.legal(early=step < early)
        fits = [weight_of(name, facts) for name in legal]
        # A pass that the module is not meant for leaves nothing to judge when it comes first; later it may be.
        least = 0 if step == 0 and any(fits) else 1
        name = legal[_weighted(choices, [max(least, min(fit, LIKELY)) for fit in fits])]
        walk.step(name)
        drawn.append(_one(choices, name, facts))
    return tuple(drawn)


@st.composite
def module_and_passes(
    draw: Draw, names: Sequence[str] | None = None, count: int = 8, modules: st.SearchStrategy[Any] | None = None
) -> tuple[Any, tuple[PassRef, ...]]:
    """Return a strategy of a module and ``count`` different passes (fewer where there are fewer names) that suit it.

    Passes whose trigger the module has not (weights, symbolic dims, vdevices, kernels, composite calls) give way to
    others, so that a case spends itself on passes that can act; those that an idiom was planted for go first.
    """
    if modules is None:
        described = draw(described_modules())
        module, idioms = described.module, described.idioms
    else:
        module, idioms = draw(modules), ()
    return module, draw_passes(Choices(draw), _checked(names), count, facts_of(module, idioms))


def draw_passes(
    choices: Choices, names: Sequence[str], count: int, facts: Facts, effort: Mapping[str, int] | None = None
) -> tuple[PassRef, ...]:
    """Draw ``count`` different passes that suit a module; see :func:`module_and_passes`.

    Args:
        choices: Decides.
        names: Passes to draw from.
        count: How many.
        facts: Of the module.
        effort: Weights of passes, 1 where nothing is said; ``None``: all alike.
    """
    fits = {name: weight_of(name, facts) for name in names}
    left = [name for name in names if fits[name]] or list(names)
    chosen = []
    for _ in range(min(count, len(left))):
        weights = [max(1, fits[n]) * (1 if effort is None else effort.get(n, 1)) for n in left]
        chosen.append(_one(choices, left.pop(_weighted(choices, weights)), facts))
    return tuple(chosen)


_MOST = 1 << 16
"""The largest count of ``Choices.index``."""


def _weighted(choices: Choices, weights: Sequence[int]) -> int:
    """Draw an index, each as often as its weight says."""
    total = sum(weights)
    # Beyond what one index can be drawn of, some of the lightest would never be met.
    fine = total > _MOST
    at = (choices.index(_MOST) << 16 | choices.index(_MOST)) * total >> 32 if fine else choices.index(total)
    index = 0
    while at >= weights[index]:
        at -= weights[index]
        index += 1
    return index


def can_act(name: str, facts: Facts) -> bool:
    """Say whether a module has at least what a pass needs to change anything or to accept it."""
    return weight_of(name, facts) > NEVER


def weight_of(name: str, facts: Facts) -> int:
    """Say how often a pass should be tried on a module; see :func:`strategies.pass_arguments.table.fitness`."""
    if facts.lowered and name not in ON_LOWERED:
        return NEVER
    return fitness(name, facts)


def _one(choices: Choices, name: str, facts: Facts) -> PassRef:
    return PassRef(name, PASS_ROWS[name].draw(choices, facts))


def _checked(names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return tuple(PASS_ROWS)
    if unknown := [name for name in names if name not in PASS_ROWS]:
        raise ValueError(f"unknown passes: {', '.join(sorted(unknown))}")
    if not names:
        raise ValueError("no passes to draw from")
    return tuple(names)
