"""Regression first: what earlier campaigns found, and what the corpus knows, is judged again before anything is drawn.

Nothing is deleted: what no longer fails is closed as fixed, with the release of TVM that it no longer fails on, and a
later campaign that starts from this one goes on watching it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path

from fuzzer.campaign.progress import Clock
from fuzzer.core.case import Case
from fuzzer.core.config import Config, ConfigError
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.minimizer.judge.judge import answered, judge_request
from fuzzer.repro.pristine import check_pristine
from fuzzer.store.door import SCRIPTS, read_script
from fuzzer.store.records import Earlier, EarlierState, FindingState
from fuzzer.store.trust import digest, require_script, require_trust
from fuzzer.store.writer import FILE_NAME, Store, StoreError
from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from oracles.core.verdict import Outcome, Verdict
from relaxkit.files import resolved
from relaxkit.passes.contract import OracleName

GROUP = "relaxfuzz.regressions"
"""Entry-point group of collections of known cases.

Each is a function ``(passes, oracles)`` that takes the names under test and yields a mapping for each case that it has
judged, with the keys ``id``, ``oracle``, ``pass``, ``message``, ``state`` (of :class:`EarlierState`) and ``note``.
"""
SHARE = 0.1
"""Of a campaign's time, so much at most: what is not judged again then is said to be so."""
OFF = "off"
LONG = 1800.0
"""Seconds from which on a campaign begins with the known cases unasked: they take minutes."""
LOG_NAME = "workers.log"

CLOSED = frozenset({EarlierState.FIXED, EarlierState.HOLDS})
FAILING = frozenset({EarlierState.FAILS, EarlierState.REGRESSED})
_ORDER = (EarlierState.FAILS, EarlierState.CHANGED, EarlierState.UNDECIDED, EarlierState.FIXED)
"""What several cases of one finding say: the first of these that one of them says."""
_WORDS = {
    EarlierState.FAILS: ("still fails", "still fail"),
    EarlierState.CHANGED: ("fails differently", "fail differently"),
    EarlierState.FIXED: ("fixed",) * 2,
    EarlierState.HOLDS: ("stays fixed", "stay fixed"),
    EarlierState.REGRESSED: ("REGRESSED",) * 2,
    EarlierState.UNDECIDED: ("undecided",) * 2,
    EarlierState.WAITING: ("not judged again",) * 2,
}
"""What is said of one, and of several."""

Replayed = tuple[EarlierState, str]
"""``FAILS``, ``CHANGED``, ``FIXED`` or ``UNDECIDED``, and a note."""


@dataclass(frozen=True, slots=True)
class EarlierCases:
    """The cases that a campaign begins with.

    Attributes:
        collections: Names of collections of known cases.
        found: Earlier findings.
        foreign: Whether some of them are trusted only because the user says so.
    """

    collections: tuple[str, ...] = ()
    found: tuple[Earlier, ...] = ()
    foreign: bool = False


def chosen(given: Sequence[str] | None, config: Config, directory: Path, trust: bool = False) -> EarlierCases:
    """Choose the cases that ``--regress`` means.

    Args:
        given: Its values; ``None`` without it.
        config: Of the campaign.
        directory: Its directory, which is not its own past.
        trust: Whether to judge what campaigns from elsewhere found.

    Raises:
        fuzzer.core.config.ConfigError: when ``off`` is not alone.
        fuzzer.store.database.StoreError: when a directory holds no campaign that can be read.
    """
    names = tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))
    if given is None:
        return EarlierCases(names if (config.seconds or 0.0) >= LONG else ())
    if OFF in given:
        if len(given) > 1:
            raise ConfigError("--regress off cannot be given with other values of --regress")
        return EarlierCases()
    places = [Path(each) for each in given if each not in names]
    collections = tuple(each for each in names if each in given)
    try:
        return EarlierCases(collections, tuple(gather(places, directory)))
    except StoreError:
        if not trust:
            raise
    return EarlierCases(collections, tuple(gather(places, directory, trust=True)), foreign=True)


def campaigns_in(directory: Path) -> list[Path]:
    """List the campaign in a directory, or the campaigns in its subdirectories, oldest first.

    Raises:
        fuzzer.store.database.StoreError: when there is none, or one cannot be read.
    """
    if (directory / FILE_NAME).is_file():
        return [directory]
    if not directory.is_dir():
        raise StoreError(f"--regress: '{directory}' is not a directory")
    begun = []
    for path in sorted(each.parent for each in directory.glob(f"*/{FILE_NAME}") if not each.parent.is_symlink()):
        with Store.open(path) as store:
            begun.append((store.info().started_at, path))
    if not begun:
        raise StoreError(f"--regress: '{directory}' contains no campaign, and neither do its subdirectories")
    return [path for _, path in sorted(begun)]


