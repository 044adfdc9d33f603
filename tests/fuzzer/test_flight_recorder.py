"""The flight recorder: what a process recorded is there after its death, once, and in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import victims

from fuzzer.worker.death import Died
from fuzzer.worker.flight_recorder import ITEMS, SIZE, FlightRecorder
from fuzzer.worker.worker import IsolatedWorker


@pytest.fixture
def recorder() -> Iterator[FlightRecorder]:
    made = FlightRecorder()
    yield made
    made.close()


def test_what_was_recorded_is_left_until_it_is_sent(recorder: FlightRecorder) -> None:
    assert recorder.record("a")
    assert recorder.record(("b", 2))
    assert recorder.unsent(0) == ("a", ("b", 2))
    recorder.sent()
    assert recorder.unsent(1) == ()
    assert recorder.record("c")
    assert recorder.unsent(1) == ("c",)


def test_what_a_message_has_sent_is_not_left_as_well(recorder: FlightRecorder) -> None:
    recorder.record("a")
    assert recorder.unsent(1) == (), "the process died between sending message 0 and emptying the recorder"


def test_a_full_recorder_says_so_and_has_room_once_it_was_sent(recorder: FlightRecorder) -> None:
    text = "x" * ((SIZE - ITEMS) // 3)
    assert [recorder.record(text) for _ in range(3)] == [True, True, False]
    assert recorder.unsent(0) == (text, text)
    recorder.sent()
    assert recorder.record(text)
    assert not recorder.record("x" * (SIZE - ITEMS))
    assert recorder.unsent(1) == (text,)


@pytest.mark.parametrize("place", [12, 200])
def test_a_recorder_that_was_written_into_is_read_up_to_there(recorder: FlightRecorder, place: int) -> None:
    for number in range(3):
        recorder.record((number, "x" * 100))
    recorder._map[ITEMS + place] ^= 0xFF
    assert recorder.unsent(0) == ((0, "x" * 100),)[: place // 100]


def test_a_new_process_begins_with_an_empty_one(recorder: FlightRecorder) -> None:
    recorder.record("a")
    recorder.sent()
    recorder.record("b")
    recorder.clear()
    assert recorder.message == 0
    assert recorder.unsent(0) == ()


def test_what_a_dead_process_had_not_sent_comes_with_its_death() -> None:
    with IsolatedWorker(time_limit=20.0) as worker:
        for _ in range(2):
            *items, died = worker.stream(victims.record_and_die, None)
            assert items == ["told"]
            assert isinstance(died, Died)
            assert (died.kind, died.unsent) == ("signal 11", ("first", "second"))
        assert worker.call(victims.double, 1) == 2
        died = worker.call(victims.die, 11)
        assert isinstance(died, Died)
        assert died.unsent == ()


def test_what_a_process_had_said_and_recorded_before_it_hung_is_kept() -> None:
    with IsolatedWorker(time_limit=1.0) as worker:
        *items, died = worker.stream(victims.record_and_hang, None)
    assert items == ["told"]
    assert isinstance(died, Died)
    assert (died.kind, died.stage, died.unsent) == ("hang", "crash: Endless", ("first",))
