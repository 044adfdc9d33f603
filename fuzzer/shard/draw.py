"""Draw what a shard judges: modules, and the passes to try each under.

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fuzzer.core.config import Config
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plugins import active

if TYPE_CHECKING:
    import tvm

    from strategies.detect.profile import Profile
    from strategies.scope.features import Feature

SUBJECTS_PER_MODULE = 16
"""A module is drawn once and tried under several passes: drawing and preparing it costs as much as judging two."""
SHARD_EXAMPLES = 4 * SUBJECTS_PER_MODULE
"""About a second of work: little is lost when a worker dies, and little is spent on handing out shards."""
MOST_AIMED = 4
"""Of the passes that idioms were planted for, so many are tried for certain."""
MOST_DRAWS = 20
"""A draw that is discarded is replaced by the next one, so that a shard has as many examples as it should."""
DRAW_BYTES = 16 << 10
"""Bytes that one module is drawn from; Hypothesis itself stops at 8 KiB of choices."""
RARE_SHARE = 0.25
"""Of the modules, so many or more hold a rare idiom where passes look for one."""
PIPELINES_PER_MODULE = 1
"""Of a module's subjects, so many are pipelines of several passes."""


@dataclass(frozen=True, slots=True)
class DrawnModule:
    """A drawn module.

    Attributes:
        module: The module.
        idioms: Names of the idioms planted in it.
        profile: What it is made of.
        features: Names of its features, sorted.
        structural: Why it must not be run; empty when it may be.
        executable: Whether it was drawn so that running it has a defined result.
        data: The bytes that it was drawn from; empty where none give it.
        demand: Features on demand that were demanded.
        rare: Name of the rare idiom that was asked for.
    """

    module: tvm.IRModule
    idioms: tuple[str, ...]
    profile: Profile
    features: tuple[str, ...]
    structural: str = ""
    executable: bool = True
    data: bytes = field(default=b"", repr=False)
    demand: frozenset[Feature] = frozenset()
    rare: str = ""

    @classmethod
    def of(
        cls, module: tvm.IRModule, idioms: tuple[str, ...], structural: str, executable: bool, **origin: Any
    ) -> DrawnModule:
        """Describe a module."""
        from strategies import features_of
        from strategies.detect.profile import profile_of

        features = tuple(sorted(str(each.value) for each in features_of(module)))
        return cls(module, idioms, profile_of(module), features, structural, executable, **origin)


@dataclass(frozen=True, slots=True)
class Subjects:
    """A drawn module and the passes that it is tried under.

    Attributes:
        drawn: The module with what is known of it.
        pipelines: One or more passes for each subject.
        discarded: Draws before it that gave no module.
    """

    drawn: DrawnModule
    pipelines: tuple[tuple[PassRef, ...], ...]
    discarded: int

    @property
    def module(self) -> tvm.IRModule:
        """The module."""
        return self.drawn.module

    @property
    def idioms(self) -> tuple[str, ...]:
        """Names of the idioms planted in the module."""
        return self.drawn.idioms


def subjects_per_module(config: Config) -> int:
    """Count the subjects of each module: where passes are few, each once and a pipeline of them."""
    singles = len(config.passes) + len(config.user_passes)
    return min(SUBJECTS_PER_MODULE, singles + (PIPELINES_PER_MODULE if _pipeable(config.passes) else 0))


def _pipeable(names: Sequence[str]) -> bool:
    """Say whether a pipeline of these says more than each of them alone."""
    return len({name for name in names if not name.startswith("build:")}) > 1


