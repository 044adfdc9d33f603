"""What a shard judges: modules, blindly drawn or as neighbours of kept ones, and the passes to try each under.

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzzer.behaviours import Seen, of_module
from fuzzer.budget import EVEN_SHARE, Budget
from fuzzer.config import Config
from fuzzer.pool import EVEN_EFFORT, Parent, Place, Pool
from oracles.passref import PassRef
from oracles.plugins import active

if TYPE_CHECKING:
    from strategies.profile import Profile

SUBJECTS_PER_MODULE = 10
"""A module is drawn once and tried under several passes: drawing costs as much as judging one subject."""
SHARD_EXAMPLES = 64
"""About a second of work: little is lost when a worker dies, and little is spent on handing out shards."""
MOST_AIMED = 4
"""Of the passes that idioms were planted for, so many are tried for certain."""
MOST_DRAWS = 20
"""A draw that is discarded is replaced by the next one, so that a shard has as many examples as it should."""
DRAW_BYTES = 16 << 10
"""Bytes that one module is drawn from; Hypothesis itself stops at 8 KiB of choices."""
PIPELINES_PER_MODULE = 1
"""Of a module's subjects, so many are pipelines of several passes."""
CANDIDATES = 3
"""Where a pool guides, so many modules are drawn, and the one that promises most that is new is judged: judging a
module takes as long as drawing ten."""
NEIGHBOURS = 0.25
"""Share of neighbours among these candidates: with more of them, pairs of operators grow more slowly."""
FIXED_COST = 8
"""What a module costs whatever its size, in bindings: novelty is weighed against cost. Judging took 26 ms and 6.3 ms a
binding, the draws of three candidates 28 ms."""


SeedPlace = tuple[str, str]
"""Directory and content hash of a seed collection; empty without one."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drawn module.

    Attributes:
        module: The module.
        idioms: Names of the idioms planted in it.
        data: The bytes that it was drawn from.
        profile: What it is made of.
        features: Names of its features, sorted.
        behaviours: Keys of what it shows, before any pass ran.
        parent: The kept module that it is a neighbour of, if it is one.
        structural: Why it must not be run; empty when it may be.
        executable: Whether it was drawn so that running it has a defined result.
    """

    module: Any
    idioms: tuple[str, ...]
    data: bytes
    profile: Profile
    features: tuple[str, ...]
    behaviours: tuple[int, ...]
    parent: Parent | None
    structural: str = ""
    executable: bool = True


@dataclass(frozen=True, slots=True)
class Subjects:
    """A drawn module and what it is tried under.

    Attributes:
        candidate: The module with what is known of it.
        pipelines: One or more passes for each subject.
        discarded: Draws before it that gave no module.
        repeated: Neighbours before it that were equal to their parent.
        outdone: Modules drawn with it that promised less.
    """

    candidate: Candidate
    pipelines: tuple[tuple[PassRef, ...], ...]
    discarded: int
    repeated: int = 0
    outdone: int = 0

    @property
    def module(self) -> Any:
        """The module."""
        return self.candidate.module

    @property
    def idioms(self) -> tuple[str, ...]:
        """Names of the idioms planted in the module."""
        return self.candidate.idioms


@dataclass(frozen=True, slots=True)
class Efforts:
    """Weights of passes, by name.

    Attributes:
        focus: When it is drawn which of those that a module has something for is tried for certain.
        singles: When the passes are drawn that it is tried under besides.
    """

    focus: Mapping[str, int]
    singles: Mapping[str, int]


def subjects_per_module(config: Config) -> int:
    """How many subjects each module gives: where passes are few, each once and a pipeline of them."""
    singles = len(config.passes) + len(config.user_passes)
    return min(SUBJECTS_PER_MODULE, singles + (PIPELINES_PER_MODULE if _pipeable(config.passes) else 0))


def _pipeable(names: Sequence[str]) -> bool:
    """Whether a pipeline of these says more than each of them alone."""
    return len({name for name in names if not name.startswith("build:")}) > 1


