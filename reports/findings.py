"""Findings as every report shows them: whether one fails a build, its message in a line, its module and its script."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.core.text import Standing, first_line, first_lines, printable
from fuzzer.gate.judge import GateResult
from fuzzer.store.database import StoreError
from fuzzer.store.door import read_script
from fuzzer.store.records import FindingRecord, FindingState
from relaxkit.files import read_text
from relaxkit.passes.pass_ref import PassRef
from relaxkit.text_enum import TextEnum

# A module that was not minimized may be long; the report is to be read.
_MAX_LINES, _MAX_CHARACTERS = 200, 40_000
MOST_BYTES = 400_000
"""Scripts beyond this are named, not shown: constants of weights may be in them."""


class Disposition(TextEnum):
    """The meaning of a finding for a build."""

    FAILS = "fails"
    NOTED = "noted"  # new, but the policy only notes it, or takes it over from the baseline
    KNOWN = "known"
    QUESTION = "question"  # against a claim of ours
    SUSPECT = "suspect"  # seen, but not proven


_BY_ITSELF = {
    Standing.FINDING: Disposition.FAILS, Standing.QUESTION: Disposition.QUESTION, Standing.SUSPECT: Disposition.SUSPECT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dispositions:
    """The meaning of a campaign's findings for a build, under a policy or without one.

    Attributes:
        policy: By id, what the policy makes of each; ``None`` without a policy, where the campaign's own list decides.
        excuses: By id, the reference and the reason of known ones.
        families: By id, the family as people decided, where a policy was asked.
    """

    policy: Mapping[str, Disposition] | None = None
    excuses: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def under(cls, result: GateResult | None) -> Dispositions:
        """Take what a gate's result makes of the findings; without one, what the campaign itself says."""
        if result is None:
            return cls()
        found = result.findings
        policy = {record.id: Disposition.FAILS for record in found.new}
        policy |= {record.id: Disposition.NOTED for record in (*found.noted, *found.accepted)}
        policy |= {record.id: Disposition.QUESTION for record in found.questions}
        policy |= {record.id: Disposition.SUSPECT for record in found.suspects}
        policy |= {record.id: Disposition.KNOWN for record, _ in found.known}
        excuses = {record.id: f"{entry.where}: {entry.reason}" for record, entry in found.known}
        excuses |= {record.id: "in the baseline" for record in found.accepted}
        return cls(policy, excuses, {seen.id: seen.family for seen in result.measured.seen})

    def of(self, finding: FindingRecord) -> Disposition:
        """Return what one finding means."""
        if self.policy is not None:
            return self.policy.get(finding.id, Disposition.FAILS)
        if finding.state is FindingState.KNOWN:
            return Disposition.KNOWN
        return _BY_ITSELF[finding.standing]

    def fails(self, finding: FindingRecord) -> bool:
        """Say whether a finding fails a build."""
        return self.of(finding) is Disposition.FAILS

    def family(self, finding: FindingRecord) -> str:
        """Return the id of its family."""
        return self.families.get(finding.id) or finding.family.id

    def why(self, finding: FindingRecord) -> str:
        """Say why it does not fail; empty when it does or nothing is known of it."""
        return self.excuses.get(finding.id) or first_line(finding.note)


def blame_line(finding: FindingRecord) -> str:
    """Say who is at fault where it is not the judged pass, and why a finding is no graver; empty for neither."""
    return printable(finding.assessment.beside(finding.culprit))


def users_line(finding: FindingRecord) -> tuple[str, int] | None:
    """Return where the user's pass raised, or else its definition: file in this directory's repository, and line."""
    here, named = Path.cwd(), (each for each in finding.case.passes if each.is_user)
    root = next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
    own = next((each.target.partition("(")[0] for each in named if each.name == finding.culprit), "")
    file, _, line = (finding.evidence.details.place or own).rpartition(":")
    path = Path(file) if file.endswith(".py") else here / f"{file.replace('.', '/')}.py"
    inside = path.is_relative_to(root)
    if inside and not finding.evidence.details.place:
        with contextlib.suppress(OSError, ValueError):  # no such file, or no text
            above = re.split(rf"(?m)^(?=(?:(?:class|def) )?{re.escape(line)}\b)", read_text(path), maxsplit=1)
            line = str(above[0].count("\n") + 1) if above[1:] else ""
    return (path.relative_to(root).as_posix(), int(line)) if inside and line.isdecimal() else None


def title_line(finding: FindingRecord) -> str:
    """Return what is wrong, printable."""
    return first_line(finding.title)


def shown_lines(text: str) -> str:
    """Cut a module's text to as many lines and characters as are shown."""
    text = "\n".join(first_lines(text.rstrip().splitlines(), _MAX_LINES, "# "))
    more = len(text) - _MAX_CHARACTERS
    return f"{text[:_MAX_CHARACTERS]}\n# ... {more} more characters" if more > 0 else text


def passes_text(finding: FindingRecord) -> str:
    """Return the expressions of the passes that were applied, one a line."""
    return "\n".join(_call(ref) if ref.is_user else ref.expression for ref in finding.shown_case.passes)


def _call(ref: PassRef) -> str:
    """Return the call that builds a user's pass, and where its factory is."""
    factory, _, arguments = ref.target.partition("(")  # not split_target: a stored reference may be none
    place, _, name = factory.rpartition(":")
    return f"{name}({arguments or ')'}  # {place}"


def script_text(directory: Path, repro: str | None) -> str | None:
    """Read the script at ``repro`` in a campaign's directory; ``None`` when there is none that may be shown."""
    try:
        return read_script(directory, repro, MOST_BYTES)
    except StoreError:
        return None
