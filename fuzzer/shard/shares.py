"""Shares: of how many of its subjects an oracle is asked, by what it has found in recorded campaigns.

The history is in ``shares.toml``, which ``benchmarks/shares.py`` writes; the rule is argued in docs/oracles.md.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources

import msgspec
import tvm

from fuzzer.shard.draw import randomness
from oracles.core.subject import PIPELINE
from oracles.structural.roundtrip import draws_script
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef

SELDOM = 1 / 16
"""The share of an oracle that never failed for a pass."""
COSTLY = 1 / 4
"""The factor of a share where a run takes milliseconds: of a costly pass, and of a pipeline of passes asked alone."""
UNREDUCED = frozenset({OracleName.MUTATION, OracleName.NUMERIC})
"""Oracles without that factor: one costs the same of every pass, the other finds what shows in pipelines alone."""
OTHER_RELEASE = 4
"""On another release than that of the history shares are so many times as large."""
SCRIPT = 1 / 4
"""The share of roundtrip where the seed draws the subject for parsing, which finds defects of TVMScript in any pass."""
ALWAYS = frozenset({OracleName.CRASH, OracleName.WELL_FORMED})
"""They look at the first run and nothing else, and find the most."""


class History(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What oracles have found.

    Attributes:
        tvm: The release.
        passes: What was judged often enough: names of passes, and that of pipelines.
        failed: By oracle, those for which it failed because of TVM.
    """

    tvm: str
    passes: frozenset[str]
    failed: dict[OracleName, frozenset[str]]


@functools.cache
def recorded() -> History:
    """Return the history that comes with the program."""
    return msgspec.toml.decode(resources.files("fuzzer.shard").joinpath("shares.toml").read_bytes(), type=History)


@functools.lru_cache(maxsize=4096)
def share_of(oracle: OracleName, names: tuple[str, ...]) -> float:
    """Return the share of subjects of TVM's passes of these names of which an oracle is asked."""
    history, judged = recorded(), PIPELINE if len(names) > 1 else names[0]
    if oracle in ALWAYS or not history.passes >= {judged, *names}:
        return 1.0
    share = 1.0 if judged in history.failed.get(oracle, ()) else SELDOM
    if oracle not in UNREDUCED and (len(names) > 1 or CONTRACTS[judged].costly):
        share *= COSTLY
    return share if tvm.__version__ == history.tvm else min(1.0, share * OTHER_RELEASE)


def not_asked(
    place: tuple[int, int, int], passes: Sequence[PassRef], seed: int, oracles: Sequence[OracleName]
) -> frozenset[OracleName]:
    """Return the oracles that are not asked of one subject.

    One number decides for all of them, so that those that are asked share their runs.

    Args:
        place: Seed of the campaign, number of the shard, number of the case in it.
        passes: The passes of the subject.
        seed: Seed of its inputs.
        oracles: The campaign's oracles.
    """
    if any(ref.is_user for ref in passes):
        return frozenset()
    chance, names = randomness(*place, "shares").random(), tuple(ref.name for ref in passes)
    shares = {name: share_of(name, names) for name in oracles}
    if draws_script(seed) and OracleName.ROUNDTRIP in shares:
        shares[OracleName.ROUNDTRIP] = max(shares[OracleName.ROUNDTRIP], SCRIPT)
    return frozenset(name for name, share in shares.items() if chance >= share)
