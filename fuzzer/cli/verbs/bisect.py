"""``relaxfuzz bisect``: in which release of TVM a defect appeared, in which it was fixed."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.options import add_trust, file_errors, inform, put_json, show
from fuzzer.core.text import first_line
from fuzzer.core.verb import NO_EVIDENCE, OK, RUNS_CODE, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.bisect.bisect import ReleaseRun
    from fuzzer.bisect.environments import Build
    from fuzzer.findings.releases import BisectionJudgement

_NO_RELEASE = "none"


@dataclass(frozen=True, slots=True)
class _Target:
    """The target of a bisection: the script, and what names it in the output."""

    title: str
    finding: str | None
    script: str


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, nargs="?", metavar="DIR", help="a campaign's directory")
    parser.add_argument(
        "finding", nargs="?", metavar="ID",
        help="id of the finding, or a prefix of it (default: every finding that has a script)",
    )  # fmt: skip
    parser.add_argument("--script", type=Path, metavar="FILE", help="a repro script to run instead of a finding's")
    parser.add_argument(
        "--versions",
        metavar="LIST",
        help="releases of TVM to run the script against, such as 0.25.0,0.26.0 (default: all supported releases; "
        f"'{_NO_RELEASE}': only those given by --python)",
    )
    parser.add_argument(
        "--python", type=Path, action="append", default=[], metavar="PATH",
        help="also run the script with this Python, which must be able to import your own build of TVM; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--cache", type=Path, metavar="DIR",
        help="where virtual environments are kept (default: relaxfuzz-releases in the user's cache directory)",
    )  # fmt: skip
    parser.add_argument(
        "--runs",
        default="1",
        metavar="N",
        help="number of runs for each release (default: 1); the release has the defect if the script detects it in at "
        "least one run",
    )
    parser.add_argument("--time", default="2m", metavar="TIME", help="time limit for one run (default: 2m)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_trust(parser)


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.config import parse_duration, parse_whole
    from fuzzer.findings.releases import Trend

    seconds = parse_duration(options.time)
    runs = parse_whole(options.runs, "--runs", 1, 100)
    targets = [_of_script(options)] if options.script is not None else _of_campaign(options)
    builds = _builds(options)
    objects, trends = [], set()
    for target in targets:
        rows, judgement = _bisected(target, builds, runs, seconds, aloud=not options.json)
        objects.append(_object(target, rows, judgement))
        if target.finding is not None:
            _keep(options.directory, target.finding, rows, judgement)
        trends.add(judgement.trend)
    if options.json:
        one = options.script is not None or options.finding is not None
        put_json(objects[0] if one else objects)
    return NO_EVIDENCE if trends == {Trend.UNKNOWN} else OK


def _bisected(
    target: _Target, builds: list[Build], runs: int, seconds: float, *, aloud: bool
) -> tuple[list[ReleaseRun], BisectionJudgement]:
    """Run one script in every build, and say what comes of it as soon as it is known."""
    from fuzzer.bisect.bisect import judge, run_in_releases
    from fuzzer.core.terminal import bars, prose
    from fuzzer.findings.releases import Observation

    if aloud:
        show(target.title)
    rows = []
    width = max(len(build.label) for build in builds)
    with bars() as bar:
        for row in bar.track(
            run_in_releases(target.script, builds, runs, seconds), len(builds), description="releases"
        ):
            rows.append(row)
            if aloud:
                show(prose(f"  {row.build.label:<{width}}  {row.answer.outcome.value:<15}  {row.answer.said}"))
    judgement = judge([Observation(row.build.label, row.answer) for row in rows])
    if aloud:
        show(prose(str(judgement)))
    return rows, judgement


def _keep(directory: Path, finding: str, rows: list[ReleaseRun], judgement: BisectionJudgement) -> None:
    """Write the result into the campaign, which reports read it from; a campaign that is under way is left alone."""
    from fuzzer.findings.releases import Bisected, Observation
    from fuzzer.store.writer import Store, StoreError

    bisected = Bisected.of([Observation(row.build.label, row.answer) for row in rows], judgement)
    try:
        with Store.open(directory, read_only=False) as store:
            store.save_bisection(finding, bisected)
    except StoreError as error:
        inform(f"the result was not saved: {error}")


def _of_script(options: argparse.Namespace) -> _Target:
    if options.directory is not None:
        raise UsageError("give DIR, or DIR and ID, or --script")
    from fuzzer.findings.releases import MARKS
    from relaxkit.files import read_text

    with file_errors("read", options.script):
        text = read_text(options.script)
    if not any(f"{mark}: " in text for mark in MARKS):
        raise UsageError(
            f"'{options.script}' does not say whether the defect is there (BUG: ..., OK: ...), and an exit code alone "
            "tells nothing of other releases: run `relaxfuzz bisect DIR ID`, or bisect the script that "
            "`relaxfuzz repro DIR ID --full` prints"
        )
    return _Target(str(options.script), None, text)


def _of_campaign(options: argparse.Namespace) -> list[_Target]:
    """Return the finding that is asked for, or every finding that has a script."""
    from fuzzer.cli.verbs.repro import script_of
    from fuzzer.core.installed import require_working_pair
    from fuzzer.findings.signature import readable
    from fuzzer.store.trust import require_trust
    from fuzzer.store.writer import Store

    if options.directory is None:
        raise UsageError("give DIR, or DIR and ID, or --script")
    with Store.open(options.directory) as store:
        require_trust(store, options.trust)
        if options.finding is not None:
            findings = [store.finding(options.finding)]
        else:
            findings = [finding for finding in store.findings() if finding.repro is not None]
    if not findings:
        raise UsageError(f"no finding in '{options.directory}' has a script")
    if any(finding.repro is None for finding in findings):
        require_working_pair()  # a script is made, which needs TVM here
    return [
        _Target(
            f"{finding.id} {first_line(readable(finding.signature))}",
            finding.id,
            script_of(finding, options.directory, full=True, trusted=options.trust)[0],
        )
        for finding in findings
    ]


def _builds(options: argparse.Namespace) -> list[Build]:
    from fuzzer.bisect.environments import default_cache, in_order, own_build, release_build, releases_of
    from relaxkit.compat.known import RELEASES

    asked = ",".join(each.tvm for each in RELEASES) if options.versions is None else options.versions
    releases = () if asked.strip() == _NO_RELEASE else releases_of(asked)
    if not releases and not options.python:
        raise UsageError(f"--versions {_NO_RELEASE} needs a --python")
    own = [own_build(python) for python in dict.fromkeys(options.python)]  # before any download
    cache = default_cache() if options.cache is None else options.cache
    return in_order([release_build(release, cache.absolute(), inform) for release in releases] + own)


def _object(target: _Target, rows: list[ReleaseRun], judgement: BisectionJudgement) -> dict[str, object]:
    return {
        "finding": target.finding,
        "title": target.title,
        "releases": [
            {
                "release": row.build.label, "tvm": row.build.tvm, "ffi": row.build.ffi, "python": str(row.build.python),
                "outcome": row.answer.outcome.value, "said": row.answer.said, "seconds": round(row.seconds, 3),
            }
            for row in rows
        ],
        "trend": judgement.trend.value, "in": judgement.release or None, "after": judgement.after or None,
        "silent": list(judgement.silent), "judgement": str(judgement),
    }  # fmt: skip


VERB = Verb(
    name="bisect",
    help="find the release of TVM in which a defect appeared or was fixed; exit code 3 if undetermined",
    example="relaxfuzz bisect campaign 1f0c2ab934 --versions 0.25.0,0.26.0,0.27.0.post1",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=RUNS_CODE,
)
