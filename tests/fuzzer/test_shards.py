"""Shards: what is written into the workers' log."""

from __future__ import annotations

from typing import Any

import pytest

from fuzzer.core.config import Config
from fuzzer.shard import guidance
from fuzzer.shard.shard import ExampleDone, ShardTask, run_shard
from oracles.metamorphic import environment
from relaxkit.passes.contract import OracleName


def test_what_the_generator_raises_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("no\nshape")

    monkeypatch.setattr(guidance, "draw_subjects", broken)
    (done,) = run_shard(ShardTask(Config(7, ("Normalize",), (), (OracleName.CRASH,), 2, None, 1), 3, limit=1))
    assert isinstance(done, ExampleDone)
    assert done.tallies == (("crash", "the generator", "invalid", "the generator raised ValueError: no shape"),)


def test_an_error_of_the_harness_is_in_the_log_with_the_example_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(environment, "_agrees", broken)
    task = ShardTask(Config(7, ("Normalize",), (), (OracleName.CRASH, OracleName.SEQUENTIAL), 2, None, 1), 3, limit=1)
    (done,) = [item for item in run_shard(task) if isinstance(item, ExampleDone)]
    logged = capfd.readouterr().err
    reason = "harness error: ZeroDivisionError: ours"
    assert ("sequential", "Normalize", "invalid", reason) in done.tallies
    example = "seed 7, shard 3, example 0"
    assert f"invalid: sequential on relax.transform.Normalize(), {example}: {reason}\nTraceback" in logged
    assert 'raise ZeroDivisionError("ours")' in logged
