"""The journal: what a process jotted down is there after its death, once, and in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import victims

from fuzzer.isolation import Died, IsolatedWorker
from fuzzer.journal import Journal


@pytest.fixture
def journal() -> Iterator[Journal]:
    made = Journal()
    yield made
    made.close()


def test_what_was_jotted_down_is_left_until_it_is_told(journal: Journal) -> None:
    assert journal.jot("a")
    assert journal.jot(("b", 2))
    assert journal.left(0) == ("a", ("b", 2))
    journal.told()
    assert journal.left(1) == ()
    assert journal.jot("c")
    assert journal.left(1) == ("c",)


def test_what_a_message_has_told_is_not_left_as_well(journal: Journal) -> None:
    journal.jot("a")
    assert journal.left(1) == (), "the process died between sending message 0 and emptying the journal"


def test_a_full_journal_says_so_and_has_room_once_it_was_told(journal: Journal) -> None:
    text = "x" * (Journal.SIZE // 3)
    assert [journal.jot(text) for _ in range(3)] == [True, True, False]
    assert journal.left(0) == (text, text)
    journal.told()
    assert journal.jot(text)
    assert not journal.jot("x" * Journal.SIZE)
    assert journal.left(1) == (text,)


@pytest.mark.parametrize("place", [12, 200])
def test_a_journal_that_was_written_into_is_read_up_to_there(journal: Journal, place: int) -> None:
    for number in range(3):
        journal.jot((number, "x" * 100))
    journal._map[place] ^= 0xFF
    assert journal.left(0) == ((0, "x" * 100),)[: place // 100]


def test_a_new_process_begins_with_an_empty_one(journal: Journal) -> None:
    journal.jot("a")
    journal.told()
    journal.jot("b")
    journal.clear()
    assert journal.message == 0
    assert journal.left(0) == ()


def test_what_a_dead_process_had_not_told_comes_with_its_death() -> None:
    with IsolatedWorker(time_limit=20.0) as worker:
        for _ in range(2):
            *items, died = worker.stream(victims.jot_and_die, None)
            assert items == ["told"]
            assert isinstance(died, Died)
            assert (died.kind, died.left) == ("signal 11", ("first", "second"))
        assert worker.call(victims.double, 1) == 2
        died = worker.call(victims.die, 11)
        assert isinstance(died, Died)
        assert died.left == ()


def test_what_a_process_had_said_and_jotted_down_before_it_hung_is_kept() -> None:
    with IsolatedWorker(time_limit=1.0) as worker:
        *items, died = worker.stream(victims.jot_and_hang, None)
    assert items == ["told"]
    assert isinstance(died, Died)
    assert (died.kind, died.stage, died.left) == ("hang", "crash: Endless", ("first",))
