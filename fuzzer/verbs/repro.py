"""``relaxfuzz repro``: the standalone script of a finding."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, USAGE, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.records import FindingRecord

GONE = 1
"""Exit code of ``--check`` when the script does not show the defect."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    parser.add_argument("finding", metavar="ID", help="id of the finding, or how it begins")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the script there instead of printing it")
    parser.add_argument(
        "--check",
        action="store_true",
        help="run the script in a fresh process: exit code 0 when the defect is there, 1 when it is gone, "
        "2 when the environment does not fit",
    )


def _run(options: argparse.Namespace) -> int:
    from fuzzer.store import Store, StoreError
    from fuzzer.triage import write_atomically

    try:
        with Store.open(options.directory) as store:
            finding = store.finding(options.finding)
        text = _text(finding, options.directory)
    except StoreError as error:
        raise UsageError(str(error)) from error
    if options.output is not None:
        try:
            write_atomically(options.output, text)
        except OSError as error:
            raise UsageError(f"cannot write '{options.output}': {error.strerror}") from error
    if options.check:
        return _check(text)
    if options.output is None:
        sys.stdout.write(text)
    return OK


def _text(finding: FindingRecord, directory: Path) -> str:
    """The script that triage left, or a new one of the smallest case that there is."""
    if finding.repro is not None:
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


def _check(text: str) -> int:
    from fuzzer.repro import check_repro

    with tempfile.TemporaryDirectory(prefix="relaxfuzz-") as scratch:
        path = Path(scratch) / "repro.py"
        path.write_text(text, encoding="utf-8")
        result = check_repro(path)
    sys.stdout.write(result.output)
    if result.confirmed:
        return OK
    if result.exit_code is None:
        print("relaxfuzz: the script did not end in time", file=sys.stderr)
    return USAGE if result.exit_code == USAGE else GONE


VERB = Verb(
    name="repro",
    help="print, write or check the standalone script of a finding",
    example="relaxfuzz repro campaign 1f0c2ab934 --check",
    add_arguments=_add_arguments,
    run=_run,
)
