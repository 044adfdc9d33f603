"""Guidance: modules near those whose cases were the first to enter a function of TVM's compiler (docs/coverage.md).

A case that enters such a function is kept, by its place alone.  Of later modules a share is drawn anew at that place
and then changed, and is tried under the passes of the case first; the share is large while that finds more functions
than blind drawing.  What a shard is guided by comes from shards that were judged to their end before it is handed out,
always the same ones, so a shard stays a pure function of what is given to it, and a campaign one of its seed.

Blocks would say more, but some of them are chance, as addresses are; functions that are known by name are not.  They
count when the passes of a case run for the first time: what oracles enter later depends on what is cached.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from fuzzer.core.config import Config
from fuzzer.shard.draw import (
    DRAW_BYTES,
    MOST_DRAWS,
    SHARD_EXAMPLES,
    DrawnModule,
    Subjects,
    draw_module,
    draw_subjects,
    pass_rows,
    randomness,
    subjects_per_module,
)
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    from relaxkit.coverage.table import BlockTable

Place = tuple[int, int]
"""A case, by the number of its shard and its own in it."""
Line = tuple[Place, ...]
"""Cases that were kept, each on a module that is near that of the one before; the first was drawn blindly."""

LEAST_SHARE, MOST_SHARE = 1 / 16, 1 / 2
"""The share of modules that are drawn near a kept one, where there are some; between, it follows the yield."""
BLIND = 4
"""Of the first shards no case is kept: nearly all that they enter is new."""
BEHIND = 3 / 4
"""A shard is guided by so many of the shards before it; all others may be under way at the same time."""
MOST_KEPT = 64
"""The latest of them are followed: what they entered is entered seldom."""
LONGEST = 4
"""Cases of a line at most: it is drawn anew from its beginning."""
AGAIN = 2
"""So many subjects have the passes of the kept case with new arguments, beside the one with the same."""
RECENT = 1 / 2
"""The yield is that of so many of the shards that a shard is guided by, the last ones."""
POCKETS = 4
"""Of a module's draws, so many at most are other ones in a neighbour."""
NAMESPACE, OF_TEMPLATE = "::relax::", ">, virtual function"
"""A function counts if what is known of its name has the first in it and not the second: the compiler shares what it
makes of templates, so that the name of one says little."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a shard is guided by: cases of shards before it, in order, and the share of modules drawn near one."""

    kept: tuple[Line, ...] = ()
    share: float = 0.0


BLINDLY = Guidance()


def known_functions(table: BlockTable) -> frozenset[int]:
    """Return the addresses of the functions that count: of files with passes, those that begin with a block."""
    own = set(table.passes.values())
    rows = zip(table.functions.tolist(), table.owners.tolist(), table.names, strict=True)
    named = [at for at, owner, name in rows if owner in own and NAMESPACE in name and OF_TEMPLATE not in name]
    return frozenset(named).intersection(table.blocks.tolist())