def draw_subjects(
    config: Config, shard: int, number: int, pool: Pool | None = None, shares: Mapping[str, int] | None = None
) -> Subjects | None:
    """Draw one module of a shard and the passes to try it under; ``None`` when too many draws were discarded."""
    drawn = _Draws(
        randomness(config.seed, shard, number, "module"), pool or Pool(), (config.seeds, config.seeds_digest)
    )
    candidate = drawn.best()
    if candidate is None:
        return None
    rows = _rows(config, (shard, number), candidate, _efforts(config, pool, shares or {}))
    return Subjects(candidate, rows, drawn.discarded, drawn.repeated, drawn.outdone)


class _Draws:
    """The draws for one module of a shard."""

    def __init__(self, source: random.Random, pool: Pool, seeds: SeedPlace) -> None:
        self._source = source
        self._pool = pool
        self._seeds = seeds
        self.discarded = 0
        self.repeated = 0
        self.outdone = 0

    def best(self) -> Candidate | None:
        """The candidate that promises most; the only one where no pool guides, ``None`` when there is none."""
        wanted = CANDIDATES if self._pool.parents else 1
        found: list[Candidate] = []
        for _ in range(MOST_DRAWS):
            candidate = self._draw()
            if candidate is not None:
                found.append(candidate)
                if len(found) == wanted:
                    break
        if len(found) < 2:
            return found[0] if found else None
        self.outdone = len(found) - 1
        seen = Seen(self._pool.seen)
        promises = [seen.novelty(each.behaviours) / (FIXED_COST + each.profile.bindings) for each in found]
        return found[promises.index(max(promises))]

    def _draw(self) -> Candidate | None:
        """One draw; ``None`` when it gives no module, or one that is known."""
        from fuzzer.neighbours import neighbour

        source, pool = self._source, self._pool
        parent = pool.pick(source) if pool.parents and source.random() < NEIGHBOURS else None
        data = b"" if parent is None else neighbour(parent.data, pool.pick(source).data, source)
        candidate = _candidate(data + source.randbytes(max(0, DRAW_BYTES - len(data))), parent, self._seeds)
        if candidate is None:
            self.discarded += 1
        elif parent is not None and fingerprint(candidate.module) == parent.fingerprint:
            self.repeated += 1
            return None
        return candidate


def _candidate(data: bytes, parent: Parent | None, seeds: SeedPlace) -> Candidate | None:
    from strategies import features_of
    from strategies.drive import draw_and_bytes
    from strategies.profile import profile_of

    drawn = draw_and_bytes(_modules(seeds), data)
    if drawn is None:
        return None
    described, used = drawn
    profile = profile_of(described.module)
    features = tuple(sorted(str(each.value) for each in features_of(described.module)))
    behaviours = tuple(of_module(profile, features))
    idioms = (*described.idioms, *described.notes)
    return Candidate(
        described.module,
        idioms,
        used,
        profile,
        features,
        behaviours,
        parent,
        described.structural,
        described.executable,
    )


def fingerprint(module: Any) -> int:
    """Structural hash of a module, the same in every process."""
    import tvm_ffi

    return int(tvm_ffi.structural_hash(module))


def _modules(seeds: SeedPlace) -> Any:
    brought = active().modules
    return _ours(seeds) if not brought else _with_brought(seeds, brought)


@functools.cache
def _with_brought(seeds: SeedPlace, brought: tuple[Callable[[], Any], ...]) -> Any:
    """Half of the modules from the strategies of plugins; a module that TVM objects to is discarded."""
    from hypothesis import strategies as st

    from oracles.facts import complaint
    from strategies.modules import Described

    theirs = st.one_of([make() for make in brought]).filter(lambda module: complaint(module) is None)
    return st.booleans().flatmap(lambda ours: _ours(seeds) if ours else theirs.map(Described))


@functools.cache
def _ours(seeds: SeedPlace) -> Any:
    from strategies.modules import described_modules
    from strategies.seeded import seeded_modules
    from strategies.seeds import SeedRef

    return seeded_modules(SeedRef(*seeds)) if seeds[0] else described_modules()


