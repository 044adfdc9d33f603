"""The table of idioms; and planting: which idiom, whether it or a near miss, and where."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tvm import relax

from strategies.idioms import (
    bindings,
    calls,
    convolutions,
    data_movement,
    distributed,
    elementwise,
    kernels,
    matmuls,
    numbers,
    ranks,
    rare,
    rare_images,
    stages,
)
from strategies.idioms.idiom import SUFFIX, BlockKind, Draw, Idiom, NearMiss
from strategies.scope.choices import Choices
from strategies.scope.features import NEVER_EXECUTABLE, Feature, closure
from strategies.scope.filler import filled_with
from strategies.scope.frame import Infeasible, setting
from strategies.scope.scope import Scope
from strategies.scope.values import Value

_THEMES = (
    elementwise, matmuls, ranks, numbers, kernels, data_movement, convolutions, bindings, calls, stages, distributed,
)  # fmt: skip
IDIOMS: tuple[Idiom, ...] = tuple(idiom for theme in _THEMES for idiom in theme.TABLE)
RARE: tuple[Idiom, ...] = (*rare_images.TABLE, *rare.TABLE)
"""Idioms that no module holds unless one is asked for by its name; a campaign asks in a share of its modules."""


@functools.cache
def for_passes() -> dict[str, tuple[Idiom, ...]]:
    """Return name of a pass -> the idioms that are planted for it."""
    found: dict[str, tuple[Idiom, ...]] = {}
    for idiom in IDIOMS:
        for name in (*idiom.acts_on, *idiom.also_for):
            found[name] = (*found.get(name, ()), idiom)
    return found


@functools.cache
def passes_for(planted: str) -> tuple[str, ...]:
    """Return the passes that an idiom was planted for, by its name in a module, near misses among them."""
    name = planted.split(SUFFIX, 1)[0]
    return next(((*idiom.acts_on, *idiom.also_for) for idiom in (*IDIOMS, *RARE) if idiom.name == name), ())


@dataclass(frozen=True, slots=True)
class Planned:
    """An idiom, or one of its near misses, that a module is to hold."""

    idiom: Idiom
    near: NearMiss | None = None

    @property
    def name(self) -> str:
        """Its name in ``Described.idioms``."""
        return self.idiom.name if self.near is None else f"{self.idiom.name}{SUFFIX}{self.near.name}"

    @property
    def draw(self) -> Draw:
        """Return what plants it."""
        return self.idiom.draw if self.near is None else self.near.draw

    @property
    def needs(self) -> frozenset[Feature]:
        """Features without which it cannot be planted."""
        return closure(self.idiom.needs + (() if self.near is None else self.near.needs))


def plant(scope: Scope) -> Value:
    """Plant one idiom that has room here; raises ``Infeasible`` when none has."""
    able = [idiom for idiom in IDIOMS if _fits(scope, idiom)]
    if not able:
        raise Infeasible("no idiom has room here")
    idiom = scope.pick(able)
    planned = _choice(scope, idiom)
    if not planned.needs <= scope.features:
        planned = Planned(idiom)
    return plant_planned(scope, planned)


def plant_planned(scope: Scope, planned: Planned) -> Value:
    """Plant this, and make its result seen behind a dataflow block.

    What it binds on the way is not: a value that is seen outside is one that no pass may touch.

    Raises:
        Infeasible: when it has no room under the features of this case.
    """
    scope.renew()
    with setting(scope, keep_outputs=False):
        made = planned.draw(scope)
    scope.module.idioms.append(planned.name)
    return surfaced(scope, made) if scope.keep_outputs and scope.in_dataflow else made


def surfaced(scope: Scope, value: Value) -> Value:
    """Draw an output of the block that is computed from this value, by one more operator where it is a tensor."""
    if not isinstance(value.expr, relax.Var) or not value.is_local:
        return value
    with setting(scope, keep_outputs=True):
        if value.is_tuple and value.parts and scope.forbids(Feature.ALIASES):
            made = [scope.item(value, i) for i in range(len(value.parts))]
            return made[-1]
        if value.dims is None or not value.dtype:
            if scope.forbids(Feature.ALIASES):
                return value
            return scope.emit(value.expr, value.bounds)
        return filled_with(scope, value, plain=True)


SIMPLEST = "RemoveRedundantReshape"
"""The pass whose idioms are the smallest: what a drawn failure shrinks to comes first."""


def aimed(
    choices: Choices, count: int, weights: Mapping[str, int], forbidden: Iterable[Feature], executable: bool
) -> list[Planned]:
    """Draw up to ``count`` idioms that a module may hold: first the pass, by its weight, then one of its idioms."""
    barred = frozenset(forbidden) | (NEVER_EXECUTABLE if executable else frozenset())
    table = for_passes()
    passes = sorted(table, key=lambda name: (name != SIMPLEST, name))
    possible = [name for name in passes if any(barred.isdisjoint(idiom.needs) for idiom in table[name])]
    names = [name for name in possible for _ in range(weights[name])]
    chosen = []
    for _ in range(count):
        choices.renew()
        planned = _choice(choices, choices.pick(table[choices.pick(names)]))
        if not planned.needs & barred:
            chosen.append(planned)
    return chosen


def _choice(choices: Choices, idiom: Idiom) -> Planned:
    """Return the idiom, or every third time one of its near misses."""
    near = None
    if idiom.near_misses and choices.index(3) == 2:
        near = choices.pick(idiom.near_misses)
    return Planned(idiom, near)


def _fits(scope: Scope, idiom: Idiom) -> bool:
    wanted = idiom.place
    if (wanted is BlockKind.DATAFLOW) is not scope.in_dataflow and wanted is not BlockKind.ANYWHERE:
        return False
    if idiom.top_level and scope.branches:
        return False
    if Feature.WEIGHTS in idiom.needs and not scope.frame.is_weighted:
        return False
    return closure(idiom.needs) <= scope.features
