"""Preparing a campaign: options to configuration, the user's passes tried out, the directory opened."""

from __future__ import annotations

import json
import os
import random
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from fuzzer.core.config import (
    MAX_WORKERS,
    Config,
    ConfigError,
    absolute_target,
    parse_duration,
    parse_operators,
    parse_oracles,
    parse_passes,
    parse_size,
    parse_switch,
    parse_whole,
    read_config,
    user_pass,
)
from fuzzer.core.installed import Versions
from fuzzer.core.text import first_line
from fuzzer.findings.file import Decisions, KnownFindings, load_decisions, load_known
from fuzzer.shard.guidance import Guide
from fuzzer.shard.reached import probe as probe_blocks
from fuzzer.store.reader import StoreReader
from fuzzer.store.trust import require_trust
from fuzzer.store.writer import FILE_NAME, Store
from fuzzer.worker.death import Died
from fuzzer.worker.worker import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT, IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef, sources, split_target
from relaxkit.passes.plugins import require

DEFAULT_SECONDS = 600.0
"""Of a campaign that is given no budget."""
SOURCE = "auto"
"""The value of ``operators`` that stands for those that the source of the user's passes names."""
PROBE_MODULES = 10
_PROBE_SECONDS = 60.0  # for importing and building a user's pass, which may load a library of its own
_Tried = str | set[tuple[str, str]]
"""Why a thing of the user's cannot be used, or its files."""
NO_DASK = "--coverage works only for processes on this machine, so not with --dask"
_TABLE_SECONDS = 600.0  # for the table of blocks, once for each wheel
_EITHER = (("time", "max-examples"), ("workers", "dask"))
"""Options that say the same thing in two ways."""
_TESTED = ("pass", "passes")
"""What is tested: on the command line it replaces all that a file says of it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A campaign's store, ready to be written.

    Attributes:
        store: The store.
        resumed: Whether the campaign was there already.
        config: What holds: as it was given, and watched as it began.
    """

    store: Store
    resumed: bool
    config: Config


