"""Regression first: what earlier campaigns found, and what the corpus knows, is judged again before anything is drawn.

Nothing is deleted: what no longer fails is closed as fixed, with the release of TVM that it no longer fails on, and a
later campaign that starts from this one goes on watching it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cases import Case
from fuzzer.records import FindingState

if TYPE_CHECKING:
    from fuzzer.config import Config
    from fuzzer.store import Store

GROUP = "relaxfuzz.regressions"
"""Entry-point group of collections of known cases.

Each is a function ``(passes, oracles)`` that takes the names under test and yields a mapping for each case that it has
judged, with the keys ``id``, ``oracle``, ``pass``, ``message``, ``state`` (a value of :class:`State`) and ``note``.
"""
SHARE = 0.1
"""Of a campaign's time, so much at most: what is not judged again then is said to be so."""


class State(str, enum.Enum):
    """What became of an earlier finding, or of a known case."""

    FAILS = "fails"  # as before
    CHANGED = "changed"  # fails, but otherwise than before
    FIXED = "fixed"  # no longer fails
    HOLDS = "holds"  # was fixed, and still is
    REGRESSED = "regressed"  # was fixed, and fails again
    UNDECIDED = "undecided"  # cannot be judged here, for a reason that the note gives
    WAITING = "waiting"  # the time was up

    def __str__(self) -> str:
        return self.value


