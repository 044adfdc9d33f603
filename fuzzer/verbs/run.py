"""``relaxfuzz run``: a campaign."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.campaign import Campaign
    from fuzzer.config import Config
    from fuzzer.scaleout.crew import Muster
    from fuzzer.store import Store

SUMMARY = "relaxfuzz.summary"
"""Entry-point group of what prints the closing summary: ``summarize(directory, stream, as_json)``."""

_OPTIONS = (
    ("passes", "NAME,NAME", "TVM's passes to test (default: all under contract; see `relaxfuzz passes`)"),
    ("oracles", "NAME,NAME", "oracles that judge (default: all)"),
    ("max-examples", "N", "stop after N cases; a case is one module under one pass or pipeline"),
    ("time", "TIME", "stop after 90s, 30m, 8h, 1h30m (default: 10m)"),
    ("seed", "N", "decides everything that is drawn (default: drawn, and printed)"),
    ("workers", "N", "processes at work at the same time (default: one a core)"),
    (
        "dask",
        "ADDRESS",
        "let a Dask cluster's workers do it: the scheduler's address, its scheduler file (.json), or local:N",
    ),
    ("out", "DIR", "the campaign's directory; a campaign that is there already is resumed (default: campaign-SEED)"),
    ("case-timeout", "TIME", "time limit of one case (default: 20s)"),
    ("memory-limit", "SIZE", "memory limit of one worker (default: 3GiB)"),
    ("guidance", "on|off", "draw near modules that did something new, and what promises most (default: off)"),
    ("budget", "even|yield", "divide the cases over the passes evenly, or by what each still yields (default: even)"),
    (
        "seeds",
        "DIR",
        "a seed collection that a share of the modules is drawn from (`relaxfuzz corpus import` makes one)",
    ),
    ("known", "FILE", "findings that are known already: a file of [[known]] tables"),
    ("triage", "FILE", "decisions on families of findings (default: triage.toml, where there is one)"),
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, metavar, text in _OPTIONS:
        parser.add_argument(f"--{name}", metavar=metavar, help=text)
    parser.add_argument(
        "--pass",
        action="append",
        metavar="FILE.py:FACTORY",
        help="a pass of yours: a function without arguments that returns a tvm.ir.transform.Pass, in a file or as "
        "package.module:FACTORY; repeatable; without --passes only these are tested",
    )
    parser.add_argument(
        "--regress",
        action="append",
        metavar="DIR|corpus|off",
        help="begin with what an earlier campaign found, or all campaigns in a directory, or with the known cases of "
        "the corpus; repeatable (default: corpus, where the campaign has half an hour or more)",
    )
    parser.add_argument(
        "--plugin",
        action="append",
        metavar="MODULE",
        help="a plugin with passes, contracts, oracles or strategies: the name of one that is installed, a module, or "
        "FILE.py; repeatable (docs/plugins.md)",
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="a TOML file with these options as keys")
    parser.add_argument("--json", action="store_true", help="print the closing summary as one JSON object")


def _run(options: argparse.Namespace) -> int:
    from fuzzer import scratch
    from fuzzer.campaign import Campaign
    from fuzzer.config import ConfigError
    from fuzzer.environment import NO_COMPILER, compiler, installed, untested
    from fuzzer.preparation import configure, decisions, known_findings, merged, open_campaign
    from fuzzer.progress import Progress
    from fuzzer.regression_run import chosen, regress_first
    from fuzzer.store import StoreError
    from releases.gaps import lines as gap_lines

    scratch.claim()
    versions = installed()
    with contextlib.ExitStack() as held:
        try:
            given = merged(vars(options))
            config = configure(given)
            known, decided = known_findings(given), decisions(given)
            directory = Path(str(given.get("out") or f"campaign-{config.seed}"))
            workers, muster = _crew(given, config, held)
            past = chosen(given.get("regress"), config, directory)
            opened = open_campaign(directory, config, versions)
        except (ConfigError, StoreError) as error:
            raise UsageError(str(error)) from error
        store = held.enter_context(opened.store)
        _announce(replace(config, workers=workers), store, directory, opened.resumed)
        if compiler() is None:
            _tell(NO_COMPILER)
        for line in (untested(versions), *gap_lines(), *_lacking()):
            if line:
                _tell(line)
        fault = regress_first(store, config, past, versions.tvm, _tell, _on_signals)
        if fault is None:
            campaign = Campaign(store, config, Progress(config), known, decided, muster)
            fault = _until_done(campaign)
    _summarize(directory, options.json)
    if fault is not None:
        raise UsageError(str(fault))
    return OK


def _crew(given: dict[str, Any], config: Config, held: contextlib.ExitStack) -> tuple[int, Muster | None]:
    """How many are there to work, and who they are where it is not this machine's own processes.

    Raises:
        fuzzer.config.ConfigError: when they cannot be reached.
    """
    if "dask" not in given:
        return config.workers, None
    from fuzzer.scaleout.dask_link import Link

    link = held.enter_context(Link(str(given["dask"]), _tell))
    from fuzzer.scaleout.dask_crew import muster

    return sum(link.threads.values()), muster(link)


def _lacking() -> list[str]:
    """What the installed TVM lacks of the tables, one line each."""
    from strategies.operators import LACKING as OPERATORS
    from strategies.pass_table import LACKING as PASSES

    return [f"skipped: {name}: {reason}" for name, reason in (PASSES | OPERATORS).items()]


def _until_done(campaign: Campaign) -> Exception | None:
    """Run the campaign; the error that made recording impossible, if one did."""
    from fuzzer.scaleout.crew import CrewError
    from fuzzer.store import StoreError

    restore = _on_signals(campaign.stop)
    try:
        if campaign.run() == "interrupted":
            _tell("interrupted; the same command resumes it")
    except (CrewError, StoreError) as error:
        return error
    finally:
        restore()
    return None


def _on_signals(stop: Callable[[], None]) -> Callable[[], None]:
    """Let the first Ctrl-C or SIGTERM end the campaign cleanly, and a second one at once; gives the way back."""

    def handle(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def _announce(config: Config, store: Store, directory: Path, resumed: bool) -> None:
    names = config.names()
    what = names[0] if len(names) == 1 else f"{len(names)} passes"
    info = store.info()
    _tell(
        f"campaign of seed {config.seed} in {directory}: {what}, {len(config.oracles)} oracles, "
        f"{config.workers} worker{'' if config.workers == 1 else 's'}, {config.budget_text}"
    )
    if resumed:
        _tell(f"resumed after {info.examples} cases and {info.elapsed_seconds:.0f} s")


def _summarize(directory: Path, as_json: bool) -> None:
    from fuzzer.store import StoreError

    sys.stderr.flush()
    for entry in entry_points(group=SUMMARY):
        try:
            entry.load()(directory, sys.stdout, as_json)
        except (OSError, StoreError) as error:
            _tell(f"the summary is not complete: {error}")


def _tell(line: str) -> None:
    print(f"relaxfuzz: {line}", file=sys.stderr, flush=True)


VERB = Verb(
    name="run",
    help="run a campaign: generate modules, apply passes, judge, minimize what fails",
    example="relaxfuzz run --time 10m --seed 7 --workers 2 --out campaign",
    add_arguments=_add_arguments,
    run=_run,
)