def draw_subjects(config: Config, shard: int, number: int) -> Subjects | None:
    """Draw one module of a shard and the passes to try it under; ``None`` when too many draws were discarded."""
    from strategies.scope.features import ON_DEMAND

    source = randomness(config.seed, shard, number, "module")
    chance = randomness(config.seed, shard, number, "on demand")
    demands = chance.random() < _share_of(config, _looking_for_more(config.passes))
    demand = ON_DEMAND if demands else frozenset()
    rare = "" if demands else _rare(config, chance)
    for discarded in range(MOST_DRAWS):
        drawn = draw_module(source.randbytes(DRAW_BYTES), config, demand, rare)
        if drawn is not None:
            return Subjects(drawn, pass_rows(config, (shard, number), drawn), discarded)
    return None


def _share_of(config: Config, looking: Sequence[str]) -> float:
    """Return the share of modules that hold what some passes look for: theirs of all passes."""
    return min(0.5, len(looking) / max(len(config.passes), 1))


def _rare(config: Config, chance: random.Random) -> str:
    """Draw the name of a rare idiom for a share of the modules, where passes look for one."""
    from strategies.idioms import RARE

    found = [idiom for idiom in RARE if not {*idiom.acts_on, *idiom.also_for}.isdisjoint(config.passes)]
    looking = {name for idiom in found for name in (*idiom.acts_on, *idiom.also_for)}.intersection(config.passes)
    if not looking or chance.random() >= max(RARE_SHARE, _share_of(config, sorted(looking))):
        return ""
    return chance.choices(found, [idiom.weight for idiom in found])[0].name


