"""``relaxfuzz minimize``: reduce a finding, or a module of the user's."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.options import add_trust, file_errors, inform, put_json
from fuzzer.core.text import enumerated
from fuzzer.core.verb import INTERRUPTED, OK, RUNS_CODE, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.cli.minimize_input import MinimizeInput
    from fuzzer.core.case import Case
    from fuzzer.store.records import FindingRecord
    from fuzzer.triage.reduce import Reduced

_MOST_LINES = 60
"""Lines of a module that are printed on a terminal."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, nargs="?", metavar="DIR", help="a campaign's directory")
    parser.add_argument("finding", nargs="?", metavar="ID", help="id of the finding, or a prefix of it; or use --all")
    parser.add_argument("--all", action="store_true", help="instead of ID: confirm and minimize all untriaged findings")
    module = parser.add_argument_group("instead of a finding")
    module.add_argument(
        "--module", type=Path, metavar="FILE",
        help="a module, as TVMScript, Python or JSON, or a file written by --save",
    )  # fmt: skip
    module.add_argument(
        "--pass",
        dest="passes",
        action="append",
        metavar="NAME[,NAME]",
        help="the pass, by name, as an expression such as 'relax.transform.FuseOps(fuse_opt_level=0)', "
        "or as FILE.py:FACTORY; for a pipeline, give several names or repeat the option",
    )
    module.add_argument("--oracle", metavar="NAME", help="the oracle whose failure must be preserved")
    module.add_argument(
        "--signature",
        metavar="ID",
        help="id of the finding whose failure must be preserved (default: the first failure that the oracle reports)",
    )
    module.add_argument(
        "--predicate",
        metavar="FILE.py:FUNCTION",
        help="instead of --oracle: your own criterion, a function of the module (with --pass: of the module and the "
        "pipeline) that returns True as long as the module still shows what you are looking for",
    )
    module.add_argument("--plugin", action="append", metavar="MODULE", help="a plugin to load; repeatable")
    module.add_argument("--input-seed", metavar="N", help="seed for the inputs (default: 0)")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--time", metavar="TIME", help="stop after this long (default: 5m, with --all 8h)")
    limits.add_argument("--known", type=Path, metavar="FILE", help="with --all: a file of known findings, as for `run`")
    limits.add_argument("--queries", metavar="N", help="stop after trying N candidates")
    limits.add_argument("--case-timeout", metavar="TIME", help="time limit for one candidate (default: 20s)")
    limits.add_argument(
        "--workers", metavar="N", help="number of worker processes; does not affect the result (default: one per core)"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--save", type=Path, metavar="FILE",
        help="whenever a smaller case is found, write it to FILE",
    )  # fmt: skip
    output.add_argument("--resume", action="store_true", help="start from the case in the file that --save names")
    output.add_argument("--repro", type=Path, metavar="FILE", help="write a standalone script for the result to FILE")
    output.add_argument(
        "--others", type=Path, metavar="DIR", help="write a case to DIR for each different failure found along the way"
    )
    output.add_argument("--json", action="store_true", help="print one JSON object")
    add_trust(parser)


def _run(options: argparse.Namespace) -> int:
    from fuzzer.campaign.setup import cores
    from fuzzer.cli.minimize_input import minimize_input
    from fuzzer.core.config import MAX_WORKERS, parse_duration, parse_whole
    from fuzzer.core.terminal import bars
    from fuzzer.minimizer.search.outcome import SearchLimits
    from fuzzer.store.door import SCRIPTS
    from fuzzer.store.writer import Store
    from fuzzer.triage.reduce import ReductionPlan, reduce
    from fuzzer.triage.script import repro_script, write_repro
    from fuzzer.worker.worker import DEFAULT_TIME_LIMIT
    from relaxkit.passes.plugins import require

    require(options.plugin or ())
    queries = 10**9 if options.queries is None else parse_whole(options.queries, "--queries", 1, 10**9)
    limits = SearchLimits(queries, parse_duration(options.time or "5m"))
    seconds = DEFAULT_TIME_LIMIT if options.case_timeout is None else parse_duration(options.case_timeout)
    workers = cores() if options.workers is None else parse_whole(options.workers, "--workers", 1, MAX_WORKERS)
    if options.all:
        return _triage_all(options, workers)
    if options.known is not None:
        raise UsageError("--known needs --all")
    with bars() as bar:
        task = bar.add_task("minimizing", total=None)
        source = minimize_input(options, seconds)
        if options.module is None and (changed := _changed(options.directory)):
            inform(f"{changed}; what is minimized is how it fails now")

        def save(case: Case) -> None:
            bar.update(task, description=f"minimizing: {len(case.module_json) / 1000:.0f} kB")
            _save(options.save, source, case)

        reduced = reduce(source.case, source.criterion, ReductionPlan(limits, workers, source.start, save))
    own = None if options.module is not None else options.directory / SCRIPTS / f"{reduced.criterion.id}.py"
    kept = options.repro or options.save or own
    _print(reduced, kept, as_json=options.json, begun=source.start is not None)
    if options.module is None:
        _store(options.directory, options.finding, reduced)
        with Store.open(options.directory) as store:
            inform(f"at fault: {store.finding(options.finding).assessment.blame}")
    if options.others is not None:
        _write_others(reduced, options.others)
    if options.repro is not None:
        assert reduced.verdict is not None
        with file_errors("write", options.repro):
            write_repro(repro_script(reduced.minimized.case, reduced.verdict).text, options.repro)
    return INTERRUPTED if str(reduced.minimized.stopped) == "interrupt" else OK


