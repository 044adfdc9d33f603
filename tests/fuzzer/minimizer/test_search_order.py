"""What the search does in which order, on words in place of modules: no TVM, so that every answer is known."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from fuzzer.core.case import Case
from fuzzer.minimizer.judge.pool import Asked
from fuzzer.minimizer.search.messages import Failing, Key, ProposalRequest, ProposedModules, SmallerModule, StartFacts
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits, Stopped
from fuzzer.minimizer.search.search import Search
from relaxkit.passes.pass_ref import PassRef

WANTED = "wanted"
Edit = Callable[[str], list[tuple[Key, str]]]


def drop(word: str) -> list[tuple[Key, str]]:
    """Words without a range of letters: all of it, halves, quarters, ... single letters, from the back."""
    found: list[tuple[Key, str]] = []
    size = 1
    while size < len(word):
        size *= 2
    while size:
        for start in range((max(len(word), 1) - 1) // size * size, -1, -size):
            found.append(((-size, -start), word[:start] + word[start + size :]))
        size //= 2
    return found


def lower(word: str) -> list[tuple[Key, str]]:
    """Words with one letter in lower case."""
    return [((place,), word[:place] + word[place].lower() + word[place + 1 :]) for place in range(len(word))]


def flip(word: str) -> list[tuple[Key, str]]:
    """The other of two words that both fail."""
    return [((0,), {"ab!": "ab?", "ab?": "ab!"}.get(word, word))]


class World:
    """Answers the search's questions, and counts them."""

    def __init__(self, *edits: Edit, fails: Callable[[Case], list[str]], slow: bool = False) -> None:
        self.edits = edits
        self.fails = fails
        self.chance = random.Random(1) if slow else None
        self.asked: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.proposals = 0
        self.lock = threading.Lock()

    def query(self, case: Case) -> list[Failing]:
        with self.lock:
            self.asked[case.module_json, tuple(ref.name for ref in case.passes)] += 1
            pause = self.chance.random() / 300 if self.chance else 0.0
        time.sleep(pause)
        return [Failing(name, f"the failure {name}") for name in self.fails(case)]

    def propose(self, request: ProposalRequest) -> ProposedModules:
        with self.lock:
            self.proposals += 1
        edits, word = self.edits[request.reduction], request.module_json
        found: list[SmallerModule] = []
        if request.fold > 1:
            key, folded = request.start, word
            for _ in range(request.fold):
                after = [item for item in edits(folded) if key is None or item[0] >= key]
                after = [item for item in after if item[1] != folded]
                if not after:
                    break
                key, folded = after[0]
            if folded != word and key is not None:
                found.append(SmallerModule(key, folded, folded))
        last = request.start
        for key, smaller in edits(word):
            if request.start is not None and (key < request.start or (request.skip_start and key == request.start)):
                continue
            if len(found) >= request.count:
                return ProposedModules(tuple(found), last)
            last = key
            if smaller != word and smaller not in [item.module_json for item in found]:
                found.append(SmallerModule(key, smaller, smaller))
        return ProposedModules(tuple(found), None)

    def run(
        self, word: str, passes: str = "P", tasks: Executor | None = None, limits: SearchLimits | None = None
    ) -> Minimized:
        case = Case(word, tuple(PassRef(name, name) for name in passes), 0)
        facts = StartFacts(
            len(word), 1, frozenset(), "", tuple((edit.__name__, edit is lower) for edit in self.edits), word, ""
        )
        given: dict[str, Any] = {"tasks": tasks or Asked(), "limits": limits or SearchLimits()}
        found = Search(case, WANTED, self.query, self.propose, facts, **given).run()
        return replace(found, seconds=0.0)


def has(*letters: str) -> Callable[[Case], list[str]]:
    return lambda case: [WANTED] if all(letter in case.module_json for letter in letters) else []


def neighbours(case: Case) -> list[str]:
    """Two letters make the failure; one of them makes another."""
    word = case.module_json
    if "x" in word and "y" in word:
        return [WANTED]
    return ["other x"] if "x" in word else ["other y"] if "y" in word else []


NOISE = "".join(random.Random(3).choices("abcdefgh", k=120))
WORD = NOISE[:40] + "x" + NOISE[40:90] + "y" + NOISE[90:]


def test_only_what_is_needed_stays() -> None:
    found = World(drop, fails=neighbours).run(WORD)
    assert found.case.module_json == "xy"
    assert found.complete
    assert found.queries < 60


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_the_result_does_not_depend_on_the_number_of_workers(workers: int) -> None:
    alone = World(drop, lower, fails=neighbours).run(WORD, "abPcd")
    with ThreadPoolExecutor(workers) as threads:
        many = World(drop, lower, fails=neighbours, slow=True).run(WORD, "abPcd", threads)
    assert many == alone
    assert {other.failing.id for other in alone.others} == {"other x", "other y"}


def test_what_ends_larger_than_it_began_goes_back_to_the_smallest() -> None:
    def grow(word: str) -> list[tuple[Key, str]]:
        return [((0,), f"{word}a")]

    found = World(drop, grow, fails=has("x")).run("axb", limits=SearchLimits(queries=60))
    assert found.stopped is Stopped.QUERIES
    assert found.case.module_json == "x"


