"""``relaxfuzz repro``: the standalone script of a finding, or a bug report with it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.verb import OK, USAGE, UsageError, Verb
from fuzzer.verb_options import add_campaign

if TYPE_CHECKING:
    from fuzzer.bisection import Bisected
    from fuzzer.records import CampaignInfo, FindingRecord
    from fuzzer.repro import ReproResult

GONE = 1
"""Exit code of ``--check`` when the script does not show the defect."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument("finding", metavar="ID", help="id of the finding, or how it begins")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the script there instead of printing it")
    parser.add_argument(
        "--markdown",
        action="store_true",
        help="instead of the script: a bug report in Markdown, with the script in it, as TVM's issues want it",
    )
    parser.add_argument(
        "--bisection",
        type=Path,
        metavar="FILE",
        help="with --markdown: what 'relaxfuzz bisect --json' printed, instead of what the campaign knows of releases",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="write the script anew instead of taking the one that triage left"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="run the script in a fresh process: exit code 0 when the defect is there, 1 when it is gone, "
        "2 when the environment does not fit",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: the script or report, and what --check saw"
    )


def _run(options: argparse.Namespace) -> int:
    if options.bisection is not None and not options.markdown:
        raise UsageError("--bisection goes with --markdown")
    from fuzzer.store import Store, StoreError
    from fuzzer.triage import write_atomically

    try:
        with Store.open(options.directory) as store:
            finding, info = store.finding(options.finding), store.info()
        script = script_of(finding, options.directory, fresh=options.fresh)
    except StoreError as error:
        raise UsageError(str(error)) from error
    text = _report(finding, info, script, options) if options.markdown else script
    if options.output is not None:
        try:
            write_atomically(options.output, text)
        except OSError as error:
            raise UsageError(f"cannot write '{options.output}': {error.strerror}") from error
    checked = _check(script) if options.check else None
    if options.json:
        output = None if options.output is None else str(options.output)
        print(json.dumps(_object(finding, text, output, checked), indent=2))
    elif checked is not None:
        sys.stdout.write(checked.output)
    elif options.output is None:
        sys.stdout.write(text)
    return OK if checked is None else _exit_code(checked)


def _object(finding: FindingRecord, text: str, output: str | None, checked: ReproResult | None) -> dict[str, Any]:
    said: dict[str, Any] = {
        "finding": finding.id,
        "signature": finding.signature,
        "state": finding.state.value,
        "output": output,
        "text": text,
        "check": None,
    }
    if checked is not None:
        said["check"] = {"confirmed": checked.confirmed, "exit_code": checked.exit_code, "output": checked.output}
    return said


def script_of(finding: FindingRecord, directory: Path, *, fresh: bool = False) -> str:
    """The script that triage left, or (also when it is to be ``fresh``) a new one of the smallest case that there is.

    Raises:
        UsageError: There is none, and none can be made.
    """
    if finding.repro is not None and not fresh:
        path = directory / finding.repro
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"'{path}': {error.strerror}") from error
    from fuzzer.minimizing import repro_text
    from fuzzer.store import verdict_of

    try:
        return repro_text(finding.minimized or finding.case, verdict_of(finding))
    except RuntimeError as error:
        raise UsageError(f"finding {finding.id} ({finding.state}): {error}") from error


def _report(finding: FindingRecord, info: CampaignInfo, script: str, options: argparse.Namespace) -> str:
    from fuzzer.repro_markdown import bug_report
    from fuzzer.store import verdict_of

    bisected = finding.bisected if options.bisection is None else _bisected(options.bisection, finding.id)
    try:
        return bug_report(finding, verdict_of(finding), info, script, bisected)
    except ValueError as error:
        raise UsageError(f"finding {finding.id}: {error}") from error


def _bisected(path: Path, finding_id: str) -> Bisected:
    """What ``relaxfuzz bisect --json`` printed of the finding."""
    from fuzzer.bisection import Bisected

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple((str(row["release"]), f"{row['outcome']}: {row['said']}") for row in found["releases"])
        judgement, of = str(found["judgement"]), found["finding"]
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"'{path}' is not what 'relaxfuzz bisect --json' prints: {error}") from error
    if of not in (None, finding_id):
        raise UsageError(f"'{path}' is of finding {of}, not of {finding_id}")
    return Bisected(judgement, rows)


def _check(text: str) -> ReproResult:
    from fuzzer.repro import check_repro

    with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as scratch:
        path = Path(scratch) / "repro.py"
        path.write_text(text, encoding="utf-8")
        result = check_repro(path)
    if result.exit_code is None:
        print("relaxfuzz: the script did not end in time", file=sys.stderr)
    return result


def _exit_code(result: ReproResult) -> int:
    if result.confirmed:
        return OK
    return USAGE if result.exit_code == USAGE else GONE


VERB = Verb(
    name="repro",
    help="print, write or check the standalone script of a finding, or a bug report with it",
    example="relaxfuzz repro campaign 1f0c2ab934 --check",
    add_arguments=_add_arguments,
    run=_run,
)