def merged(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line over those of the file that ``config`` names, by the command line's names.

    Raises:
        ConfigError: when the file cannot be used, or two options that exclude each other are given in one place.
    """
    typed = {name.replace("_", "-"): value for name, value in options.items() if value is not None}
    path = typed.pop("config", None)
    written = {} if path is None else dict(read_config(Path(path)))
    for pair in _EITHER:
        for place in (typed, written):
            if all(name in place for name in pair):
                raise ConfigError(f"give --{pair[0]} or --{pair[1]}, not both")
        if any(name in typed for name in pair):  # another budget than the file's, or other workers
            written = {name: value for name, value in written.items() if name not in pair}
    if any(name in typed for name in _TESTED):
        written = {name: value for name, value in written.items() if name not in _TESTED}
    return {**written, **typed}


def configure(given: Mapping[str, Any]) -> Config:
    """The configuration that merged options mean; the user's passes are tried out in a process of their own.

    Raises:
        ConfigError: when something in it cannot be used.
    """
    drawn = random.SystemRandom().randrange(10**6)
    seed = parse_whole(given["seed"], "--seed", 0, 2**63 - 1) if "seed" in given else drawn
    examples = parse_whole(given["max-examples"], "--max-examples", 1, 10**12) if "max-examples" in given else None
    seconds = parse_duration(given["time"]) if "time" in given else None if examples is not None else DEFAULT_SECONDS
    workers = parse_whole(given["workers"], "--workers", 1, MAX_WORKERS) if "workers" in given else cores()
    plugins = require(given.get("plugin", ()))
    users = _distinct([*(user_pass(target) for target in given.get("pass", ())), *plugins.passes])
    names: tuple[str, ...] = ()
    if "passes" in given:
        names = parse_passes(given["passes"], pass_names())
    elif not users:
        names = pass_names()
    named = given.get("operators") == SOURCE
    place, digest = seed_collection(given["seeds"]) if "seeds" in given else ("", "")
    config = Config(
        seed=seed,
        passes=names,
        user_passes=users,
        oracles=parse_oracles(given["oracles"]) if "oracles" in given else tuple(OracleName),
        max_examples=examples,
        seconds=seconds,
        workers=workers,
        case_timeout=parse_duration(given["case-timeout"]) if "case-timeout" in given else DEFAULT_TIME_LIMIT,
        memory_limit=parse_size(given["memory-limit"]) if "memory-limit" in given else DEFAULT_MEMORY_LIMIT,
        seeds=place,
        seeds_digest=digest,
        plugins=plugins.targets,
        shares=parse_switch(given.get("shares", "on"), "--shares"),
        operators=() if named else parse_operators(given.get("operators", "")),
        plants=tuple(dict.fromkeys(absolute_target(target, "--plant") for target in given.get("plant", ()))),
        guide=parse_switch(given.get("guide", "off"), "--guide"),
    )
    if parse_switch(given.get("coverage", "off"), "--coverage"):
        if "dask" in given:
            raise ConfigError(NO_DASK)
        config = replace(config, coverage=watched_build())
    elif config.guide:
        raise ConfigError("--guide on needs --coverage")
    code = [sources(place) for place in plugins.places] + [try_pass(ref) for ref in users]
    code += [_tried(probe_plant, target, "--plant", target) for target in config.plants]
    return replace(
        config, code=tuple(sorted(set().union(*code))), operators=_named_by(users) if named else config.operators
    )


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def pass_names() -> tuple[str, ...]:
    """Names of the passes and stock pipelines that are under contract and can be drawn."""
    from relaxkit.passes.contracts import CONTRACTS
    from strategies.pass_arguments.table import PASS_ROWS

    return tuple(name for name in CONTRACTS if name in PASS_ROWS)


def seed_collection(text: str) -> tuple[str, str]:
    """Absolute directory and content hash of a seed collection; raises ``ConfigError`` when it cannot be used."""
    from strategies.seeds.collection import find_seeds
    from strategies.seeds.file import SeedFileError

    try:
        found = find_seeds(Path(text))
    except SeedFileError as error:
        raise ConfigError(f"--seeds: {error}") from error
    return found.directory, found.digest


def known_findings(given: Mapping[str, Any]) -> KnownFindings:
    """The findings listed in the file of option ``known``; raises ``UsageError``."""
    return load_known(Path(given["known"])) if "known" in given else KnownFindings()


def decisions(given: Mapping[str, Any]) -> Decisions:
    """The decisions on families in the file of option ``triage``; raises ``UsageError``."""
    return load_decisions(Path(given["triage"]) if "triage" in given else None)


def try_pass(ref: PassRef) -> set[tuple[str, str]]:
    """Build a pass in a process of its own and hash its files; raises ``ConfigError`` when it cannot be used."""
    return _tried(probe, ref, "--pass", ref.target)


def try_modules(ref: PassRef) -> str:
    """Run a pass on a few modules in a process of its own, and return how it fails there."""
    with IsolatedWorker(time_limit=_PROBE_SECONDS) as worker:
        answer = worker.call(probe_modules, ref)
    return f"it ended the process: {answer.detail}" if isinstance(answer, Died) else answer


def _named_by(refs: tuple[PassRef, ...]) -> tuple[tuple[str, int], ...]:
    """Return the operators that the source of passes names, read in a process of its own, which imports them."""
    with IsolatedWorker(time_limit=_PROBE_SECONDS) as worker:
        answer = worker.call(probe_operators, refs)
    if isinstance(answer, Died):
        raise ConfigError(f"--operators {SOURCE}: importing a pass ended the process: {answer.detail}")
    return answer


def _tried(probe: Callable[[Any], _Tried], what: object, option: str, target: str) -> set[tuple[str, str]]:
    with IsolatedWorker(time_limit=_PROBE_SECONDS) as worker:
        answer = worker.call(probe, what)
    if isinstance(answer, Died):
        raise ConfigError(f"{option} '{target}': importing or building it ended the process: {answer.detail}")
    if isinstance(answer, str):
        raise ConfigError(f"{option} {answer}")
    return answer


def probe(ref: PassRef) -> _Tried:
    """Runs in a worker: why a pass cannot be built or its contract not be had, or else its files."""
    from relaxkit.passes.contracts import contract_for

    def use() -> None:
        ref.build()
        contract_for(ref)

    return _probed(use, ref.target, ref.place if ref.is_user else "")


def probe_plant(target: str) -> _Tried:
    """Runs in a worker: why code cannot be planted, or else its files."""
    from strategies.fragment import fragment_at

    return _probed(lambda: fragment_at(target).try_out(), target, split_target(target)[0])


def probe_operators(refs: tuple[PassRef, ...]) -> tuple[tuple[str, int], ...]:
    """Runs in a worker: the operators that the source of passes names, with their weights."""
    from strategies.source_operators import source_operators

    return tuple(sorted({pair for ref in refs if ref.is_user for pair in source_operators(ref.target).weights.items()}))


def probe_modules(ref: PassRef) -> str:
    """Runs in a worker: how a pass fails on one of a few modules that suit it; empty where it does on none."""
    from oracles import Outcome, Subject, judge
    from strategies import ir_modules
    from strategies.scope.from_bytes import draw_and_bytes

    strategy = ir_modules(operators=ref.target)
    for number in range(PROBE_MODULES):
        drawn = draw_and_bytes(strategy, random.Random(number).randbytes(1 << 14))
        for verdict in judge(Subject(drawn[0], [ref]), [OracleName.CRASH]) if drawn is not None else ():
            if verdict.outcome is Outcome.FAIL:
                where = "".join(f" ({each})" for each in verdict.shown.details.raised_at[-1:])
                return f"{verdict.shown.kind}: {first_line(verdict.shown.message)}{where}"
    return ""


def _probed(use: Callable[[], None], target: str, place: str) -> _Tried:
    try:
        use()
        return sources(place) if place else set()
    except ValueError as error:
        return str(error)
    except BaseException as error:  # SystemExit, too: the user's code may do anything
        return f"'{target}' raised {''.join(traceback.format_exception_only(error)).strip()}"


def watched_build() -> str:
    """Return the build id of TVM's compiler, whose blocks can be watched; raises ``ConfigError`` where they cannot."""
    with IsolatedWorker(time_limit=_TABLE_SECONDS) as worker:
        answer = worker.call(probe_blocks, None)
    build, fault = ("", f"breakpoints end the process: {answer.detail}") if isinstance(answer, Died) else answer
    if fault:
        raise ConfigError(f"--coverage is not available: {fault}")
    return build


def guide_of(store: StoreReader, config: Config) -> Guide | None:
    """Return what guides a campaign, after all that is recorded of it; ``None`` where nothing does."""
    return Guide(config, store.entered()) if config.guide else None


def open_campaign(directory: Path, config: Config, versions: Versions, trust: bool = False) -> Opened:
    """Resume the campaign in ``directory``, wherever it is from where there is ``trust``, or begin one there.

    Raises:
        ConfigError: when there is another campaign.
        fuzzer.store.writer.StoreError: when the directory or the database in it cannot be used.
    """
    if not os.path.lexists(directory / FILE_NAME):
        return Opened(Store.create(directory, _facts(config, versions)), False, config)
    begun = ""

    def admit(store: StoreReader) -> None:
        nonlocal begun
        if complaint := _complaint(meta := store.meta(), directory, config, versions):
            raise ConfigError(complaint)
        require_trust(store, trust)
        begun = Config.from_json(meta["config"]).coverage if "config" in meta else ""
        if config.coverage not in ("", begun):
            raise ConfigError(f"'{directory}' was started without --coverage or on another build; use another --out")
        if begun and not config.coverage and watched_build() != begun:
            raise ConfigError(f"'{directory}' covers another build of TVM's compiler; use another --out")

    return Opened(Store.open(directory, read_only=False, admit=admit), True, replace(config, coverage=begun))


def _complaint(meta: Mapping[str, str], directory: Path, config: Config, versions: Versions) -> str:
    """Say why a campaign cannot be resumed; empty where it can."""
    if "merged" in meta:
        return f"'{directory}' was merged from others (`relaxfuzz merge`) and cannot be resumed; use another --out"
    if meta.get("identity") != config.identity:
        return f"'{directory}' contains another campaign ({_difference(meta, config)}); use another --out"
    if changed := _changed(meta, config):
        return f"{changed} has changed since the campaign in '{directory}' started; use another --out"
    if (meta.get("tvm_version"), meta.get("ffi_version")) != (versions.tvm, versions.ffi):
        return (
            f"'{directory}' contains a campaign on TVM {meta.get('tvm_version')} with ffi {meta.get('ffi_version')}, "
            f"but {versions.tvm} and {versions.ffi} are installed; use another --out"
        )
    return ""


def _changed(meta: Mapping[str, str], config: Config) -> str:
    """Name a file of the user's that is not what the campaign began with; empty where none is, or none was noted."""
    before = Config.from_json(meta["config"]).code if "config" in meta else ()
    return min((name for name, _ in set(before) ^ set(config.code)), default="") if before else ""


def _facts(config: Config, versions: Versions) -> dict[str, str]:
    return {
        "seed": str(config.seed), "passes": json.dumps(config.names()), "workers": str(config.workers),
        "oracles": json.dumps([name.value for name in config.oracles]), "budget": config.budget_text,
        "identity": config.identity, "config": config.to_json(), "tvm_version": versions.tvm,
        "ffi_version": versions.ffi, "relaxfuzz_version": metadata.version("relaxfuzz"),
    }  # fmt: skip


def _difference(meta: Mapping[str, str], config: Config) -> str:
    if meta.get("seed") != str(config.seed):
        return f"with seed {meta.get('seed')}, not {config.seed}"
    if json.loads(meta["passes"]) != list(config.names()):
        return "with other passes"
    if json.loads(meta["oracles"]) != [name.value for name in config.oracles]:
        return "with other oracles"
    stored = Config.from_json(meta["config"]) if "config" in meta else config
    if stored.shares != config.shares:
        return f"with shares {'on' if stored.shares else 'off'}"
    if (digest := stored.seeds_digest) != config.seeds_digest:
        return f"with {_seeds_text(digest)}, not {_seeds_text(config.seeds_digest)}"
    if stored.guide != config.guide:
        return f"with guide {'on' if stored.guide else 'off'}"
    if stored.operators != config.operators:
        return "with other weights of operators"
    if stored.plants != config.plants:
        return "with other planted code"
    return "with other passes of your own"


def _seeds_text(digest: str) -> str:
    return f"seeds {digest}" if digest else "no seeds"


def _distinct(refs: list[PassRef]) -> tuple[PassRef, ...]:
    """The passes with names that tell them apart: two files may name their factories alike."""
    distinct: dict[str, PassRef] = {}
    for ref in dict.fromkeys(refs):
        name, number = ref.name, 2
        while name in distinct:
            name, number = f"{ref.name}_{number}", number + 1
        distinct[name] = replace(ref, name=name)
    return tuple(distinct.values())
