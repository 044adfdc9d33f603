"""What the line of progress says of findings and suspects."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pty
from select import select

import pytest
from sample_records import hit, shard

from fuzzer.campaign import progress
from fuzzer.campaign.progress import Progress
from fuzzer.core.config import Config
from fuzzer.store.records import FindingState
from relaxkit.passes.contract import OracleName


class Told:
    """A campaign's progress, and the last line that it printed."""

    def __init__(self) -> None:
        self.written = io.StringIO()
        config = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1)
        self.progress = Progress(config, self.written)

    def line(self, waiting: int = 0) -> str:
        self.progress.show(1.0, waiting)
        return self.written.getvalue().splitlines()[-1]


@pytest.fixture(autouse=True)
def aloud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "relaxfuzz")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    return Told()


def test_findings_are_counted_without_suspects(told: Told) -> None:
    hits = [hit(text, index) for index, text in enumerate(("boom", "bang", "crack"))]
    told.progress.shard(shard(0, *hits), [each.signature.id for each in hits])
    told.progress.met([hit("aside", 9)])
    assert told.line(waiting=4).endswith("  4 findings (0 confirmed, 4 in triage)")
    states = (FindingState.CONFIRMED, FindingState.UNSCRIPTED, FindingState.FLAKY)
    for each, state in zip(hits, states, strict=True):
        told.progress.triaged(each.signature.id, state)
    assert told.line(waiting=1).endswith("  2 findings (1 confirmed, 2 suspect, 1 in triage)")


def test_suspects_of_a_session_before_take_no_finding_of_this_one_away(told: Told) -> None:
    new = hit("boom", 0)
    told.progress.shard(shard(0, new), [new.signature.id])
    told.progress.triaged("0123456789", FindingState.FLAKY)
    assert told.line().endswith("  1 finding (0 confirmed, 1 suspect, 0 in triage)")


def test_cases_of_sessions_before_are_counted_as_in_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    written = io.StringIO()
    told = Progress(Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1), written, before=1000)
    told.show(1.0, 0, judged=3)
    assert " (limit: 64 cases)  1003 cases, " in written.getvalue()


def test_a_terminal_is_redrawn_and_may_go_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(Progress, "interval", 0.0)
    told = False
    ours, theirs = pty.openpty()
    with contextlib.suppress(OSError), os.fdopen(theirs, "w") as terminal:  # what was not written is at the end
        shown = Progress(Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1), terminal)
        new = hit("[red]boom", 0)
        shown.shard(shard(0, new), [new.signature.id])
        shown.show(1.0, 0)
        shown.show(2.0, 0)
        shown.end()
        text = b"".join(iter(lambda: os.read(ours, 1 << 12) if select([ours], [], [], 0.2)[0] else b"", b"")).decode()
        assert f"finding {new.signature.id}: " in text
        assert "\x1b[1A" in text, "the second picture replaces the first"
        assert "\x1b[?25h" in text, "the cursor is back"
        os.close(ours)
        shown.show(3.0, 0)
        shown.met([new])
        shown.end()
        told = True
    assert told, "nothing was raised before the terminal was closed"


def test_what_goes_on_after_the_time_is_triage() -> None:
    config = Config(7, ("FuseOps",), (), (OracleName.CRASH,), None, 60.0, 1)
    told = Progress(config, io.StringIO())
    told.latest = 120.0
    assert [told._when(at) for at in (30.0, 90.0)] == [
        "0:30/1:00", "1:30, generated for 1:00, triage ends by 2:00"
    ]  # fmt: skip
    told.until = 20.0  # of a campaign that was interrupted, only triage goes on
    assert told._when(30.0) == "0:30, generated for 0:20, triage ends by 2:00"


def test_findings_of_sessions_before_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    written = io.StringIO()
    found = {"a": FindingState.NEW, "b": FindingState.CONFIRMED, "c": FindingState.FLAKY}
    told = Progress(Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1), written, found=found)
    told.triaged("a", FindingState.CONFIRMED)
    told.show(1.0, 0)
    assert written.getvalue().endswith("  2 findings (2 confirmed, 1 suspect, 0 in triage)\n")


@pytest.mark.parametrize(
    ("most", "seconds", "until", "before", "elapsed", "pace"),
    [
        (None, 60.0, 60.0, 615, 70.0, "2 of 3 triaged"),
        (None, 60.0, 60.0, 615, 50.0, "0/s"),
        (None, 60.0, 0.0, 615, 50.0, "2 of 3 triaged"),  # `minimize --all` of a campaign that was interrupted
        (64, None, None, 64, 1.0, "2 of 3 triaged"),
        (64, None, None, 63, 1.0, "0/s"),
    ],
)
def test_triage_alone_is_told_by_what_is_triaged(
    monkeypatch: pytest.MonkeyPatch,
    most: int | None,
    seconds: float | None,
    until: float | None,
    before: int,
    elapsed: float,
    pace: str,
) -> None:
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    written = io.StringIO()
    found = {"one": FindingState.CONFIRMED, "two": FindingState.NEW, "three": FindingState.NEW}
    config = Config(7, ("FuseOps",), (), (OracleName.CRASH,), most, seconds, None)
    told = Progress(config, written, before=before, found=found)
    told.until = until
    told.triaged("two", FindingState.FLAKY)
    told.show(elapsed, 1)
    assert f"  {before} cases, {pace}  " in written.getvalue()