@functools.cache
def _looking_for_more(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the passes that look for features on demand, of which only their share of modules has any."""
    from strategies.idioms.planting import for_passes
    from strategies.scope.features import ON_DEMAND

    idioms = for_passes()
    return tuple(name for name in names if any(not ON_DEMAND.isdisjoint(each.needs) for each in idioms.get(name, ())))


def draw_module(data: bytes, config: Config, demand: frozenset[Feature], rare: str = "") -> DrawnModule | None:
    """Draw a module from bytes, which holds the ``rare`` idiom of that name; ``None`` where they give none."""
    from strategies.scope.from_bytes import draw_and_bytes

    found = draw_and_bytes(
        _modules(config.seeds, config.seeds_digest, config.operators, config.plants, active().modules, demand, rare),
        data,
    )
    if found is None:
        return None
    described, used = found
    idioms = (*described.idioms, *described.notes)
    return DrawnModule.of(
        described.module, idioms, described.structural, described.executable, data=used, demand=demand,
        rare=rare,
    )  # fmt: skip


@functools.cache
def _modules(
    seeds: str,
    digest: str,
    operators: tuple[tuple[str, int], ...],
    plants: tuple[str, ...],
    brought: tuple[Callable[[], Any], ...],
    demand: frozenset[Feature],
    rare: str,
) -> Any:
    """Our modules, half of them from the strategies of plugins where there are some; a module of theirs that TVM
    objects to is discarded."""
    from hypothesis import strategies as st

    from oracles.core.module_facts import complaint
    from strategies.fragment import fragment_at
    from strategies.modules import Described, described_modules
    from strategies.seeded import seeded_modules
    from strategies.seeds.collection import SeedRef

    fragments = [fragment_at(target) for target in plants]
    aim: dict[str, Any] = {"operators": dict(operators), "plant": fragments, "demand": demand, "rare": rare}
    ours = seeded_modules(SeedRef(seeds, digest), **aim) if seeds else described_modules(**aim)
    if not brought:
        return ours
    theirs = st.one_of([make() for make in brought]).filter(lambda module: complaint(module) is None)
    return st.booleans().flatmap(lambda own: ours if own else theirs.map(Described))


def pass_rows(
    config: Config, place: tuple[int, int], drawn: DrawnModule, first: tuple[tuple[PassRef, ...], ...] = ()
) -> tuple[tuple[PassRef, ...], ...]:
    """List what a module is tried under: the user's passes, what comes ``first``, single ones of TVM's passes, and a
    pipeline of them."""
    own = _user_passes(config, *place)
    rows: list[tuple[PassRef, ...]] = [(ref,) for ref in own]
    if config.passes:
        rows += first[: subjects_per_module(config) - len(rows)]
        room = subjects_per_module(config) - len(rows)
        rows += _drawn_rows(config.seed, place, drawn, config.passes, room) if room else ()
    return tuple(rows)


def _drawn_rows(
    seed: int, place: tuple[int, int], drawn: DrawnModule, names: tuple[str, ...], count: int
) -> list[tuple[PassRef, ...]]:
    """Draw ``count`` rows: one single pass each, the last of them a pipeline where that says more."""
    from strategies.detect.module_facts import facts_of
    from strategies.pass_arguments.row import NEAR
    from strategies.pass_arguments.table import PASS_ROWS
    from strategies.passes import LONGEST, SHORTEST, draw_passes, draw_pipeline, weight_of
    from strategies.scope.choices import Choices
    from strategies.scope.from_bytes import draws_of
    from strategies.seeded import LOWERED

    weights = {name: PASS_ROWS[name].weight for name in names}
    facts = facts_of(drawn.module, drawn.idioms)
    if drawn.structural == LOWERED:
        facts = replace(facts, lowered=True)
    focus = None
    aimed = [name for name in names if weight_of(name, facts) >= NEAR]
    if aimed:
        focus = randomness(seed, *place, "aimed").choices(aimed, [weights[name] for name in aimed])[0]
    singles = _one_stage(names, focus, randomness(seed, *place, "stage"))
    choices = Choices(draws_of(randomness(seed, *place, "passes")))
    pipeable = _pipeable(names)
    piped = PIPELINES_PER_MODULE if pipeable and count > 1 else 0
    alone = list(draw_passes(choices, (focus,), 1, facts)) if focus is not None else []
    others = [name for name in aimed if name in singles and name != focus]
    room = min(MOST_AIMED, count - piped) - len(alone)
    alone += draw_passes(choices, others, min(len(others), room), facts, weights)
    tried = {each.name for each in alone}
    rest = [name for name in singles if name not in tried]
    if rest and count - piped > len(alone):
        alone += draw_passes(choices, rest, count - piped - len(alone), facts, weights)
    rows: list[tuple[PassRef, ...]] = [(each,) for each in alone]
    # Not every pass can act on every module: pipelines, or the same passes with other arguments, fill up.
    plain = [name for name in names if not name.startswith("build:")]
    while len(rows) < count:
        rows.append(
            draw_pipeline(choices, plain, SHORTEST, LONGEST, facts)
            if pipeable
            else draw_passes(choices, names, 1, facts)
        )
    return rows


def _user_passes(config: Config, shard: int, number: int) -> tuple[PassRef, ...]:
    """The user's passes for one module: all, or where they are many, those whose turn it is."""
    own = config.user_passes
    room = subjects_per_module(config) if not config.passes else subjects_per_module(config) // 2
    if len(own) <= room:
        return own
    first = (shard * SHARD_EXAMPLES + number) * room
    return tuple(own[(first + step) % len(own)] for step in range(room))


def _one_stage(names: tuple[str, ...], focus: str | None, chance: random.Random) -> tuple[str, ...]:
    """The passes that one module is tried under singly: those on the high-level graph, or those that need it lowered.

    Lowering a module costs more than all structural oracles on a high-level pass together: a module that is lowered
    is lowered for all of its subjects. Over the modules each pass keeps the share that it would have without. A
    ``focus`` decides the stage.
    """
    from relaxkit.passes.ordering import LEGALIZING

    late = tuple(name for name in names if name in LEGALIZING)
    early = tuple(name for name in names if name not in LEGALIZING)
    if min(len(late), len(early)) < SUBJECTS_PER_MODULE:
        return names
    lowered = focus in late if focus is not None else chance.randrange(len(names)) < len(late)
    return late if lowered else early


def randomness(*parts: object) -> random.Random:
    """A generator that the parts decide, the same in every process and Python release."""
    text = "\0".join(str(part) for part in parts)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