def _efforts(config: Config, pool: Pool | None, shares: Mapping[str, int]) -> Efforts:
    """The weights of the passes of a campaign."""
    from strategies.effort import DRAWN, EVEN_DRAWN

    even = {name: DRAWN.get(name, EVEN_DRAWN) for name in config.passes}
    if shares:
        even = {name: weight * shares.get(name, EVEN_SHARE) for name, weight in even.items()}
    if pool is None or config.budget is Budget.YIELD:  # which bounds what a pass gets; both together would not
        return Efforts(even, even)
    return Efforts(even, {name: weight * pool.effort.get(name, EVEN_EFFORT) for name, weight in even.items()})


def _rows(config: Config, place: Place, candidate: Candidate, efforts: Efforts) -> tuple[tuple[PassRef, ...], ...]:
    """What a module is tried under: the user's passes, single passes of TVM's, and a pipeline of them."""
    shard, number = place
    own = _user_passes(config, shard, number)
    names = config.passes
    rows: list[tuple[PassRef, ...]] = [(ref,) for ref in own]
    if names:
        rows += _drawn_rows(config, place, candidate, efforts, names, subjects_per_module(config) - len(own))
    return tuple(rows)


def _drawn_rows(
    config: Config, place: Place, candidate: Candidate, efforts: Efforts, names: tuple[str, ...], count: int
) -> list[tuple[PassRef, ...]]:
    """``count`` rows: one single pass each, the last of them a pipeline where that says more."""
    from strategies.choices import Choices
    from strategies.drive import draws_of
    from strategies.fitness import NEAR
    from strategies.module_facts import facts_of
    from strategies.passes import draw_passes, draw_pipeline, weight_of
    from strategies.seeded import LOWERED

    facts = facts_of(candidate.module, candidate.idioms)
    if candidate.structural == LOWERED:
        facts = replace(facts, lowered=True)
    parent = candidate.parent
    focus = None
    aimed = [name for name in names if weight_of(name, facts) >= NEAR]
    if parent is not None and (known := [name for name in parent.passes if name in names]):
        focus = randomness(config.seed, *place, "focus").choice(known)
    elif aimed:
        weights = [efforts.focus[name] for name in aimed]
        focus = randomness(config.seed, *place, "aimed").choices(aimed, weights)[0]
    singles = _one_stage(names, focus, randomness(config.seed, *place, "stage"))
    choices = Choices(draws_of(randomness(config.seed, *place, "passes")))
    pipeable = _pipeable(names)
    piped = PIPELINES_PER_MODULE if pipeable and count > 1 else 0
    alone = list(draw_passes(choices, (focus,), 1, facts)) if focus is not None else []
    others = [name for name in aimed if name in singles and name != focus]
    room = min(MOST_AIMED, count - piped) - len(alone)
    alone += draw_passes(choices, others, min(len(others), room), facts, efforts.singles)
    tried = {each.name for each in alone}
    rest = [name for name in singles if name not in tried]
    if rest and count - piped > len(alone):
        alone += draw_passes(choices, rest, count - piped - len(alone), facts, efforts.singles)
    rows: list[tuple[Any, ...]] = [(each,) for each in alone]
    # Not every pass can act on every module: pipelines, or the same passes with other arguments, fill up.
    plain = [name for name in names if not name.startswith("build:")]
    while len(rows) < count:
        rows.append(draw_pipeline(choices, plain, 2, 6, facts) if pipeable else draw_passes(choices, names, 1, facts))
    return [tuple(PassRef(each.name, each.expression) for each in row) for row in rows]


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
    late = tuple(name for name in names if name in _lowered_passes())
    early = tuple(name for name in names if name not in _lowered_passes())
    if min(len(late), len(early)) < SUBJECTS_PER_MODULE:
        return names
    lowered = focus in late if focus is not None else chance.randrange(len(names)) < len(late)
    return late if lowered else early


@functools.cache
def _lowered_passes() -> frozenset[str]:
    """Passes whose preparation, or own work, is to legalize the whole module."""
    from oracles.contracts import CONTRACTS

    prepared = {name for name, row in CONTRACTS.items() if "LegalizeOps" in row.prepare}
    return frozenset(prepared | {name for name in CONTRACTS if name.startswith("build:")} | {"LegalizeOps"})


def randomness(*parts: object) -> random.Random:
    """A generator that the parts decide, the same in every process and Python release."""
    text = "\0".join(str(part) for part in parts)
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))
