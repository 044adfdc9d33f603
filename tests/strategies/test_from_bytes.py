from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import subprocess
import sys

import pytest
import tvm
from hypothesis import strategies as st

from strategies import ir_modules, module_and_passes
from strategies.modules import described_modules
from strategies.scope import from_bytes
from strategies.scope.choices import Draw, composite, pocket
from strategies.scope.from_bytes import draw_and_bytes, draw_from_bytes

SCRIPT = """
import hashlib, random, tvm
from strategies import ir_modules
from strategies.scope.from_bytes import draw_from_bytes
source = random.Random(9)
digest = hashlib.sha256()
for _ in range(30):
    digest.update(tvm.ir.save_json(draw_from_bytes(ir_modules(), source.randbytes(8192))).encode())
print(digest.hexdigest())
"""


def test_equal_bytes_give_equal_modules():
    source = random.Random(4)
    strategy = module_and_passes()
    for _ in range(40):
        data = source.randbytes(8192)
        first, second = draw_from_bytes(strategy, data), draw_from_bytes(strategy, data)
        assert tvm.ir.save_json(first[0]) == tvm.ir.save_json(second[0])
        assert first[1] == second[1]


def test_what_was_drawn_before_does_not_matter():
    data = random.Random(5).randbytes(8192)
    before = tvm.ir.save_json(draw_from_bytes(ir_modules(), data))
    for seed in range(20):
        draw_from_bytes(ir_modules(), random.Random(seed).randbytes(8192))
    assert tvm.ir.save_json(draw_from_bytes(ir_modules(), data)) == before


def test_another_process_draws_the_same():
    """Whatever the seed of hashes, which this process draws by chance unless it was told one."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(SCRIPT, {})
    assert said.stdout == here.getvalue()
    assert len(said.stdout.strip()) == len(hashlib.sha256().hexdigest())


def test_too_few_bytes_give_none():
    assert draw_from_bytes(ir_modules(), b"\x00") is None


def test_few_cases_are_discarded():
    source = random.Random(6)
    cases = [draw_from_bytes(ir_modules(), source.randbytes(4096)) for _ in range(100)]
    assert sum(case is None for case in cases) <= 1


def test_errors_of_a_strategy_are_not_swallowed():
    @st.composite
    def broken(draw):
        draw(st.integers(0, 3))
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        draw_from_bytes(broken(), bytes(64))


def test_modules_are_drawn_without_hypothesis_as_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole ones, and those that their bytes, or what Hypothesis allows of them, are too few for."""
    source, strategy = random.Random(7), described_modules()
    data = [source.randbytes(size) for size in (40, 200, 400, 900, 2000, 16384) for _ in range(4)]
    with monkeypatch.context() as patch:
        patch.setattr(from_bytes, "_target", None)
        alone = [draw_and_bytes(strategy, each) for each in data]
    monkeypatch.setattr(from_bytes, "body_of", lambda _: None)
    driven = [draw_and_bytes(strategy, each) for each in data]
    shown = [
        [found and (tvm.ir.save_json(found[0].module), found[0].idioms, found[1]) for found in each]
        for each in (alone, driven)
    ]
    assert shown[0] == shown[1]
    assert {found is None for found in alone} == {True, False}


@pytest.mark.parametrize("over", [0, 1])
def test_a_value_takes_no_more_than_hypothesis_lets_it(monkeypatch: pytest.MonkeyPatch, over: int) -> None:
    @composite
    def pockets(draw: Draw) -> int:
        return sum(draw(pocket())[0] for _ in range(from_bytes.MOST_POCKETS + over))

    data = random.Random(8).randbytes(1 << 14)
    alone = draw_and_bytes(pockets(), data)
    monkeypatch.setattr(from_bytes, "body_of", lambda _: None)
    assert alone == draw_and_bytes(pockets(), data)
    assert (alone is None) == bool(over)