def gather(directories: Sequence[Path], own: Path | None = None, trust: bool = False) -> list[Earlier]:
    """Gather what campaigns found and knew of earlier ones; of each finding what the latest campaign says.

    Args:
        directories: Each as for :func:`campaigns_in`.
        own: The campaign that is about to run, which is not its own past.
        trust: As of :func:`chosen`.

    Raises:
        fuzzer.store.database.StoreError: as of :func:`campaigns_in`.
    """
    found: dict[str, Earlier] = {}
    for path in (each for directory in directories for each in campaigns_in(directory)):
        if own is not None and resolved(path) == resolved(own):
            continue
        with Store.open(path) as store:
            require_trust(store, trust)
            # Cases of collections, which are none of the store's, are judged by their own collection.
            found.update((each.id, each) for each in store.regressions() if each.cases)
            found.update((each.id, each) for each in _found_by(store, str(path)))
    places = [resolved(each) for each in directories]
    for each in list(found.values()):
        if trust and not any(resolved(Path(each.script)).is_relative_to(place) for place in places):
            found[each.id] = replace(each, script="")  # nobody who looked into the directories has seen it
        elif (text := _script(each)) and not trust:
            require_script(Path(each.script), text, each.parts)
        elif text and each.parts is not None:  # what the user has seen is what they trust
            found[each.id] = replace(each, parts=replace(each.parts, digest=digest(text)))
    return sorted(found.values(), key=lambda each: (each.source, each.id))


def _found_by(store: Store, source: str) -> Iterator[Earlier]:
    version = store.info().tvm_version
    for each in store.findings():
        if each.state is FindingState.FLAKY:
            continue  # that it does not show once would say nothing
        yield Earlier(
            source, each.id, each.signature, each.oracle, each.culprit, each.message, EarlierState.FAILS,
            failed_on=version, cases=(each.case,) if each.minimized is None else (each.minimized, each.case),
            script="" if each.repro is None else str(store.directory.resolve() / each.repro), bindings=each.bindings,
            at_work=each.evidence.details.oracle, ending=None if each.parts is None else each.parts.ending,
            parts=each.parts, traits=each.traits, assessed=each.assessed,
        )  # fmt: skip


def regress_first(
    store: Store,
    config: Config,
    past: EarlierCases,
    version: str,
    tell: Callable[[str], None],
    on_signals: Callable[[Callable[[], None]], Callable[[], None]],
) -> tuple[bool, Exception | None]:
    """Judge again what is not yet judged, record it, and say what came of it.

    Args:
        store: Of the campaign, opened for writing; its time goes on meanwhile.
        config: Of the campaign.
        past: What to begin with.
        version: Release of the installed TVM.
        tell: Is given lines for the user.
        on_signals: Lets Ctrl-C call a function instead; returns the way back.

    Returns:
        Whether a signal ended it, and the error that made recording impossible, if one did.
    """
    before = store.regressions()
    if not past.collections and not past.found:
        return False, None
    stop = threading.Event()
    restore = on_signals(stop.set)
    try:
        clock = Clock(store.info().elapsed_seconds)
        most = None if config.seconds is None else clock.elapsed() + SHARE * config.seconds

        def is_over() -> bool:
            return stop.is_set() or (most is not None and clock.elapsed() >= most)

        judged = _judge_findings(store, config, past.found, before, version, is_over)
        sources = {each.source for each in before}
        known = _judge_collections(config, set(past.collections) - sources, version, is_over)
        for each in chain(judged, known):  # each is recorded as soon as it is judged
            store.save_regression(each)
            if each.state is EarlierState.REGRESSED:
                tell(f"REGRESSED: {each.id} ({each.source}): {each.oracle}: {each.culprit}: {each.note}")
        store.set_meta(elapsed=f"{clock.elapsed():.3f}")
        tell(f"{in_words(store.regressions())}; `relaxfuzz findings DIR --earlier` lists them")
    except StoreError as error:
        return stop.is_set(), error
    finally:
        restore()
    return stop.is_set(), None


def _judge_findings(
    store: Store,
    config: Config,
    found: Iterable[Earlier],
    before: Iterable[Earlier],
    version: str,
    is_over: Callable[[], bool],
) -> Iterator[Earlier]:
    """Judge what no earlier session has judged, and give each result as soon as it is known."""
    judged = {(each.source, each.id) for each in before if each.state is not EarlierState.WAITING}
    names, oracles = set(config.names()), {name.value for name in config.oracles}
    here = []
    for each in found:
        if (each.source, each.id) in judged:
            continue
        if each.oracle in oracles and all(ref.name in names for case in each.cases for ref in case.passes):
            here.append(each)
        else:
            yield replace(each, state=EarlierState.UNDECIDED, note="not under test in this campaign")

    def new_worker() -> IsolatedWorker:
        log = store.directory / LOG_NAME
        return IsolatedWorker(time_limit=config.case_timeout, memory_limit=config.memory_limit, log=log)

    yield from replay_all(here, lambda earlier: replay(earlier, new_worker), version, config.workers, is_over)


def _judge_collections(config: Config, names: set[str], version: str, is_over: Callable[[], bool]) -> Iterator[Earlier]:
    """Judge the cases of the collections of these names, until time is up in each."""
    oracles = tuple(str(name) for name in config.oracles)
    for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        for row in entry.load()(config.passes, oracles) if entry.name in names else ():
            yield _of_collection(entry.name, row, version)
            if is_over():
                break