def test_what_goes_back_keeps_the_passes_that_were_dropped() -> None:
    def grow(word: str) -> list[tuple[Key, str]]:
        return [((0,), f"{word}a" if len(word) < 8 else word)]

    def fails(case: Case) -> list[str]:
        return [WANTED] if "x" in case.module_json and (len(case.passes) > 1 or len(case.module_json) > 3) else []

    found = World(drop, grow, fails=fails).run("axb", "PQ")
    assert "x" in [each.module_json for each in found.trail]
    assert (found.case.module_json, len(found.case.passes)) == ("xaaa", 1)


def test_limits_count_alike_whatever_runs_ahead() -> None:
    limits = SearchLimits(queries=17)
    alone = World(drop, fails=neighbours).run(WORD, limits=limits)
    with ThreadPoolExecutor(4) as threads:
        many = World(drop, fails=neighbours, slow=True).run(WORD, tasks=threads, limits=limits)
    assert many == alone
    assert (alone.queries, alone.stopped) == (17, Stopped.QUERIES)
    assert "x" in alone.case.module_json
    assert "y" in alone.case.module_json


def test_nothing_is_asked_twice() -> None:
    world = World(drop, lower, fails=neighbours)
    found = world.run(WORD)
    assert set(world.asked.values()) == {1}
    assert sum(world.asked.values()) == found.queries


def test_running_again_changes_nothing() -> None:
    first = World(drop, lower, fails=has("x", "y")).run("xAAyBB")
    again = World(drop, lower, fails=has("x", "y")).run(first.case.module_json)
    assert again.case == first.case
    assert again.steps == ()


def test_two_that_lead_to_each_other_end_at_the_same_one() -> None:
    def fails(case: Case) -> list[str]:
        return [WANTED] if case.module_json in ("ab!", "ab?") else []

    found = World(flip, fails=fails).run("ab!")
    assert found.complete
    assert World(flip, fails=fails).run("ab?").case == found.case
    assert World(flip, fails=fails).run(found.case.module_json).case == found.case


def test_many_small_edits_are_tried_together() -> None:
    world = World(lower, fails=lambda case: [WANTED] if len(case.module_json) == 64 else [])
    found = world.run("A" * 64)
    assert found.case.module_json == "a" * 64
    assert found.queries <= 12


def test_what_is_tried_together_is_taken_apart_when_it_does_not_hold() -> None:
    world = World(lower, fails=lambda case: [WANTED] if {"E", "L"} <= set(case.module_json) else [])
    found = world.run("ABCDEFGHIJKLMNOP")
    assert found.case.module_json == "abcdEfghijkLmnop"
    assert found.queries < 40


def test_a_case_that_does_not_fail_is_left_alone() -> None:
    found = World(drop, fails=has("z")).run("abc")
    assert not found.reproduced
    assert (found.queries, found.case.module_json, found.steps) == (1, "abc", ())


def test_what_fails_on_nothing_at_all_is_found_at_once() -> None:
    found = World(drop, fails=lambda case: [WANTED]).run(WORD)
    assert (found.case.module_json, found.queries) == ("", 2)


def test_passes_are_dropped_before_and_after_the_module() -> None:
    def fails(case: Case) -> list[str]:
        names = "".join(ref.name for ref in case.passes)
        needed = "PQ" if "n" in case.module_json else "P"  # the second pass matters while there is an n
        return [WANTED] if "x" in case.module_json and all(name in names for name in needed) else []

    world = World(drop, fails=fails)
    found = world.run("aanaaxaa", "abPcQd")
    assert [ref.name for ref in found.case.passes] == ["P"]
    assert found.case.module_json == "x"
    assert found.steps[0] == "drop passes"
    assert "drop passes" in found.steps[1:]


def test_each_new_best_is_saved_at_once_and_an_interrupt_keeps_the_last() -> None:
    world = World(drop, fails=neighbours)
    saved: list[Case] = []
    calls = 0

    def query(case: Case) -> list[Failing]:
        nonlocal calls
        calls += 1
        if calls == 12:
            raise KeyboardInterrupt
        return world.query(case)

    facts = StartFacts(len(WORD), 1, frozenset(), "", (("drop", False),), WORD, "")
    case = Case(WORD, (), 0)
    found = Search(case, WANTED, query, world.propose, facts, save=saved.append).run()
    assert found.stopped is Stopped.INTERRUPT
    assert saved
    assert saved[-1] == found.case
    assert tuple(saved) == found.trail
    assert next(iter(found.steps_back())) == found.case
    again = world.run(found.case.module_json)
    assert again.case.module_json == "xy"


def test_a_search_that_is_told_to_stop_ends() -> None:
    world = World(drop, fails=neighbours)
    facts = StartFacts(len(WORD), 1, frozenset(), "", (("drop", False),), WORD, "")
    left = iter([False] * 9 + [True] * 99)
    found = Search(Case(WORD, (), 0), WANTED, world.query, world.propose, facts, stop=lambda: next(left)).run()
    assert found.stopped is Stopped.INTERRUPT
    assert found.queries <= 9


def test_time_ends_a_search() -> None:
    found = World(drop, fails=neighbours).run(WORD, limits=SearchLimits(seconds=0.0))
    assert found.stopped is Stopped.TIME


def test_serial_tasks_run_when_they_are_wanted() -> None:
    done: list[int] = []
    tasks = Asked()
    first, second = tasks.submit(done.append, 1), tasks.submit(done.append, 2)
    assert done == []
    second.result()
    assert first.cancel()
    assert not second.cancel()
    second.result()
    assert done == [2]
