"""Neighbours of byte strings: near, decided by their source of chance alone, and modules like any other."""

from __future__ import annotations

import random

import pytest
import tvm_ffi
from tvm import relax

from fuzzer.neighbours import (
    CHANGES,
    Change,
    extended,
    flipped,
    lengthened,
    neighbour,
    replaced,
    shortened,
    spliced,
)
from strategies import ir_modules
from strategies.choices import POCKET
from strategies.drive import draw_and_bytes

DATA = bytes(range(1, 121))
OTHER = bytes(range(130, 250))


def changed_by(change: Change, seed: int) -> bytes:
    return change(DATA, OTHER, random.Random(seed))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_chance_alone_decides(change: Change) -> None:
    results = [changed_by(change, seed) for seed in range(40)]
    assert results == [changed_by(change, seed) for seed in range(40)]
    assert len(set(results)) > 5
    assert sum(result != DATA for result in results) >= 35


def test_what_each_change_does() -> None:
    for seed in range(40):
        assert sum(a != b for a, b in zip(changed_by(flipped, seed), DATA, strict=True)) >= 1 or seed
        assert len(changed_by(replaced, seed)) == len(DATA)
        short, long = changed_by(shortened, seed), changed_by(lengthened, seed)
        assert len(short) < len(DATA) < len(long)
        assert len(short) % POCKET == len(long) % POCKET == 0
        assert DATA.startswith(changed_by(extended, seed))
        joined = changed_by(spliced, seed)
        cut = next((at for at, byte in enumerate(joined) if byte >= 130), len(joined))
        assert joined[:cut] == DATA[:cut]
        assert cut % POCKET == 0
        assert OTHER.endswith(joined[cut:])


def test_a_string_shorter_than_a_pocket_has_neighbours() -> None:
    for seed in range(30):
        neighbour(b"abc", b"", random.Random(seed))


def test_neighbours_give_well_formed_modules() -> None:
    chance = random.Random(7)
    strategy = ir_modules()
    parents = [draw_and_bytes(strategy, chance.randbytes(16384)) for _ in range(6)]
    known = [each for each in parents if each is not None]
    discarded = 0
    for module, data in known:
        again = draw_and_bytes(strategy, data + chance.randbytes(64))
        assert again is not None, "the bytes that were used are all that is needed"
        assert again[1] == data
        assert tvm_ffi.structural_equal(again[0], module)
        for _ in range(5):
            near = draw_and_bytes(strategy, neighbour(data, chance.choice(known)[1], chance) + chance.randbytes(16384))
            discarded += near is None
            assert near is None or relax.analysis.check_well_formed(near[0])
    assert discarded <= 1
