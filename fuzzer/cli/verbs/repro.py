"""``relaxfuzz repro``: the standalone script of a finding, or a bug report with it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.cli.options import add_campaign, add_trust, file_errors, inform, put_json
from fuzzer.core.text import visible
from fuzzer.core.verb import OK, RUNS_CODE, USAGE, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.findings.script_parts import ScriptParts
    from fuzzer.repro.run import ReproResult
    from fuzzer.store.records import CampaignInfo, FindingRecord

PRESENT = 1
"""Exit code of ``--check`` when the script shows the defect, as the script's own."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    parser.add_argument("finding", metavar="ID", help="id of the finding, or a prefix of it")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the script to FILE instead of printing it")
    parser.add_argument(
        "--markdown", action="store_true",
        help="print a Markdown bug report that contains the script, in the format of TVM's issues",
    )  # fmt: skip
    parser.add_argument(
        "--fresh", action="store_true", help="generate the script again instead of using the one stored in the campaign"
    )
    parser.add_argument(
        "--full", action="store_true",
        help="use a longer script, which also works with test-case reducers and with releases of TVM on which the "
        "default script may not run",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="run the script in a fresh process: exit code 1 if the defect is present, 0 if it is gone, 2 if this "
        "cannot be judged, for example because TVM is missing",
    )  # fmt: skip
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: the script or report, and the result of --check"
    )
    add_trust(parser)


def _run(options: argparse.Namespace) -> int:
    from fuzzer.repro.markdown import LONGEST_SCRIPT, minimizing
    from fuzzer.store.trust import require_trust
    from fuzzer.store.writer import Store
    from relaxkit.files import write_atomically

    with Store.open(options.directory) as store:
        finding, info = store.finding(options.finding), store.info()
        if options.check or options.fresh or options.full or finding.repro is None:
            require_trust(store, options.trust)
    trusted = options.trust or not options.check
    script, parts = script_of(finding, options.directory, fresh=options.fresh, full=options.full, trusted=trusted)
    text = _report(finding, info, script, parts, options) if options.markdown else script
    if options.markdown and len(script) > LONGEST_SCRIPT:
        where = f": {options.directory / finding.repro}" if finding.repro else " (without --markdown, this prints it)"
        first = f"minimize it first: {minimizing(finding, options.directory)}; or attach it as a file{where}"
        todo = f"attach it as a file{where}" if finding.is_minimized else first
        inform(f"the script is too long for an issue; {todo}")
    if options.output is not None:
        with file_errors("write", options.output):
            write_atomically(options.output, text)
    checked = _check(script, parts) if options.check else None
    if options.json:
        output = None if options.output is None else str(options.output)
        put_json(_object(finding, text, output, checked))
    elif checked is not None:
        sys.stdout.write(checked.output if checked.ending is None else f"{checked.said}\n")
    elif options.output is None:
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    if checked is not None and checked.confirmed:
        return PRESENT
    return OK if checked is None or checked.exit_code == 0 else USAGE


def _object(finding: FindingRecord, text: str, output: str | None, checked: ReproResult | None) -> dict[str, Any]:
    check = checked and {"confirmed": checked.confirmed, "exit_code": checked.exit_code, "output": checked.output}
    return {
        "finding": finding.id, "signature": finding.signature, "state": str(finding.state), "output": output,
        "text": text, "check": check,
    }  # fmt: skip


def script_of(
    finding: FindingRecord, directory: Path, *, fresh: bool = False, full: bool = False, trusted: bool = True
) -> tuple[str, ScriptParts | None]:
    """Return the script that triage left, or a new one of the smallest case.

    A new one where it is to be ``fresh``, and where the long form is wanted (``full``) and triage left the short one.

    Raises:
        UsageError: There is none, and none can be made; or it is not ``trusted``, and not the one that was recorded.
    """
    from fuzzer.store.door import read_script
    from fuzzer.store.trust import require_script

    short = finding.parts is not None and finding.parts.ending is not None
    if finding.repro is not None and not fresh and not (full and short):
        text = read_script(directory, finding.repro)
        if not trusted:
            require_script(directory / finding.repro, text, finding.parts)
        return text, finding.parts
    from fuzzer.triage.script import repro_script

    other = None if finding.parts is None else finding.parts.other
    case = other[0] if other else finding.minimized or finding.case
    known = True if fresh or finding.parts is None else finding.parts.nearest or False  # not searched for once more
    try:
        script = repro_script(
            case, finding.failure, nearest=known, full=full, assessment=finding.assessed, minimized=finding.is_minimized
        )
    except RuntimeError as error:
        raise UsageError(f"finding {finding.id} ({finding.state}): {error}") from error
    return script.text, replace(script.parts, other=other)


def _report(
    finding: FindingRecord, info: CampaignInfo, script: str, parts: ScriptParts | None, options: argparse.Namespace
) -> str:
    from fuzzer.repro.markdown import bug_report
    from fuzzer.store.known import recognize

    if parts is None:
        raise UsageError(f"finding {finding.id}: the parts of its script were not recorded; use --fresh")
    finding = replace(finding, parts=parts)
    told = recognize([finding]).get(finding.id)
    if told is not None and told.told_upstream:
        inform(told.told_upstream)
    return bug_report(finding, finding.failure, info, script, parts, finding.bisected, told, options.directory)


def _check(text: str, parts: ScriptParts | None) -> ReproResult:
    from fuzzer.repro.run import check_text

    result = check_text(text, None if parts is None else parts.ending)
    if result.exit_code is None:
        print("relaxfuzz: the script timed out", file=sys.stderr)
    return result


VERB = Verb(
    name="repro",
    help="print, save or run a finding's standalone script, or print a bug report that contains it",
    example="relaxfuzz repro campaign 1f0c2ab934 --check",
    add_arguments=_add_arguments,
    run=_run,
    code=RUNS_CODE,
)
