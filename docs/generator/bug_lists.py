"""The lists of defects among the documents, generated: ``python docs/generator/bug_lists.py`` writes both.

``docs/bugs.md`` lists the cases of the corpus, ``docs/audit.md`` all findings of the campaigns of ``corpus/audit.toml``
with what was judged of each.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from corpus.case import KnownCase, load
from fuzzer.core.toml import read_toml
from fuzzer.store.records import FindingState
from oracles.core.verdict import Outcome
from relaxkit.compat.known import numbers
from relaxkit.passes.contract import OracleName

_ROOT = Path(__file__).resolve().parents[2]
BUGS, AUDIT = _ROOT / "docs" / "bugs.md", _ROOT / "docs" / "audit.md"
AUDIT_DATA = _ROOT / "corpus" / "audit.toml"
_HEAD = """# Defects of TVM in the corpus

Generated from `corpus/cases` by `python docs/generator/bug_lists.py`; do not edit. Each line is a case that CI checks:
`relaxfuzz corpus check CASE` runs it.
"""
_REPAIRED = """The versions are those that are clean. A replica of the old behaviour, where there is one, shows that the
oracle would catch the defect again.
"""
_CASES = ("pass", "oracle", "what is wrong", "versions", "upstream", "case")
_AUDIT_HEAD = """# Audit of findings

Every finding of {campaigns} campaigns over all passes and all oracles on TVM 0.27.0.post1, and what was judged of it.
Generated from `corpus/audit.toml` by `python docs/generator/bug_lists.py`; do not edit.

A finding is a signature, whose identifier is the same on every machine (`relaxfuzz findings` shows it). Rows with the
same identifier were distinct before signatures left out names that TVM makes up, or have several causes.

How they were judged: what `relaxfuzz corpus match` found to look like a case of the corpus took the judgement of that
*case*; after seed 161803 wrong values were read by module all the same. Of all others pass and message were read, and
the minimized module wherever a contract's claim could be wrong. From seed 112358 on all minimized modules were read,
except those like one of an earlier campaign and those that are counted as *not read*. *Like* names a finding or a case
with the same kind of failure, as far as reading tells: one cause was not proven for each. What was an error of *ours*
was corrected after the campaign, with a test.
"""


_WHOSE = {"tvm": "TVM", "ours": "ours", "debatable": "debatable"}


def _link(slug: str) -> str:
    return f"[{slug}](../corpus/cases/{slug}/case.toml)"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = (" | ".join(str(value).replace("|", "\\|") for value in row) for row in rows)
    return [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}", *(f"| {line} |" for line in lines)]


def render_bugs(cases: Sequence[KnownCase]) -> str:
    """Render the cases of the corpus as Markdown: live defects first, then those that TVM has repaired."""
    ordered = sorted(cases, key=lambda case: (case.blamed, case.slug))
    live = [_case_row(case, Outcome.FAIL) for case in ordered if _is_live(case)]
    repaired = [_case_row(case, Outcome.PASS) for case in ordered if not _is_live(case)]
    lines = [_HEAD, f"## Live: {len(live)}\n", *_table(_CASES, live)]
    if repaired:
        lines += [f"\n## Repaired: {len(repaired)}\n", _REPAIRED, *_table(_CASES, repaired)]
    return "\n".join(lines) + "\n"


def _is_live(case: KnownCase) -> bool:
    """Say whether the newest release of which the case says anything has the defect."""
    newest = max(case.expected, key=numbers, default=None)
    return newest is not None and case.expected[newest] is Outcome.FAIL


def _case_row(case: KnownCase, outcome: Outcome) -> tuple[str, ...]:
    versions = [version for version, expected in case.expected.items() if expected is outcome]
    what = f"{case.title}: {case.explanation}" + (" (with replica)" if case.replica else "")
    return case.blamed, str(case.oracle), what, ", ".join(versions), _upstream(case.upstream), _link(case.slug)


def _upstream(reference: str) -> str:
    repository, _, numbered = reference.partition("#")
    number, space, remark = numbered.partition(" ")
    if repository == "apache/tvm" and number.isdigit():
        return f"[{number}](https://github.com/{repository}/issues/{number}){space}{remark}"
    return reference


class AuditedCampaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign of the audit.

    Attributes:
        seed: Its seed.
        minutes: How long it ran, with two workers.
        cases: Cases that were judged.
        findings: Findings, without suspects.
        ours: Findings that were errors of this program.
        suspects: Findings that no script proved, where they were counted apart.
        suspects_ours: Suspects that were errors of this program.
        not_read: Findings whose modules were not read.
        conditions: What else ran on the machine, and what was judged.
    """

    seed: int
    minutes: int
    cases: int
    findings: int
    ours: int
    conditions: str
    suspects: int = 0
    suspects_ours: int = 0
    not_read: int = 0


class JudgedFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judgement of a finding.

    Attributes:
        pass_name: The culprit.
        oracle: The oracle that failed.
        id: Identifier of the signature.
        met: Cases that showed it.
        state: State in the campaign.
        whose: Who is wrong.
        seeds: Campaigns that met it first; empty for errors of this program, which were not told apart by campaign.
        like: A finding or a case of the corpus with the same kind of failure.
        case: The case of the corpus that shows it.
        reason: What is wrong, in a line; empty where ``like`` or ``case`` says all.
        family: Of the finding, where it was recorded: another finding of it is perhaps of this cause.
        operators: Of its minimized module, where its symptom says nothing of the cause.
    """

    pass_name: str = msgspec.field(name="pass")
    oracle: OracleName
    id: str
    met: int
    state: FindingState
    whose: Literal["tvm", "ours", "debatable"]
    seeds: tuple[int, ...] = ()
    like: str = ""
    case: str = ""
    reason: str = ""
    family: str = ""
    operators: tuple[str, ...] | None = None


class Audit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The campaigns of ``corpus/audit.toml``, oldest first, and their findings by pass, oracle and identifier."""

    campaigns: tuple[AuditedCampaign, ...] = msgspec.field(name="campaign")
    findings: tuple[JudgedFinding, ...] = msgspec.field(name="finding")


def load_audit() -> Audit:
    """Read the audit; raises ``TomlError``, or ``msgspec.ValidationError`` for what is no judgement."""
    return msgspec.convert(read_toml(AUDIT_DATA).table, Audit)


def render_audit(audit: Audit) -> str:
    """Render the audit as Markdown: the campaigns' figures, then every finding in one table."""
    campaigns = [
        (each.seed, each.minutes, f"{each.cases:,}", each.findings, each.findings - each.ours, each.ours,
         f"{each.suspects}, {each.suspects_ours} of them ours" if each.suspects else "", each.not_read or "",
         each.conditions)
        for each in audit.campaigns
    ]  # fmt: skip
    findings = [
        (each.pass_name, each.oracle, f"`{each.id}`", each.met, each.state, _WHOSE[each.whose],
         ", ".join(map(str, each.seeds)), _finding_or_case(each.like), _link(each.case) if each.case else "",
         each.reason)
        for each in audit.findings
    ]  # fmt: skip
    wrong = sum(each.whose == "tvm" for each in audit.findings)
    lines = [
        _AUDIT_HEAD.format(campaigns=len(campaigns)),
        *_table(("seed", "min", "cases", "findings", "TVM", "ours", "suspects", "not read", "conditions"), campaigns),
        f"\n## Findings: {wrong} TVM's, {len(findings) - wrong} ours\n",
        *_table(
            ("pass", "oracle", "finding", "met", "state", "whose", "first met by", "like", "case", "what is wrong"),
            findings,
        ),
    ]
    return "\n".join(lines) + "\n"


def _finding_or_case(name: str) -> str:
    return f"`{name}`" if re.fullmatch("[0-9a-f]{10}", name) else _link(name) if name else ""


DOCUMENTS: dict[Path, Callable[[], str]] = {
    BUGS: lambda: render_bugs(load()),
    AUDIT: lambda: render_audit(load_audit()),
}
"""The documents, and what makes their text."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the documents, or with ``--check`` say which are stale (exit 1)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a document is stale")
    check = parser.parse_args(arguments).check
    stale = False
    for path, render in DOCUMENTS.items():
        text = render()
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is stale: run python docs/generator/bug_lists.py", file=sys.stderr)
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
