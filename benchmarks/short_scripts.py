"""How short are the scripts of a campaign's findings, and do they show what they tell?

    python benchmarks/short_scripts.py DIR [--id ID] [--keep FOLDER] [--json]

Renders the short script of every confirmed finding that fails still (of the rest it says how many are gone) and runs
it in a fresh process, of TVM and NumPy alone.  Prints how many findings have one, their lines, their exit codes, how
many hold JSON, the preparing passes in them, and how many findings show what changes: a difference of modules, two
numbers, or the error.  Floors are in ``benchmarks/floors.toml``; exits 1 when a figure is beyond its own.
"""

from __future__ import annotations

import ast
import json
import os
import re
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared import arguments

from fuzzer.findings.script_parts import ShortForms
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import isolated_worker
from fuzzer.minimizer.judge.judge import Judge, judging_oracles
from fuzzer.repro.run import check_repro
from fuzzer.store.records import FindingRecord, FindingState
from fuzzer.store.writer import Store
from fuzzer.triage.script import SHORT
from relaxkit.passes.contract import OracleName

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FLOORS = Path(__file__).with_name("floors.toml")
_SECONDS = 120.0
_GONE = "it fails no more"
_ALLOWED = {*sys.stdlib_module_names, "tvm", "tvm_ffi", "numpy"}


@dataclass(frozen=True)
class Row:
    """A finding and its short script; ``why`` there is none."""

    finding: FindingRecord
    lines: int = 0
    exit_code: int | None = None
    text: str = ""
    shows_change: bool = False
    why: str = ""

    @property
    def prepares(self) -> int:
        """The number of passes that only prepare the module."""
        return len(re.findall(r"^ *Before = .*\(Before\)$", self.text, re.MULTILINE))


def row_of(finding: FindingRecord, judge: Judge, folder: Path) -> Row:
    """Render and run the short script of a finding."""
    case, verdict = finding.minimized or finding.case, finding.verdict
    own = Judge(judge.worker, judging_oracles(verdict), _SECONDS)
    failing = own.failures(case)
    if not failing and verdict.oracle is not OracleName.DETERMINISM:
        return Row(finding, why=_GONE)  # this version of the oracles sees nothing wrong with it
    seen = next((each.verdict for each in failing if each.id == signature(verdict).id), verdict)
    forms = judge.ask(SHORT, case, seen, finding.assessed)
    if not isinstance(forms, ShortForms):
        return Row(finding, why=judge.trouble or "the process died")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    said = forms.why
    for form in forms.scripts:
        path = folder / f"{finding.id}.py"
        path.write_text(form.text, encoding="utf-8")
        result = check_repro(path, _SECONDS, environment=environment, ending=form.ending)
        if result.confirmed:
            shows = bool(form.change or seen.shown.details.numbers or form.ending.error or finding.message)
            return Row(finding, len(form.text.splitlines()), result.exit_code, form.text, shows)
        said = said or f"ends with {result.exit_code}, saying: {result.said}"
    return Row(finding, why=said)


def foreign(text: str) -> set[str]:
    """Return what a script imports besides TVM, NumPy and the standard library."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found - _ALLOWED


def summary(rows: list[Row]) -> dict[str, Any]:
    """Sum up the rows."""
    gone = [row for row in rows if row.why == _GONE]
    rows = [row for row in rows if row.why != _GONE]
    short = [row for row in rows if row.lines]
    lines = sorted(row.lines for row in short) or [0]
    return {
        "gone": len(gone),
        "findings": len(rows),
        "short": len(short),
        "share": len(short) / len(rows) if rows else 0.0,
        "median": statistics.median(lines),
        "p90": lines[min(len(lines) - 1, int(0.9 * len(lines)))],
        "most": lines[-1],
        "exit_codes": dict(Counter(str(row.exit_code) for row in short)),
        "json": sum("load_json(" in row.text and "save_json(" not in row.text for row in short),
        "foreign_imports": sum(bool(foreign(row.text)) for row in short),
        "preparing_median": statistics.median(row.prepares for row in short) if short else 0,
        "shows_change": sum(row.shows_change for row in short) / len(short) if short else 0.0,
    }


def beyond(found: dict[str, Any]) -> list[str]:
    """Return the figures that are beyond their floors or ceilings."""
    limits = tomllib.loads(_FLOORS.read_text(encoding="utf-8"))["scripts"]
    return [
        f"{name}: {found[name]} (limit {limit})"
        for name, limit in limits.items()
        if (found[name] < limit if name in ("share", "shows_change") else found[name] > limit)
    ]


def main() -> int:
    """Measure, print, compare."""
    parser = arguments.Parser(__doc__)
    parser.add_argument("directory", type=arguments.campaign)
    parser.add_argument("--id", action="append", help="this finding alone; may be repeated")
    parser.add_argument("--keep", type=arguments.folder, help="write the scripts there")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Store.open(options.directory) as store:
        findings = [each for each in store.findings() if each.state is FindingState.CONFIRMED]
    if options.id:
        findings = [each for each in findings if each.id.startswith(tuple(options.id))]
    if not findings:
        parser.error(f"'{options.directory}' has no such finding")
    rows = []
    with tempfile.TemporaryDirectory() as scratch, isolated_worker() as worker:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for finding in findings:
            rows.append(row_of(finding, Judge(worker, (), _SECONDS), folder))
            said = f"{rows[-1].lines} lines, ends with {rows[-1].exit_code}" if rows[-1].lines else rows[-1].why
            print(f"{finding.id}  {finding.oracle:<13} {finding.culprit:<32} {said}", file=sys.stderr, flush=True)
    found = summary(rows)
    print(json.dumps(found, indent=2) if options.json else "\n".join(f"{k:<18} {v}" for k, v in found.items()))
    if over := beyond(found):
        print("beyond its limit: " + "; ".join(over))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