CLOSED = frozenset({State.FIXED, State.HOLDS})
FAILING = frozenset({State.FAILS, State.REGRESSED})


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier finding or known case, and what became of it.

    Attributes:
        source: The campaign's directory as it was given, or the name of the collection.
        id: Id of its signature, or its name in the collection.
        signature: In one line; empty for a case of a collection.
        oracle: Who objected.
        culprit: Who was to blame.
        message: What was said of it.
        state: What became of it; of what is still to be judged, what was known before.
        fixed_in: Release of TVM that it was first seen not to fail on; empty while it fails.
        failed_on: Release that it was last seen to fail on.
        note: Why it is undecided; how it fails now.
        cases: What shows it, the smallest first; empty for a case of a collection.
        script: Its script, where there is one.
        bindings: Of the smallest case's module.
    """

    source: str
    id: str
    signature: str
    oracle: str
    culprit: str
    message: str
    state: State
    fixed_in: str = ""
    failed_on: str = ""
    note: str = ""
    cases: tuple[Case, ...] = ()
    script: str = ""
    bindings: int | None = None

    def to_object(self) -> dict[str, object]:
        """What ``relaxfuzz findings --earlier --json`` prints of it."""
        return {
            "id": self.id, "source": self.source, "oracle": self.oracle, "pass": self.culprit,
            "message": self.message, "state": self.state.value, "fixed_in": self.fixed_in,
            "failed_on": self.failed_on, "note": self.note,
        }  # fmt: skip


def campaigns_in(directory: Path) -> list[Path]:
    """The campaign in a directory, or the campaigns in its subdirectories, oldest first.

    Raises:
        fuzzer.store.StoreError: when there is none, or one cannot be read.
    """
    from fuzzer.store import FILE_NAME, Store, StoreError

    if (directory / FILE_NAME).is_file():
        return [directory]
    if not directory.is_dir():
        raise StoreError(f"--regress: '{directory}' is not a directory")
    begun = []
    for path in sorted(each.parent for each in directory.glob(f"*/{FILE_NAME}")):
        with Store.open(path) as store:
            begun.append((store.info().started_at, path))
    if not begun:
        raise StoreError(f"--regress: '{directory}' holds no campaign, and none of its directories does")
    return [path for _, path in sorted(begun)]


def gather(directories: Sequence[Path], own: Path | None = None) -> list[Earlier]:
    """What campaigns found and what they knew of earlier ones; of each finding what the latest campaign says.

    Args:
        directories: Each as for :func:`campaigns_in`.
        own: The campaign that is about to run, which is not its own past.

    Raises:
        fuzzer.store.StoreError: as of :func:`campaigns_in`.
    """
    from fuzzer.store import Store

    found: dict[str, Earlier] = {}
    for directory in directories:
        for path in campaigns_in(directory):
            if own is not None and path.resolve() == own.resolve():
                continue
            with Store.open(path) as store:
                for each in store.regressions():
                    if each.cases:  # cases of collections are judged by their own collection
                        found[each.id] = each
                found.update((each.id, each) for each in _found_by(store, str(path)))
    return sorted(found.values(), key=lambda each: (each.source, each.id))


def _found_by(store: Store, source: str) -> Iterator[Earlier]:
    version = store.info().tvm_version
    for each in store.findings():
        if each.state is FindingState.FLAKY:
            continue  # that it does not show once would say nothing
        script = "" if each.repro is None else str((store.directory / each.repro).resolve())
        cases = (each.case,) if each.minimized is None else (each.minimized, each.case)
        yield Earlier(
            source, each.id, each.signature, each.oracle, each.culprit, each.message, State.FAILS, "", version, "",
            cases, script, each.bindings,
        )  # fmt: skip


Replay = Callable[[Earlier], tuple[State, str]]
"""Judges one again: ``FAILS``, ``CHANGED``, ``FIXED`` or ``UNDECIDED``, and a note."""


def judged_again(earlier: Earlier, seen: State, note: str, version: str) -> Earlier:
    """What becomes of an earlier finding when it was seen to be so on a release of TVM."""
    closed = bool(earlier.fixed_in)  # whatever was said since, for instance that the time was up
    if seen is State.FIXED:
        state = State.HOLDS if closed else State.FIXED
        return replace(earlier, state=state, fixed_in=earlier.fixed_in or version, note=note)
    if seen is State.FAILS:
        was = f"was fixed in {earlier.fixed_in}" if closed else ""
        state = State.REGRESSED if closed else State.FAILS
        return replace(
            earlier, state=state, fixed_in="", failed_on=version, note="; ".join(part for part in (was, note) if part)
        )
    return replace(earlier, state=seen, note=note)


def replay_all(
    past: Iterable[Earlier], replay: Replay, version: str, workers: int, is_over: Callable[[], bool]
) -> Iterator[Earlier]:
    """Judge earlier findings again, several at a time; those whose turn has not come when time is up wait.

    Args:
        past: What is to be judged.
        replay: Judges one; called in several threads.
        version: Release of the installed TVM.
        workers: How many at a time.
        is_over: Says that time is up.
    """
    waiting = list(past)[::-1]
    running: dict[Future[tuple[State, str]], Earlier] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="relaxfuzz-regression") as threads:
        while waiting or running:
            while waiting and len(running) < workers and not is_over():
                each = waiting.pop()
                running[threads.submit(replay, each)] = each
            if not running:
                late = "the time was up"
                yield from (replace(each, state=State.WAITING, note=late) for each in waiting[::-1])
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield judged_again(running.pop(future), *future.result(), version)


def collections(config: Config) -> Iterator[tuple[str, Iterator[Mapping[str, str]]]]:
    """The collections of known cases that are installed, each with what it says of the passes under test."""
    oracles = tuple(str(name) for name in config.oracles)
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        yield entry.name, iter(entry.load()(config.passes, oracles))


def of_collection(source: str, said: Mapping[str, str], version: str) -> Earlier:
    """What a collection says of one of its cases."""
    state = State(said["state"])
    return Earlier(
        source, said["id"], "", said["oracle"], said["pass"], said["message"], state,
        version if state in CLOSED else "", version if state in FAILING else "", said["note"],
    )  # fmt: skip


def in_words(past: Sequence[Earlier]) -> str:
    """One line on all of them."""
    counts = [(sum(each.state is state for each in past), state) for state in State]
    parts = [f"{count} {_WORDS[state]}" for count, state in counts if count]
    return f"earlier findings and known cases: {', '.join(parts)}"


_WORDS = {
    State.FAILS: "still fail", State.CHANGED: "fail otherwise", State.FIXED: "fixed", State.HOLDS: "stay fixed",
    State.REGRESSED: "REGRESSED", State.UNDECIDED: "undecided", State.WAITING: "not judged again",
}  # fmt: skip
