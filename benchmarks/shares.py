"""What each oracle found for the time that it took, and the history that decides shares (``fuzzer.shard.shares``).

    python benchmarks/shares.py DIR... [--write]

DIR are directories of campaigns.  An oracle has failed for a pass that a case of the corpus, a confirmed finding of
TVM's in ``corpus/audit.toml`` or a finding in the directories blames.  For the first and the last it has failed for
the pass, or pipeline, that was judged as well, whoever is blamed.  ``--write`` writes ``fuzzer/shard/shares.toml``.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import tvm
from shared import arguments
from tabulate import tabulate

from corpus.case import load
from fuzzer.core.toml import read_toml
from fuzzer.store.records import SUSPECTS
from fuzzer.store.writer import Store
from oracles.core.subject import PIPELINE
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName

ROOT = Path(__file__).parents[1]
ENOUGH = 30
"""Subjects of a pass in the campaigns, from which on it has a history."""
_VERDICTS = (Outcome.PASS.value, Outcome.FAIL.value)

Failed = set[tuple[str, str]]
"""Oracle and pass."""


def both(oracle: OracleName | str, culprit: str, names: list[str]) -> Failed:
    """Return the oracle with the pass that is blamed, and with what was judged."""
    return {(OracleName(oracle).value, name) for name in (culprit, names[0] if len(names) == 1 else PIPELINE)}


def listed() -> Failed:
    """Return what has failed in the corpus and the audit."""
    audit = read_toml(ROOT / "corpus" / "audit.toml").table["finding"]
    found = {(row["oracle"], row["pass"]) for row in audit if row["whose"] == "tvm" and row["state"] == "confirmed"}
    return found.union(*(both(case.oracle, case.culprit, [ref.name for ref in case.passes]) for case in load()))


def text(subjects: Counter[str], failed: Failed) -> str:
    """Return the history as TOML."""
    passes = sorted(name for name, count in subjects.items() if count >= ENOUGH)
    rows = {
        name.value: sorted(each for oracle, each in failed if (oracle, each in subjects) == (name, True))
        for name in OracleName
    }
    lines = [f"# By `python benchmarks/shares.py` from {sum(subjects.values())} cases, the corpus and the audit."]
    lines += [f"tvm = {json.dumps(tvm.__version__)}", f"passes = {json.dumps(passes, indent=2)}", "", "[failed]"]
    return "\n".join([*lines, *(f"{name} = {json.dumps(found, indent=2)}" for name, found in rows.items()), ""])


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("directories", nargs="+", type=arguments.campaign, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="write the history")
    options = parser.parse_args()
    failed, subjects = listed(), Counter[str]()
    verdicts, causes, seconds = Counter[str](), Counter[str](), Counter[str]()
    for directory in options.directories:
        with Store.open(directory) as store:
            subjects.update(store.coverage().judged)
            for tally in store.tallies():
                verdicts[tally.oracle] += tally.count * (tally.outcome in _VERDICTS)
            for (step, _), spent in store.timeline().spent.items():
                seconds[step] += spent
            for finding in store.findings():
                if finding.state not in SUSPECTS:
                    causes[finding.oracle] += 1
                    case = finding.minimized or finding.case
                    failed |= both(finding.oracle, finding.culprit, [ref.name for ref in case.passes])
    rows = []
    for name in OracleName:
        found, spent, passes = causes[name], seconds[name], sum((name, each) in failed for each in subjects)
        rows.append((name.value, verdicts[name], found, spent, found / spent if spent else None, passes))
    heads = ("oracle", "verdicts", "findings", "seconds", "findings a second", "of passes that it failed for")
    print(tabulate(rows, headers=heads, floatfmt=("", "", "", ".1f", ".3f", "")))
    if options.write:
        (ROOT / "fuzzer" / "shard" / "shares.toml").write_text(text(subjects, failed), encoding="utf-8")


if __name__ == "__main__":
    main()
