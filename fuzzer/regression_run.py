"""The beginning of a campaign: which earlier findings and known cases are judged again, and how that is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.clock import Clock
from fuzzer.config import Config, ConfigError
from fuzzer.isolation import IsolatedWorker
from fuzzer.regression import GROUP, SHARE, Earlier, State, collections, gather, in_words, of_collection, replay_all
from fuzzer.regression_replay import Replayer
from fuzzer.store_file import StoreError

if TYPE_CHECKING:
    from fuzzer.store import Store

OFF = "off"
LONG = 1800.0
"""Seconds from which on a campaign begins with the known cases unasked: they take minutes."""
LOG_NAME = "workers.log"


@dataclass(frozen=True, slots=True)
class Past:
    """What a campaign begins with.

    Attributes:
        collections: Names of collections of known cases.
        found: Earlier findings.
    """

    collections: tuple[str, ...] = ()
    found: tuple[Earlier, ...] = ()


def chosen(given: Sequence[str] | None, config: Config, directory: Path) -> Past:
    """What ``--regress`` means.

    Args:
        given: Its values; ``None`` without it.
        config: Of the campaign.
        directory: Its directory, which is not its own past.

    Raises:
        fuzzer.config.ConfigError: when ``off`` is not alone.
        fuzzer.store_file.StoreError: when a directory holds no campaign that can be read.
    """
    names = tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))
    if given is None:
        return Past(names if (config.seconds or 0.0) >= LONG else ())
    if OFF in given:
        if len(given) > 1:
            raise ConfigError("--regress off cannot be given with other values of --regress")
        return Past()
    places = [Path(each) for each in given if each not in names]
    return Past(tuple(each for each in names if each in given), tuple(gather(places, directory)))


def regress_first(
    store: Store,
    config: Config,
    past: Past,
    version: str,
    tell: Callable[[str], None],
    on_signals: Callable[[Callable[[], None]], Callable[[], None]],
) -> Exception | None:
    """Judge again what is not yet judged, record it, and say what came of it.

    Args:
        store: Of the campaign, opened for writing; its time goes on meanwhile.
        config: Of the campaign.
        past: What to begin with.
        version: Release of the installed TVM.
        tell: Is given lines for the user.
        on_signals: Lets Ctrl-C call a function instead; returns the way back.

    Returns:
        The error that made recording impossible, if one did.
    """
    before = {(each.source, each.id): each for each in store.regressions()}
    if not past.collections and not past.found:
        return None
    stop = threading.Event()
    restore = on_signals(stop.set)
    try:
        clock = Clock(store.info().elapsed_seconds)
        most = None if config.seconds is None else clock.elapsed() + SHARE * config.seconds

        def is_over() -> bool:
            return stop.is_set() or (most is not None and clock.elapsed() >= most)

        for each in _judged(store, config, past, before, version, is_over):
            store.save_regression(each)
            if each.state is State.REGRESSED:
                tell(f"REGRESSED: {each.id} ({each.source}): {each.oracle}: {each.culprit}: {each.note}")
        store.set_meta(elapsed=f"{clock.elapsed():.3f}")
        tell(f"{in_words(store.regressions())}; `relaxfuzz findings DIR --earlier` lists them")
    except StoreError as error:
        return error
    finally:
        restore()
    return None


def _judged(
    store: Store,
    config: Config,
    past: Past,
    before: Mapping[tuple[str, str], Earlier],
    version: str,
    is_over: Callable[[], bool],
) -> Iterator[Earlier]:
    """What came of each, as soon as it is known; what an earlier session has judged is left out."""

    def open_(earlier: Earlier) -> bool:
        known = before.get((earlier.source, earlier.id))
        return known is None or known.state is State.WAITING

    found = [each for each in past.found if open_(each)]
    names, oracles = set(config.names()), {name.value for name in config.oracles}
    here = [each for each in found if _concerns(each, names, oracles)]
    for each in found:
        if each not in here:
            yield replace(each, state=State.UNDECIDED, note="not under test in this campaign")

    def worker() -> IsolatedWorker:
        log = store.directory / LOG_NAME
        return IsolatedWorker(time_limit=config.case_timeout, memory_limit=config.memory_limit, log=log)

    yield from replay_all(here, Replayer(worker), version, config.workers, is_over)
    judged = {source for source, _ in before}
    for source, cases in collections(config) if past.collections else ():
        if source in past.collections and source not in judged:
            yield from _of_collection(source, cases, version, is_over)


def _concerns(earlier: Earlier, names: set[str], oracles: set[str]) -> bool:
    return earlier.oracle in oracles and all(ref.name in names for case in earlier.cases for ref in case.passes)


def _of_collection(
    source: str, cases: Iterable[Mapping[str, str]], version: str, is_over: Callable[[], bool]
) -> Iterator[Earlier]:
    for said in cases:
        yield of_collection(source, said, version)
        if is_over():
            return
