"""``relaxfuzz baseline``: keep what a campaign measured, or compare a campaign with what was kept."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.options import add_campaign, add_triage, file_errors, inform, put_json, show
from fuzzer.core.text import headline
from fuzzer.core.verb import GATE_FAILED, NO_EVIDENCE, OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.gate.measured import MeasuredCampaign


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    write = "write the campaign's baseline; - means standard output; exit code 3 if the campaign did not finish"
    compare = (
        "compare the campaign with this baseline; exit code 1 if a rate is significantly worse, otherwise 3 if an "
    )
    what.add_argument("--output", metavar="FILE", help=write)
    what.add_argument(
        "--compare", type=Path, metavar="FILE", help=f"{compare}oracle or a pass no longer has any checks"
    )
    add_triage(parser)
    parser.add_argument("--json", action="store_true", help="with --compare: print one JSON object")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.findings.file import load_decisions
    from fuzzer.gate.judge import read_campaign

    if options.json and options.output is not None:
        raise UsageError("--json needs --compare: a baseline is JSON anyway")
    measured = read_campaign(options.directory, load_decisions(options.triage))
    return _compare(measured, options) if options.compare is not None else _write(measured, options.output)


def _write(measured: MeasuredCampaign, target: str) -> int:
    from fuzzer.gate.baseline import to_text
    from fuzzer.store.records import CampaignState, FindingState
    from relaxkit.files import write_atomically

    if not any(cell.checks for cell in measured.cells.values()):
        raise UsageError("the campaign has no checks, so nothing can be compared with it")
    text = to_text(measured)
    if target == "-":
        print(text, end="")
        return OK
    with file_errors("write", target):
        write_atomically(Path(target), text)
    if unended := (state := measured.info.state) is not CampaignState.FINISHED:
        how = (
            "is still running; wait" if state is CampaignState.RUNNING else f"was {state} before it finished; resume it"
        )
        inform(f"the campaign {how}, or its baseline will miss findings")
    if untriaged := sum(each.state is FindingState.NEW for each in measured.records):
        are = "is" if untriaged == 1 else "are"
        inform(f"{untriaged} of these findings {are} untriaged, that is, neither confirmed nor minimized")
    checks = sum(cell.checks for cell in measured.cells.values())
    show(f"{target}: {checks} checks, {headline(measured.seen)}, TVM {measured.info.tvm_version}")
    return NO_EVIDENCE if unended else OK


def _compare(measured: MeasuredCampaign, options: argparse.Namespace) -> int:
    from fuzzer.core.terminal import prose
    from fuzzer.gate.baseline import read_baseline
    from fuzzer.gate.changes import as_json, compare_with, render

    changes = compare_with(measured, read_baseline(options.compare))
    if options.json:
        put_json(as_json(changes))
    else:
        show(prose("\n".join(render(changes))))
    return GATE_FAILED if changes.worse else NO_EVIDENCE if changes.short else OK


VERB = Verb(
    name="baseline",
    help="save a campaign's results as a baseline, or compare them with one",
    example="relaxfuzz baseline campaign --output baseline.json",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=READS_ONLY,
)