def _triage_all(options: argparse.Namespace, workers: int) -> int:
    """Triage what a campaign has left; what is done stays when it is stopped."""
    from fuzzer.campaign.campaign import Campaign
    from fuzzer.campaign.progress import Progress
    from fuzzer.cli.verbs.run import summarize, until_done
    from fuzzer.core.config import Config, parse_duration
    from fuzzer.core.installed import installed
    from fuzzer.findings.file import KnownFindings, load_decisions, load_known
    from fuzzer.store.trust import require_trust
    from fuzzer.store.writer import Store

    taken = {"all", "directory", "json", "known", "time", "trust", "workers"}
    if options.directory is None or any(value for name, value in vars(options).items() if name not in taken):
        raise UsageError("--all needs DIR, and takes only --known, --time, --workers, --json and --trust")
    known = KnownFindings() if options.known is None else load_known(options.known)
    with Store.open(
        options.directory, read_only=False, admit=lambda store: require_trust(store, options.trust)
    ) as store:
        meta = store.meta()
        # What no longer fails would become a suspect.
        tvm = f"it ran on TVM {begun}" if (begun := meta["tvm_version"]) != installed().tvm else ""
        bare = "" if "config" in meta else "it is stored without its configuration"
        if changed := bare or _changed(options.directory) or tvm:
            raise UsageError(f"--all cannot continue '{options.directory}': {changed}")
        config = replace(Config.from_json(meta["config"]), workers=workers)
        seen = {each.id: each.state for each in store.findings()}
        progress = Progress(config, before=store.info().examples, found=seen)
        campaign = Campaign(
            store, config, progress, known, load_decisions(None), triage=parse_duration(options.time or "8h")
        )
        done, fault = until_done(campaign)
    if fault := fault or summarize(options.directory, options.json):
        raise UsageError(str(fault))
    return OK if done else INTERRUPTED


def _changed(directory: Path) -> str:
    """Say which files of the user's passes are not what they were when the campaign began; empty where none is."""
    from fuzzer.core.config import Config
    from fuzzer.store.writer import Store
    from relaxkit.passes.pass_ref import content_hash

    with Store.open(directory) as store:
        meta = store.meta()
    config = Config.from_json(meta["config"]) if "config" in meta else None
    roots = {Path(ref.factory[0]).parent for ref in config.user_passes} if config else set()
    found = {root / name: digest for name, digest in (config.code if config else ()) for root in roots}
    changed = sorted(path.name for path, digest in found.items() if path.is_file() and content_hash(path) != digest)
    return f"changed since the campaign: {enumerated(changed)}" if changed else ""


def _save(path: Path | None, source: MinimizeInput, case: Case) -> None:
    from fuzzer.core.case import CaseFile, write_case

    if path is not None:
        with file_errors("write", path):
            write_case(path, CaseFile(case, source.oracle, source.criterion.id, source.criterion.text))


