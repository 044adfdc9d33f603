"""Collections: their file, their content hash, and modules drawn with them."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
import seed_modules
import tvm
from hypothesis import strategies as st
from tvm import relax

from strategies.modules import Described
from strategies.scope.choices import Choices, Draw
from strategies.scope.from_bytes import draw_from_bytes
from strategies.seeded import LOWERED, SHARE, mutated, seeded_modules
from strategies.seeds.collection import SeedRef, find_seeds, load, open_seeds
from strategies.seeds.file import FILE_NAME, Seed, SeedFileError, SeedStage, read, write


def test_a_collection_reads_back_sorted_by_size(tmp_path: Path) -> None:
    seeds = [seed_modules.seed_of(text) for text in seed_modules.ALL]
    digest = write(tmp_path, seeds, "1.2")
    found, again, version = read(tmp_path)
    assert (again, version) == (digest, "1.2")
    assert set(found) == set(seeds)
    assert [seed.bindings for seed in found] == sorted(seed.bindings for seed in seeds)


def test_only_its_own_file_is_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    room = tmp_path / "seeds"
    room.mkdir()
    for name in (FILE_NAME, f"{FILE_NAME}.new"):
        (room / name).symlink_to("../mine")
    write(room, [seed_modules.seed_of(seed_modules.ALL[0])], "1.2")
    assert (tmp_path / "mine").read_text() == "mine"
    (room / FILE_NAME).unlink()
    os.mkfifo(room / FILE_NAME)
    with pytest.raises(SeedFileError, match="contains no seed collection"):
        read(room)


def test_equal_collections_are_equal_files(tmp_path: Path) -> None:
    seeds = [seed_modules.seed_of(text) for text in seed_modules.ALL]
    assert write(tmp_path / "a", seeds, "1") == write(tmp_path / "b", seeds[::-1], "1")
    assert write(tmp_path / "c", seeds[1:], "1") != write(tmp_path / "a", seeds, "1")


def test_facts_of_seeds() -> None:
    found = {text: seed_modules.seed_of(text) for text in seed_modules.ALL}
    assert found[seed_modules.KERNEL].stage is SeedStage.LEGALIZED
    assert found[seed_modules.LOWERED].stage is SeedStage.LOWERED
    assert found[seed_modules.CHAIN].stage is SeedStage.HIGH_LEVEL
    assert found[seed_modules.CHAIN].operators == ("relax.add", "relax.matmul", "relax.nn.relu")
    assert found[seed_modules.CHAIN].bindings == 3
    assert found[seed_modules.BRANCHES].bindings == 6
    (main,) = found[seed_modules.CHAIN].functions
    assert main.name == "main"
    assert main.parameters == ('R.Tensor((2, 3), dtype="float32")', 'R.Tensor((3, 3), dtype="float32")')
    assert main.result == 'R.Tensor((2, 3), dtype="float32")'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a seed collection of this version"),
        ("[]\n", "not a seed collection of this version"),
        ('{"format": "relaxfuzz-seeds-0"}\n', "not a seed collection of this version"),
        ('{"format": "relaxfuzz-seeds-2", "tvm": "1"}\n', "holds no seed"),
        ('{"format": "relaxfuzz-seeds-2", "tvm": "1"}\n{"file": "x"}\n', "line 2"),
    ],
)
def test_files_that_are_no_collection_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(SeedFileError, match=complaint):
        read(tmp_path)
    with pytest.raises(SeedFileError, match="corpus import"):
        read(tmp_path / "nowhere")


def test_seeds_of_another_tvm_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [seed_modules.seed_of(seed_modules.CHAIN)], "0.1")
    with pytest.raises(SeedFileError, match=r"TVM 0\.1"):
        find_seeds(tmp_path)


def test_a_changed_collection_is_noticed(tmp_path: Path) -> None:
    ref = seed_modules.collection(tmp_path)
    assert len(open_seeds(ref).all) == len(seed_modules.ALL)
    other = SeedRef(ref.directory, "0" * 16)
    with pytest.raises(SeedFileError, match="not those of the campaign"):
        open_seeds(other)


def test_modules_are_loaded_afresh(tmp_path: Path) -> None:
    seed = open_seeds(seed_modules.collection(tmp_path)).all[0]
    assert not load(seed).same_as(load(seed))


def test_a_share_of_modules_are_mutated_seeds(tmp_path: Path) -> None:
    strategy = seeded_modules(seed_modules.collection(tmp_path))
    source, notes, reasons = random.Random(6), Counter[str](), Counter[str]()
    for _ in range(120):
        drawn = draw_from_bytes(strategy, source.randbytes(8192))
        assert drawn is not None
        relax.analysis.well_formed(drawn.module)
        notes.update(drawn.notes)
        if "seed:mutated" in drawn.notes:
            reasons[drawn.structural] += 1
            assert drawn.executable == (not drawn.structural)
    assert abs(notes["seed:mutated"] - 120 * SHARE / 8) < 25
    assert notes["seed:spliced"] > 20
    assert reasons[""] > 5
    assert reasons[LOWERED] > 0
    assert reasons["operator call_tir"] + reasons["indices that may be out of range"] > 0


@st.composite
def _mutated(draw: Draw, seed: Seed) -> Described:
    return mutated(Choices(draw), seed)


def test_lifted_weights_are_no_convention_to_judge_numbers_by(tmp_path: Path) -> None:
    text = """
@I.ir_module
class Lifted:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
        R.func_attr({"num_input": 1})
        y = R.add(x, w)
        return y

    @R.function
    def main_transform_params(params: R.Tuple(R.Tensor((2,), "float32"))):
        w = params[0]
        t = (w,)
        return t
"""
    (seed,) = open_seeds(seed_modules.collection(tmp_path, (text,))).all
    drawn = draw_from_bytes(_mutated(seed), bytes(2048))
    assert drawn is not None
    assert drawn.structural == "a module whose weights were lifted"


def test_zeros_draw_no_seed(tmp_path: Path) -> None:
    drawn = draw_from_bytes(seeded_modules(seed_modules.collection(tmp_path)), bytes(8192))
    assert drawn is not None
    assert not drawn.seeds


def test_the_same_bytes_and_collection_give_the_same_module(tmp_path: Path) -> None:
    first = seeded_modules(seed_modules.collection(tmp_path / "a"))
    second = seeded_modules(seed_modules.collection(tmp_path / "b"))  # another place, equal content
    source = random.Random(7)
    for _ in range(20):
        data = source.randbytes(8192)
        left, right = draw_from_bytes(first, data), draw_from_bytes(second, data)
        assert left is not None
        assert right is not None
        assert json.loads(str(tvm.ir.save_json(left.module))) == json.loads(str(tvm.ir.save_json(right.module)))
        assert (left.notes, left.structural, left.seeds) == (right.notes, right.structural, right.seeds)
