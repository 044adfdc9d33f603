"""``relaxfuzz run``: a campaign."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.cli.options import add_trust, inform
from fuzzer.core.text import enumerated
from fuzzer.core.verb import INTERRUPTED, OK, OPTIONS, RUNS_CODE, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.campaign.campaign import Campaign
    from fuzzer.cluster.executor import ExecutorFactory
    from fuzzer.core.config import Config
    from fuzzer.store.writer import Store

SUMMARY = "relaxfuzz.summary"
"""Entry-point group of what prints the closing summary: ``summarize(directory, stream, as_json)``."""

_RESUME = "interrupted; run the same command again to resume"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for option in OPTIONS:
        action = "append" if option.repeatable else "store"
        bare: dict[str, Any] = {"nargs": "?", "const": option.bare} if option.bare else {}
        parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help, action=action, **bare)
    parser.add_argument(
        "--config", metavar="FILE", type=Path,
        help="a TOML file with these options as keys (default: [tool.relaxfuzz] in the nearest pyproject.toml)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the final summary as one JSON object")
    add_trust(parser)


def _run(options: argparse.Namespace) -> int:
    from fuzzer.campaign.campaign import Campaign
    from fuzzer.campaign.progress import Progress
    from fuzzer.campaign.regression import chosen, regress_first
    from fuzzer.campaign.setup import NO_DASK, configure, decisions, guide_of, known_findings, merged, open_campaign
    from fuzzer.cli.verbs.findings import triaging
    from fuzzer.core.config import ConfigError, project_config, project_file
    from fuzzer.core.installed import NO_COMPILER, compiler, installed, untested
    from fuzzer.store.records import CampaignState
    from fuzzer.worker import session_files
    from relaxkit.compat.known import lines as gap_lines

    session_files.claim()
    versions = installed()
    with contextlib.ExitStack() as held:
        held.callback(_on_signals(_interrupt))  # before the campaign's directory is made
        given, found = vars(options), {}
        project = None if options.config else Path(os.path.relpath(project_file(Path.cwd())))
        if project is not None and (found := project_config(project.parent)):
            inform(f"options from [tool.relaxfuzz] in {project}: {', '.join(found)}")
            given = {**given, "config": project}
        values = merged(given)
        places = [each.partition(":")[0] for name in ("pass", "plugin") for each in values.get(name, ())]
        named = any(not each.endswith(".py") for each in places) or not {"pass", "plugin", "plant"}.isdisjoint(found)
        if project is not None and found and named:  # else nobody names code that may be the project's: none is run
            sys.path.append(str(project.parent.resolve()))
        if values.get("coverage") == "on":
            inform("coverage: testing breakpoints; on the first run, building the table of blocks takes half a minute")
        config = configure(values)
        known, decided = known_findings(values), decisions(values)
        directory = Path(str(values.get("out") or f"campaign-{config.seed}"))
        workers, executor = _executor(values, config, held)
        past = chosen(values.get("regress"), config, directory, options.trust)
        opened = open_campaign(directory, config, versions, options.trust)
        store, config = held.enter_context(opened.store), opened.config
        held.enter_context(_recording_interrupts(store))
        if past.foreign:  # its cases become those of this campaign
            store.disown()
        if config.coverage and executor is not None:
            raise ConfigError(NO_DASK)
        _announce(replace(config, workers=workers), store, directory, opened.resumed)
        if compiler() is None:
            inform(NO_COMPILER)
        for line in (untested(versions), *gap_lines(), *_lacking()):
            if line:
                inform(line)
        done = False
        ended, fault = regress_first(store, config, past, versions.tvm, inform, _on_signals)
        if ended:
            store.set_meta(state=CampaignState.INTERRUPTED)
            inform(_RESUME)
        elif fault is None:
            seen = {each.id: each.state for each in store.findings()}
            progress = Progress(config, before=store.info().examples, found=seen)
            campaign = Campaign(store, config, progress, known, decided, executor, guide_of(store, config))
            done, fault = until_done(campaign)
        missing = summarize(directory, options.json)
        if done and (left := len(store.untriaged())):
            inform(triaging(left, directory))
    if fault is not None or missing is not None:
        raise UsageError(str(fault or f"the summary is incomplete: {missing}"))
    return OK if done else INTERRUPTED


def _interrupt() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _recording_interrupts(store: Store) -> Iterator[None]:
    """Record an interrupt that comes while the campaign itself does not run."""
    from fuzzer.store.records import CampaignState

    try:
        yield
    except KeyboardInterrupt:
        if store.info().state is CampaignState.RUNNING:
            store.set_meta(state=CampaignState.INTERRUPTED)
            inform(_RESUME)
        raise


def _executor(values: dict[str, Any], config: Config, held: contextlib.ExitStack) -> tuple[int, ExecutorFactory | None]:
    """Give the number of workers, and what runs them where it is not this machine's own processes.

    Raises:
        fuzzer.core.config.ConfigError: when they cannot be reached.
    """
    if "dask" not in values:
        return config.workers, None
    from fuzzer.cluster.dask_client import DaskConnection

    link = held.enter_context(DaskConnection(str(values["dask"]), inform))
    from fuzzer.cluster.dask_executor import executor_factory

    return sum(link.threads.values()), executor_factory(link)


def _lacking() -> list[str]:
    """Return what the installed TVM lacks of the tables, one line each."""
    from strategies.operators import LACKING as OPERATORS
    from strategies.pass_arguments.table import LACKING as PASSES

    return [f"skipped: {name}: {reason}" for name, reason in (PASSES | OPERATORS).items()]


def until_done(campaign: Campaign) -> tuple[bool, Exception | None]:
    """Run the campaign; whether it came to its end, and the error that made recording impossible, if one did."""
    from fuzzer.cluster.executor import ExecutorError
    from fuzzer.store.records import CampaignState
    from fuzzer.store.writer import StoreError

    restore = _on_signals(campaign.stop)
    try:
        done = campaign.run() is CampaignState.FINISHED
        if not done:
            inform(_RESUME)
    except (ExecutorError, StoreError) as error:
        return False, error
    finally:
        restore()
    return done, None


def _on_signals(stop: Callable[[], None]) -> Callable[[], None]:
    """Let the first Ctrl-C, SIGTERM or SIGHUP end the campaign cleanly, and a second one at once; the way back."""

    def handle(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    heeded = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]  # as `nohup` asks
    before = {number: signal.signal(number, handle) for number in heeded}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _announce(config: Config, store: Store, directory: Path, resumed: bool) -> None:
    from fuzzer.campaign.campaign import grace

    names = config.names()
    then = f" of generation, then at most {grace(config):g} s of triage" if config.seconds else ""
    what = names[0] if len(names) == 1 else f"{len(names)} passes"
    info = store.info()
    inform(
        f"campaign with seed {config.seed} in {directory}: {what}, {len(config.oracles)} oracles, "
        f"{config.workers} worker{'' if config.workers == 1 else 's'}, {config.budget_text}{then}"
    )
    if config.operators:
        inform(f"generated more often: {enumerated([name for name, _ in config.operators])}")
    spent = info.elapsed_seconds >= config.seconds if config.seconds else info.examples >= (config.max_examples or 0)
    if resumed and spent and not store.untriaged():
        inform(f"nothing to do: finished after {config.budget_text}; use a new --out, or give it more time or examples")
    elif resumed:
        inform(f"resumed after {info.examples} cases and {info.elapsed_seconds:.0f} s")


def summarize(directory: Path, as_json: bool) -> Exception | None:
    """Print the summary and write its files; the error that made that impossible, if one did."""
    from fuzzer.store.writer import StoreError

    sys.stderr.flush()
    for entry in entry_points(group=SUMMARY):
        try:
            entry.load()(directory, sys.stdout, as_json)
        except (OSError, StoreError) as error:
            return error
    return None


VERB = Verb(
    name="run",
    help="run a campaign: generate modules, apply passes, judge the results, minimize failures",
    example="relaxfuzz run --time 10m --seed 7 --workers 2 --out campaign",
    add_arguments=_add_arguments,
    run=_run,
    code=RUNS_CODE,
)
