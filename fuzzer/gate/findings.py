"""Findings under a policy: which are new, which are excused and by what, and what is wrong with the excuses."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fuzzer.core.text import Standing, first_line, printable
from fuzzer.findings.file import KnownFinding, KnownFindings
from fuzzer.gate.measured import GateSubject, MeasuredCampaign, SeenFinding
from fuzzer.gate.policy import Policy, Rule, Weight
from fuzzer.gate.ruling import Requirement, Ruling, RulingStatus
from fuzzer.store.known import KnownAs
from fuzzer.store.records import FindingRecord, FindingState

_MANY, _NEARLY_ALL = 3, 0.95  # checks that do not fail by chance, all or nearly all of them


@dataclass(frozen=True, slots=True)
class SortedFindings:
    """A campaign's findings by what the policy says of them.

    Attributes:
        new: Findings that are neither known nor accepted: these fail the gate, unless a rule only notes them.
        noted: The same, under rules that only note them.
        known: Listed, each with its entry.
        questions: Resting on a claim of ours; they fail nothing, unless the policy says so.
        suspects: SeenFinding, but not proven (``fuzzer.store.records.SUSPECTS``).
        accepted: In the baseline, when the policy accepts those.
        contradicted: Why a suspect cannot have come by chance, by its id: these leave no evidence, and are excused by
            an entry alone.
    """

    new: tuple[FindingRecord, ...]
    noted: tuple[FindingRecord, ...]
    known: tuple[tuple[FindingRecord, KnownFinding], ...]
    questions: tuple[FindingRecord, ...]
    suspects: tuple[FindingRecord, ...]
    accepted: tuple[FindingRecord, ...]
    contradicted: Mapping[str, str] = field(default_factory=dict)

    @property
    def all(self) -> tuple[FindingRecord, ...]:
        """All of them."""
        excused = (*self.accepted, *(record for record, _ in self.known), *self.suspects)
        return (*self.new, *self.noted, *self.questions, *excused)


def sort_findings(
    known_findings: KnownFindings,
    policy: Policy,
    rules: Sequence[Rule],
    measured: MeasuredCampaign,
    baseline: MeasuredCampaign | None,
) -> SortedFindings:
    """Sort a campaign's findings, the gravest first; ``known_findings`` are those of the release that was tested."""
    old = {each.id for each in baseline.seen} if baseline and policy.comparing.accept_findings else set()
    new, noted, known, questions, suspects, accepted = [], [], [], [], [], []
    for record, seen in sorted(zip(measured.records, measured.seen, strict=True), key=lambda pair: pair[0].rank):
        entry = known_findings.find(*seen.names)
        if entry is not None:
            known.append((record, entry))
        elif excuses_question(policy, seen):
            questions.append(record)
        elif not old.isdisjoint((record.id, record.former)):
            accepted.append(record)
        elif record.suspect:
            suspects.append(record)
        elif _weight(rules, seen) is Weight.NOTE:
            noted.append(record)
        else:
            new.append(record)
    heavy = {seen.id for seen in measured.seen if _weight(rules, seen) is Weight.FAIL}
    judged = [each for each in suspects if each.id in heavy]
    contradicted = {each.id: why for each in judged if (why := _contradiction(each, judged, measured))}
    return SortedFindings(
        tuple(new), tuple(noted), tuple(known), tuple(questions), tuple(suspects), tuple(accepted), contradicted
    )


def _contradiction(record: FindingRecord, suspects: Sequence[FindingRecord], measured: MeasuredCampaign) -> str:
    """Say why a suspect cannot have come by chance; empty if it can."""
    if record.state is FindingState.UNSCRIPTED:
        return "the oracle reports it in every fresh process, but no script shows it"
    cell = measured.count(GateSubject(str(record.oracle), record.culprit))
    failed = sum(each.count for each in suspects if (each.oracle, each.culprit) == (record.oracle, record.culprit))
    if cell.checks >= _MANY and failed >= _NEARLY_ALL * cell.checks:
        return f"{failed} of {cell.checks} checks fail, but not in fresh processes"
    return ""


