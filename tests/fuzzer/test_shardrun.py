"""Whom a shard blames when processes die that somebody else may have ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import dying_shards
import pytest

from fuzzer.core.case import Case
from fuzzer.shard.run import run_isolated
from fuzzer.shard.shard import ExampleBegun, ShardTask
from fuzzer.worker.death import Died
from fuzzer.worker.worker import DOUBTS

TASK = ShardTask(dying_shards.config(), 2)
KILLED, LOST, CRASHED = -9, 255, -11


class Doomed:
    """Stands in for a worker whose processes end with these exit codes, all while the first example is judged."""

    def __init__(self, codes: list[int]) -> None:
        self.codes = codes

    def stream(self, *_: Any, hurry: Callable[[], bool], adaptive: bool) -> Iterator[Died]:
        died = Died.by_exit_code(self.codes.pop(0), "crash: FuseOps")
        yield replace(died, unsent=(ExampleBegun(0, "FuseOps", "FuseOps", time.monotonic()),))

    def call(self, *_: Any) -> Case:
        return Case("{}", (), 0)


def blamed(codes: list[int]) -> str:
    worker: Any = Doomed(codes)
    (hit,) = run_isolated(worker, TASK, threading.Event()).hits.values()
    assert hit.verdict.evidence is not None
    return hit.verdict.evidence.kind


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        ([CRASHED], "signal 11"),
        ([KILLED, CRASHED], "signal 11"),
        ([KILLED] * (1 + DOUBTS), "signal 9"),
        ([LOST] * DOUBTS + [KILLED, LOST], "exit 255"),
        ([KILLED, LOST] * DOUBTS + [LOST], "exit 255"),
    ],
)
def test_of_doubtful_deaths_those_of_one_kind_speak_of_the_case(codes: list[int], kind: str) -> None:
    left = list(codes)
    assert blamed(left) == kind
    assert not left