class Guide:
    """What cases were the first to enter functions, and what later shards make of it.

    Args:
        config: The campaign's configuration.
        entered: Functions that were entered before, each with the first case.
    """

    def __init__(self, config: Config, entered: Mapping[int, Place] | None = None) -> None:
        self._config = config
        self._first = dict(entered or {})
        self._per_module = subjects_per_module(config)
        self._line, self._until = functools.cache(self._traced), functools.cache(self._guidance)

    def note(self, shard: int, entered: Mapping[int, int]) -> None:
        """Note the functions that a piece of a shard has entered, each with its first case."""
        for function, index in entered.items():
            self._first[function] = min((shard, index), self._first.get(function, (shard, index)))

    def ready(self, shard: int, settled: int) -> bool:
        """Say whether a shard can be handed out when all below ``settled`` are judged to their end, and noted."""
        return settled >= guided_by(shard)

    def before(self, shard: int) -> Guidance:
        """Return what a shard is guided by, when it is ready."""
        return self._until(guided_by(shard))

    def _guidance(self, until: int) -> Guidance:
        places = sorted({place for place in self._first.values() if BLIND <= place[0] < until})
        lines = [(*self._line(shard, index // self._per_module), (shard, index)) for shard, index in places]
        kept = tuple(line for line in lines if len(line) <= LONGEST)[-MOST_KEPT:]
        begin = max(BLIND, int(until * (1 - RECENT)))
        return Guidance(kept, self._share([line for line in lines if line[-1][0] >= begin], range(begin, until)))

    def _share(self, lines: list[Line], shards: range) -> float:
        """Return a share as large as the yield of guided modules is in that of both; without any, both are alike."""
        drawn = [bool(self._line(shard, at)) for shard in shards for at in range(SHARD_EXAMPLES // self._per_module)]
        guided, blind = (
            (1 + sum((len(line) > 1) is near for line in lines)) / (1 + drawn.count(near)) for near in (True, False)
        )
        return min(MOST_SHARE, max(LEAST_SHARE, guided / (guided + blind)))

    def _traced(self, shard: int, number: int) -> Line:
        return line_of(self._config, shard, number, self.before(shard))


def guided_by(shard: int) -> int:
    """Count the shards, from the first on, that a shard is guided by."""
    return int(shard * BEHIND)


def line_of(config: Config, shard: int, number: int, guidance: Guidance) -> Line:
    """Draw the kept cases that a module is drawn from; none where it is drawn blindly."""
    chance = randomness(config.seed, shard, number, "guidance")
    return chance.choice(guidance.kept) if guidance.kept and chance.random() < guidance.share else ()


def draw_guided(config: Config, shard: int, number: int, guidance: Guidance) -> Subjects | None:
    """Draw one module of a shard and the passes to try it under, near a kept case or blindly; as ``draw_subjects``."""
    line = line_of(config, shard, number, guidance)
    per_module = subjects_per_module(config)
    places = [(at, index // per_module) for at, index in line] + [(shard, number)]
    found = draw_subjects(config, *places[0])
    for place, (_, index) in zip(places[1:], line, strict=True):
        if found is None:
            return None
        found = _near(config, place, found.drawn, found.pipelines[index % per_module])
    return found


def _near(config: Config, place: Place, kept: DrawnModule, passes: tuple[PassRef, ...]) -> Subjects | None:
    """Draw a module near a kept one, and the passes to try it under, those of the kept case first."""
    source = randomness(config.seed, *place, "near")
    neighbour = bool(kept.data) and source.random() < 0.5
    for discarded in range(MOST_DRAWS):
        drawn = _neighbour(config, source, kept) if neighbour else _mutated(source, kept)
        if drawn is not None:
            return Subjects(drawn, pass_rows(config, place, drawn, _again(source, drawn, passes)), discarded)
    return None


def _neighbour(config: Config, source: Random, kept: DrawnModule) -> DrawnModule | None:
    """Draw from the same bytes but for a few."""
    from strategies.scope.choices import POCKET

    data = bytearray(kept.data)
    for _ in range(source.randint(1, POCKETS)):
        at = source.randrange(0, len(data), POCKET)
        data[at : at + POCKET] = source.randbytes(POCKET)
    drawn = draw_module(bytes(data) + source.randbytes(DRAW_BYTES - len(data)), config, kept.demand, kept.rare)
    return None if drawn is None else replace(drawn, idioms=(*drawn.idioms, "guided:neighbour"))


def _mutated(source: Random, kept: DrawnModule) -> DrawnModule:
    """Mutate the module as a seed is mutated."""
    from strategies.detect.module_facts import facts_of
    from strategies.scope.choices import Choices
    from strategies.scope.from_bytes import draws_of
    from strategies.seeds.bounds import unproven
    from strategies.seeds.file import SeedStage
    from strategies.seeds.mutate import KEEPING, mutate

    stage = SeedStage.LOWERED if facts_of(kept.module).lowered else SeedStage.HIGH_LEVEL
    found = mutate(Choices(draws_of(source)), kept.module, stage)
    structural = kept.structural or ("" if KEEPING.issuperset(found.applied) else unproven(found.module))
    idioms = (*kept.idioms, "guided:mutated")
    executable = kept.executable and not structural
    return DrawnModule.of(found.module, idioms, structural, executable, demand=kept.demand, rare=kept.rare)


def _again(source: Random, drawn: DrawnModule, passes: tuple[PassRef, ...]) -> tuple[tuple[PassRef, ...], ...]:
    """Return passes with new arguments, and as they are; the user's own are tried on each module anyway."""
    from strategies.detect.module_facts import facts_of
    from strategies.passes import draw_passes
    from strategies.scope.choices import Choices
    from strategies.scope.from_bytes import draws_of

    if any(ref.is_user for ref in passes):
        return ()
    choices, facts = Choices(draws_of(source)), facts_of(drawn.module, drawn.idioms)
    again = [tuple(draw_passes(choices, (ref.name,), 1, facts)[0] for ref in passes) for _ in range(AGAIN)]
    return (*again, passes)