def _of_collection(source: str, row: Mapping[str, str], version: str) -> Earlier:
    state = EarlierState(row["state"])
    return Earlier(
        source, row["id"], "", row["oracle"], row["pass"], row["message"], state,
        version if state in CLOSED else "", version if state in FAILING else "", row["note"],
    )  # fmt: skip


def replay_all(
    past: Iterable[Earlier],
    replay: Callable[[Earlier], Replayed],
    version: str,
    workers: int,
    is_over: Callable[[], bool],
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
    running: dict[Future[Replayed], Earlier] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="relaxfuzz-regression") as threads:
        while waiting or running:
            while waiting and len(running) < workers and not is_over():
                each = waiting.pop()
                running[threads.submit(replay, each)] = each
            if not running:
                late = "time ran out"
                yield from (replace(each, state=EarlierState.WAITING, note=late) for each in waiting[::-1])
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield judged_again(running.pop(future), *future.result(), version)


def judged_again(earlier: Earlier, seen: EarlierState, note: str, version: str) -> Earlier:
    """Say what becomes of an earlier finding that was seen so on a release of TVM."""
    closed = bool(earlier.fixed_in)  # whatever was said since, for instance that the time was up
    if seen is EarlierState.FIXED:
        state = EarlierState.HOLDS if closed else EarlierState.FIXED
        return replace(earlier, state=state, fixed_in=earlier.fixed_in or version, note=note)
    if seen is EarlierState.FAILS:
        was = f"was fixed in {earlier.fixed_in}" if closed else ""
        state = EarlierState.REGRESSED if closed else EarlierState.FAILS
        return replace(earlier, state=state, fixed_in="", failed_on=version, note="; ".join(filter(None, (was, note))))
    return replace(earlier, state=seen, note=note)


def replay(earlier: Earlier, new_worker: Callable[[], IsolatedWorker]) -> Replayed:
    """Judge an earlier finding again, each case in a fresh process of the campaign's limits.

    It is fixed only where no case of it fails and the oracle has judged each; a case that the installed release
    cannot load is left to the script, which is made to run on several.
    """
    seen = [_replay_case(earlier, case, new_worker) for case in earlier.cases]
    state, note = min(seen, key=lambda each: _ORDER.index(each[0]), default=(EarlierState.UNDECIDED, "no stored case"))
    if state is EarlierState.UNDECIDED and earlier.script:
        return _run_script(earlier, note)
    return state, note


def _replay_case(earlier: Earlier, case: Case, new_worker: Callable[[], IsolatedWorker]) -> Replayed:
    own = OracleName(earlier.oracle)
    oracles = tuple(dict.fromkeys((own, earlier.at_work or own)))  # of a death those up to where the process died
    with new_worker() as worker:
        try:
            answer = worker.call(answered, (judge_request, (case, oracles)))
        except ChildError as error:
            last = (str(error).strip().splitlines() or ["?"])[-1]
            return EarlierState.UNDECIDED, f"the case cannot be run on this release: {last[:200]}"
    return _compare(earlier, [death_verdict(answer, case.name)] if isinstance(answer, Died) else answer)


def _compare(earlier: Earlier, verdicts: list[Verdict]) -> Replayed:
    failed = [signature(verdict) for verdict in verdicts if verdict.outcome is Outcome.FAIL]
    if any(earlier.id in each.ids for each in failed):
        return EarlierState.FAILS, ""
    if failed:
        return EarlierState.CHANGED, f"fails differently: {failed[0].text[:200]}"
    own = [verdict for verdict in verdicts if verdict.oracle.value == earlier.oracle]
    silent = [verdict for verdict in own if verdict.outcome not in (Outcome.PASS, Outcome.REJECT)]
    if silent or not own:
        return EarlierState.UNDECIDED, f"not judged: {silent[0].reason if silent else 'the oracle gave no verdict'}"
    return EarlierState.FIXED, ""


def _script(earlier: Earlier) -> str:
    """Read the script of an earlier finding; empty where it has none, or it is gone."""
    path = Path(earlier.script)
    try:
        return read_script(path.parent.parent, f"{SCRIPTS}/{path.name}") if earlier.script else ""
    except StoreError:
        return ""


def _run_script(earlier: Earlier, note: str) -> Replayed:
    if not (text := _script(earlier)):
        return EarlierState.UNDECIDED, f"{note}; its script is gone"
    if earlier.parts is not None and earlier.parts.digest != digest(text):
        return EarlierState.UNDECIDED, f"{note}; its script was changed after this campaign began"
    result = check_pristine(text, earlier.ending)
    if result.confirmed:
        return EarlierState.FAILS, "by its script"
    if result.exit_code == 0:
        return EarlierState.FIXED, "by its script"
    return EarlierState.UNDECIDED, f"{note}; its script ended with {result.exit_code}"


def in_words(past: Sequence[Earlier]) -> str:
    """Sum up all of them in one line."""
    counts = [(sum(each.state is state for each in past), state) for state in EarlierState]
    parts = [f"{count} {_WORDS[state][count != 1]}" for count, state in counts if count]
    return f"earlier findings and known cases: {', '.join(parts)}"
