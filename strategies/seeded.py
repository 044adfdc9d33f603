"""Modules drawn with a seed collection: mutated seeds, and drawn modules with functions of seeds spliced in."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strategies.modules import Described, described_modules
from strategies.scope.choices import Choices, Draw, composite
from strategies.seeds.bounds import unproven
from strategies.seeds.collection import SeedRef, load, open_seeds
from strategies.seeds.file import Seed, SeedStage
from strategies.seeds.mutate import mutate

SHARE = 3
"""Of eight modules, so many are mutated seeds; the others are drawn, half of them with a spliced function."""
LOWERED = "a lowered seed"


def seeded_modules(ref: SeedRef, **aim: Any) -> st.SearchStrategy[Described]:
    """Return a strategy of described modules, a share of them out of a collection; ``aim`` is for the others.

    The same bytes and the same collection give the same module. Of a module whose operators may leave their domain,
    ``Described.structural`` says so: it is not to be run.

    Raises:
        strategies.seeds.file.SeedFileError: when the collection is not what it was.
    """
    open_seeds(ref)
    return _mixed(ref, described_modules(seeds=ref, **aim))


@composite
def _mixed(draw: Draw, ref: SeedRef, drawn: st.SearchStrategy[Described]) -> Described:
    # By reference: Hypothesis shows the arguments of a strategy, and a collection is long.
    seeds, choices = open_seeds(ref), Choices(draw)
    if not seeds.mutable or choices.index(8) < 8 - SHARE:
        found: Described = draw(drawn)
        return found
    return mutated(choices, choices.pick(seeds.mutable))


def mutated(choices: Choices, seed: Seed) -> Described:
    """Draw mutations of a seed."""
    found = mutate(choices, load(seed), seed.stage)
    # Lowered code has buffers that operators write to, which no interval describes.
    structural = LOWERED if seed.stage is SeedStage.LOWERED else _lifted(found.module) or unproven(found.module)
    notes = ("seed:mutated", *(f"seed:{each}" for each in found.applied), *("seed:undone",) * bool(found.undone))
    return Described(
        found.module, executable=not structural, structural=structural, seeds=(seed.fingerprint,),
        notes=tuple(sorted(set(notes))),
    )  # fmt: skip


def _lifted(module: Any) -> str:
    """Say why a module whose weights were lifted already has no calling convention of its own; empty for any other.

    A caller runs the functions ``*_transform_params`` and passes on what they give: so they are a convention of the
    pass that lifts, which the oracle would take for its work.
    """
    if any(var.name_hint.endswith("transform_params") for var in module.functions):
        return "a module whose weights were lifted"
    return ""