def _print(reduced: Reduced, kept: Path | None, *, as_json: bool, begun: bool) -> None:
    if as_json:
        put_json(reduced.to_object())
        return
    lines = reduced.script.rstrip().splitlines()
    shown = _MOST_LINES if sys.stdout.isatty() and len(lines) > _MOST_LINES + 1 else len(lines)
    print("\n".join(lines[:shown]))
    if shown < len(lines):
        where = f"all of it is in {kept}" if kept else "--repro FILE writes all of it"
        inform(f"{len(lines) - shown} more lines of the module are not shown: {where}")
    found = reduced.minimized
    ended = {"time": "; stopped at the time limit", "queries": "; stopped at --queries", "interrupt": "; interrupted"}
    inform(
        f"{reduced.bindings_before or 0} bindings became {reduced.bindings or 0} in {found.seconds:.1f} s of search "
        f"({found.queries} candidates{', starting from the smaller case found earlier' if begun else ''})"
        f"{ended.get(str(found.stopped), '')}: {reduced.criterion.id} {reduced.criterion.text}"
    )
    if found.case.passes:
        inform(f"passes: {', '.join(ref.expression for ref in found.case.passes)}")
    for note in reduced.notes:
        inform(note)
    if reduced.flaky:
        inform(f"the smaller module fails in {reduced.after}")
    for other in found.others:
        inform(f"another failure was found but not pursued: {other.failing.id} {other.failing.text}")


def _store(directory: Path, name: str, reduced: Reduced) -> None:
    """Keep the smaller case, with a script that was seen to show the finding, for later verbs and reports."""
    from fuzzer.minimizer.search.outcome import SearchLimits
    from fuzzer.store.known import as_reviewed
    from fuzzer.store.records import FindingState
    from fuzzer.store.writer import Store, StoreError
    from fuzzer.triage.finding import TriageJob, TriageState, triage_finding
    from fuzzer.triage.reduce import ReductionPlan
    from fuzzer.triage.script import write_repro

    with Store.open(directory) as store:
        finding = store.finding(name)
    case = reduced.minimized.case
    kept = (finding.minimized or finding.case).module_json
    if finding.is_minimized and len(case.module_json) >= len(kept):
        return
    if finding.repro is None:  # a process that is killed below has kept the case
        _keep(directory, finding, case, reduced.bindings)
    with tempfile.TemporaryDirectory() as folder:  # a script that shows nothing must not replace one that does
        job = TriageJob(
            finding.id, finding.signature, finding.verdict, finding.case, Path(folder),
            ReductionPlan(SearchLimits(queries=0), start=case),
        )  # fmt: skip
        found = triage_finding(job)
        if found.state is not TriageState.CONFIRMED or found.repro is None:
            if finding.repro is None:
                _keep(directory, finding, finding.minimized, finding.bindings)
            inform(f"not stored in the campaign: {found.note}")
            return
        text = (Path(folder) / found.repro).read_text(encoding="utf-8")
    known = finding.state is FindingState.KNOWN
    try:
        with Store.open(directory, read_only=False) as store, file_errors("write", directory / found.repro):
            write_repro(text, directory / found.repro)
            store.save_triage(
                finding.id, finding.state if known else FindingState.CONFIRMED, found.minimized, found.bindings,
                found.repro, finding.note if known else found.note, found.traits, found.seconds, found.parts,
                as_reviewed(found.of(finding)),
            )  # fmt: skip
    except StoreError as error:
        inform(f"not stored in the campaign: {error}")
        return
    inform(f"stored in the campaign; writing and checking {directory / found.repro} took {found.seconds:.1f} s")


def _keep(directory: Path, finding: FindingRecord, case: Case | None, bindings: int | None) -> None:
    """Store the smallest case of a finding that has no script, if the campaign is not running."""
    from fuzzer.store.writer import Store, StoreError

    with contextlib.suppress(StoreError), Store.open(directory, read_only=False) as store:
        store.save_triage(finding.id, finding.state, case, bindings, None, finding.note)


def _write_others(reduced: Reduced, folder: Path) -> None:
    from fuzzer.core.case import CaseFile, write_case
    from relaxkit.files import make_directory

    with file_errors("write", folder):
        make_directory(folder)
        for other in reduced.minimized.others:
            oracle = "" if other.failing.verdict is None else str(other.failing.verdict.oracle)
            path = folder / f"{other.failing.id}.json"
            write_case(path, CaseFile(other.case, oracle, other.failing.id, other.failing.text))


VERB = Verb(
    name="minimize",
    help="minimize a finding's module, or a module of your own, while preserving the failure; for a finding, the "
    "result is stored in the campaign",
    example="relaxfuzz minimize --module model.py --pass FuseOps --oracle crash",
    add_arguments=_add_arguments,
    run=_run,
    code=RUNS_CODE,
)
