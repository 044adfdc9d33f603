"""What a shard draws: a pure function of its arguments, with a pool neighbours and what promises most."""

from __future__ import annotations

import functools

import pytest
import tvm_ffi

from fuzzer.behaviours import Seen
from fuzzer.config import Config
from fuzzer.drawing import CANDIDATES, Subjects, draw_subjects, fingerprint, subjects_per_module
from fuzzer.pool import Parent, Pool
from fuzzer.preparation import pass_names
from oracles.verdict import OracleName

COUNT = 24


def config() -> Config:
    return Config(3, pass_names(), (), tuple(OracleName), 1, None, 1)


@functools.cache
def drawn(guided: bool) -> list[Subjects]:
    found = [draw_subjects(config(), 1, number, pool() if guided else None) for number in range(COUNT)]
    return [each for each in found if each is not None]


@functools.cache
def pool() -> Pool:
    parents = []
    seen = Seen()
    for number in range(4):
        subjects = draw_subjects(config(), 0, number)
        assert subjects is not None
        candidate = subjects.candidate
        seen.add(candidate.behaviours)
        parents.append(Parent((0, number), candidate.data, fingerprint(candidate.module), ("CanonicalizeBindings",)))
    return Pool(tuple(parents), (1, 1, 1, 5), {"DeadCodeElimination": 12, "Normalize": 2}, seen.bits)


@pytest.mark.parametrize("guided", [False, True])
def test_equal_arguments_give_equal_subjects(guided: bool) -> None:
    again = draw_subjects(config(), 1, 7, pool() if guided else None)
    first = draw_subjects(config(), 1, 7, pool() if guided else None)
    assert first is not None
    assert again is not None
    assert tvm_ffi.structural_equal(first.module, again.module)
    assert first.pipelines == again.pipelines
    assert fingerprint(first.module) == fingerprint(again.module)


def test_each_module_has_all_its_subjects() -> None:
    for subjects in (*drawn(False), *drawn(True)):
        assert len(subjects.pipelines) == subjects_per_module(config())
        singles = [row[0].name for row in subjects.pipelines if len(row) == 1]
        assert len(singles) == len(set(singles))


def test_blind_draws_have_no_parent_and_no_rivals() -> None:
    assert all(each.candidate.parent is None and not each.outdone and not each.repeated for each in drawn(False))


def test_guided_draws_have_rivals_and_some_have_parents_whose_pass_is_tried() -> None:
    guided = drawn(True)
    assert sum(each.outdone for each in guided) >= (CANDIDATES - 1) * (len(guided) - 1)
    children = [each for each in guided if each.candidate.parent is not None]
    assert children
    for child in children:
        parent = child.candidate.parent
        assert parent is not None
        assert fingerprint(child.module) != parent.fingerprint
        assert child.pipelines[0][0].name == "CanonicalizeBindings"


def test_guided_draws_promise_more_than_blind_ones() -> None:
    seen = Seen(pool().seen)

    def novelty(rows: list[Subjects]) -> float:
        return sum(seen.novelty(each.candidate.behaviours) for each in rows) / len(rows)

    assert novelty(drawn(True)) > 1.1 * novelty(drawn(False))