def excuses_question(policy: Policy, seen: SeenFinding) -> bool:
    """Say whether a finding is a question that is only said."""
    return seen.standing is Standing.QUESTION and policy.questions is Weight.NOTE


def _weight(rules: Sequence[Rule], seen: SeenFinding) -> Weight:
    """Weigh a new finding by the narrowest rule that says something of it."""
    said = [
        ((rule.culprit is not None, rule.oracle is not None), rule.limit.new_findings)
        for rule in rules
        if rule.limit.new_findings is not None and rule.subject.holds(seen.oracle, seen.culprit)
    ]
    return max(said, key=lambda each: each[0])[1] if said else Weight.FAIL


def finding_rulings(
    found: SortedFindings, directory: Path, told: Mapping[str, KnownAs], lacks: str = ""
) -> list[Ruling]:
    """A ruling a finding, those that fail first; of new ones it is told which are cases of the corpus.

    What ``lacks`` would accept a finding, if it were there; a defect that others know is new here all the same.
    """
    rulings = []
    make = partial(_ruling, directory)
    for status, records, before in (
        (RulingStatus.FAIL, found.new, "new finding "),
        (RulingStatus.NOTE, found.noted, "new finding "),
        (RulingStatus.QUESTION, found.questions, ""),
    ):
        for record in records:
            missing = f"not {lacks}; " if lacks and before else ""
            known = f"{missing}{told[record.id].line}" if record.id in told else ""
            family = f"family {record.family.id}" if record.family.final else ""
            rulings.append(make(status, record, before, known, family))
    rulings += [make(RulingStatus.NOTE, record, "in the baseline: ") for record in found.accepted]
    for record, entry in found.known:
        rulings.append(make(RulingStatus.KNOWN, record, "", f"on your list ({entry.where}): {entry.reason}"))
    for record in found.suspects:
        why = found.contradicted.get(record.id, "")
        status, before = (RulingStatus.SHORT, "suspect ") if why else (RulingStatus.SUSPECT, "")
        ours = f"relaxfuzz contradicts itself: {why}" if why else ""
        rulings.append(make(status, record, before, ours, first_line(record.note, str(record.state))))
    return rulings


def _ruling(directory: Path, status: RulingStatus, record: FindingRecord, before: str, *more: str) -> Ruling:
    assessment = record.assessment
    # The numeric oracle fails, too, where nothing was computed.
    unbuilt = " (does not build)" if record.kind == "does-not-build" else ""
    subject = f"{before}{record.id} {assessment.grade} {record.oracle}{unbuilt} {record.culprit}"
    how = shlex.join(["relaxfuzz", "minimize", str(directory), record.id])
    early = "" if record.family.final else ", so its family is not known yet"
    facts = (
        _raised(record),
        "" if assessment.blame == record.culprit else f"at fault: {printable(assessment.blame)}",
        f"script: {directory / record.repro}" if record.repro else "",
        *more,
        f"untriaged{early}; for details, run `{how}`" if record.state is FindingState.NEW else "",
    )
    message = f"{printable(record.title)}{record.times}"
    more = tuple(filter(None, facts))
    return Ruling(status, Requirement.FINDING, subject, message, {"count": record.count}, finding=record.id, more=more)


def _raised(record: FindingRecord) -> str:
    """Write the exception that a user's pass raised, and the line that raised it; empty for other findings."""
    frames = record.evidence.details.raised_at[-1:]
    return "".join(f"{record.kind}: {first_line(record.message)}; raised at {first_line(frame)}" for frame in frames)


def excused_by(known: KnownFindings, policy: Policy) -> Callable[[SeenFinding], bool]:
    """Make a test of whether failures of a finding are excused: it is known, or a question or suspect that is noted."""
    suspects = policy.suspects is Weight.NOTE
    return lambda seen: (
        known.find(*seen.names) is not None or excuses_question(policy, seen) or (seen.suspect and suspects)
    )
