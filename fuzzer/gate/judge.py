"""The gate: does a campaign's record satisfy a policy?

What counts: a *check* is a pass or a failure.  A failure whose signature the policy lists as known is *excused*: it
stops nothing and is no failure in the pass rate, ``pass / (pass + fail - excused)``; otherwise a known defect would eat
the margin that is meant for new ones, and repairing it would be the only way to a green gate.  The raw rate with all
failures is printed beside it.  Excused failures still count as checks: the oracle did judge.

Any finding that is not known fails the gate, whatever the rates.  A question (``fuzzer.findings.assessment``: what it
goes against is a claim of ours) is excused like a known finding, and a suspect (``fuzzer.store.records.SUSPECTS``:
triage could not prove it) fails nothing: a build must not turn red for what comes and goes.  What does not come and go
and is not proven either, is a contradiction of our own: it leaves the gate without evidence.  With
``questions = "fail"`` they are findings like others; with ``suspects = "fail"`` their failures stay in the pass rates,
so that a triage that proves nothing does not open the gate.  Too few checks never pass: they are "not enough evidence",
unless something else fails already.

The parts are in ``fuzzer.gate.judge``; docs/gate.md argues the statistics.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from fuzzer.core.text import counted, shell
from fuzzer.core.toml import read_toml
from fuzzer.core.verb import UsageError
from fuzzer.findings.file import DEFAULT_FILE, Decisions, KnownFindings, load_decisions
from fuzzer.gate.baseline import is_baseline, read_baseline
from fuzzer.gate.entries import entry_rulings, today
from fuzzer.gate.findings import SortedFindings, excused_by, finding_rulings, sort_findings
from fuzzer.gate.limits import apply, excused_of
from fuzzer.gate.measured import Cell, GateSubject, MeasuredCampaign, measure
from fuzzer.gate.policy import Policy, Rule, Weight, load_policy
from fuzzer.gate.regressions import SUMMARY, compare, differences
from fuzzer.gate.ruling import MOST, GateExit, Requirement, Ruling, RulingStatus, exit_of
from fuzzer.store.known import recognize
from fuzzer.store.records import CampaignState, FindingRecord
from fuzzer.store.writer import Store
from oracles.core.notes import STRICT
from oracles.core.verdict import UNCOVERED, Outcome
from relaxkit.files import resolved
from relaxkit.near import near_matches

__all__ = ["GateExit", "GateResult", "judge_campaign"]
_AIM = "`run --operators` or `run --plant` generates more of what a pass acts on, a longer --time more of everything"
_ACTING = (Requirement.CHANGED, Requirement.TRIGGER, Requirement.COLLAPSE)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The gate's word and what decided it.

    Attributes:
        exit: The exit code.
        rulings: Everything that was demanded, and what came of it.
        rules: The policy's rules for this campaign.
        total: All verdicts together.
        excused: Failures of known findings among them.
        findings: The findings, sorted.
        measured: The campaign.
        baseline: What it was compared with.
        known: What is known of the release that was tested.
        first_baseline: The baseline that the policy names and that is not there yet.
        recognized: Ids of the findings that are certainly in relaxfuzz's corpus.
    """

    exit: GateExit
    rulings: tuple[Ruling, ...]
    rules: tuple[Rule, ...]
    total: Cell
    excused: int
    findings: SortedFindings
    measured: MeasuredCampaign
    baseline: MeasuredCampaign | None
    known: KnownFindings
    first_baseline: Path | None = None
    recognized: frozenset[str] = frozenset()

    def of(self, *statuses: RulingStatus) -> list[Ruling]:
        """The rulings that say one of these."""
        return [ruling for ruling in self.rulings if ruling.status in statuses]

    def by_family(self, records: Iterable[FindingRecord]) -> dict[str, list[FindingRecord]]:
        """Group findings by the family that triage determined; one without such a family stands alone."""
        family = {seen.id: seen.family for seen in self.measured.seen}
        groups: dict[str, list[FindingRecord]] = {}
        for record in records:
            groups.setdefault(family[record.id] if record.family.final else record.id, []).append(record)
        return groups

    @property
    def lacking(self) -> list[Ruling]:
        """Evidence that is lacking; in one line where that is only because the campaign did not run to completion."""
        short = self.of(RulingStatus.SHORT)
        if not any(ruling.requirement is Requirement.UNFINISHED for ruling in short):
            return short
        kept = [each for each in short if each.requirement in (Requirement.UNFINISHED, Requirement.CAMPAIGN)]
        many = counted(len(short) - len(kept), "requirement")
        detail = f"because of that, {many} cannot be judged: --explain lists all"
        return kept if len(kept) == len(short) else [*kept, _campaign(RulingStatus.SHORT, detail)]


def judge_campaign(
    policy: Policy,
    measured: MeasuredCampaign,
    baseline: MeasuredCampaign | None = None,
    history: Sequence[MeasuredCampaign] = (),
    day: datetime.date | None = None,
) -> GateResult:
    """Apply a policy to a campaign; by ``history`` entries of the known findings are stale, by ``day`` they expire."""
    rules = policy.expanded(measured.info.oracles, measured.info.passes)
    # An entry that speaks of another release excuses nothing: what fails the same way here is worth a look.
    known_here = policy.known.of(measured.info.tvm_version)
    known = excused_by(known_here, policy)
    excused = [each for each in measured.seen if known(each)]
    findings = sort_findings(known_here, policy, rules, measured, baseline)
    accepts = policy.comparing.accept_findings and baseline is not None
    told = recognize((*findings.all,), KnownFindings())
    ended = measured.info.state is CampaignState.FINISHED
    rulings = [] if ended else [Ruling(RulingStatus.SHORT, Requirement.UNFINISHED, "campaign", _unended(measured))]
    rulings += finding_rulings(findings, measured.directory, told, "in the baseline" if accepts else "on your list")
    rulings += entry_rulings(policy, measured, history, day or today())
    for rule in rules:
        rulings += apply(rule, measured, excused, policy.confidence)
    if baseline is not None:
        if set(measured.info.passes) != set(baseline.info.passes):
            detail = "the baseline covers other passes and is not compared"
            foreign = set(measured.info.passes).isdisjoint(baseline.info.passes)
            how = f"; to replace it: {_keep(measured, policy.baseline)}"
            why = f": {policy.baseline} looks like the baseline of another gate" if foreign else how
            rulings.append(_campaign(RulingStatus.SHORT, f"{detail}{why}"))
        else:
            silent = {rule.subject for rule in rules if not rule.limit.regression}
            rulings += compare(
                measured, baseline, known, policy.comparing,
                lambda each: not any(wider.holds(each.oracle, each.culprit) for wider in silent),
            )  # fmt: skip
        rulings += [_campaign(RulingStatus.NOTE, line) for line in differences(measured, baseline)]
    total = measured.count(GateSubject())
    rulings = [*_advised(rulings, measured), *_whole(policy, measured, total)]
    return GateResult(
        exit_of(rulings), tuple(rulings), rules, total, excused_of(GateSubject(), total, excused), findings, measured,
        baseline, known_here, recognized=frozenset(name for name, known in told.items() if known.certain),
    )  # fmt: skip


def _advised(rulings: Sequence[Ruling], measured: MeasuredCampaign) -> list[Ruling]:
    """Add what may help a pass that changed too few modules: if it changed more in the baseline, no other modules."""
    few = {  # a comparison comes after the limits, and is told in their stead
        each.subject: each
        for each in rulings
        if each.requirement in _ACTING and each.status is not RulingStatus.OK and each.numbers.get("judged") != 0
        if not measured.always_failed(each.subject)
    }
    more = {each: (*measured.never_ran, *[_AIM] * (each is not Requirement.COLLAPSE)) for each in _ACTING}
    return [replace(each, more=more[each.requirement]) if few.get(each.subject) is each else each for each in rulings]


def _campaign(status: RulingStatus, detail: str) -> Ruling:
    return Ruling(status, Requirement.CAMPAIGN, "campaign", detail)


def _keep(measured: MeasuredCampaign, file: Path | None) -> str:
    return _command("baseline", measured.directory, "--output", file or "FILE")


def _command(*words: object) -> str:
    return f"`{shlex.join(['relaxfuzz', *map(str, words)])}`"  # the name of a directory may hold anything


def _accepting(policy: Policy, policy_file: Path, result: GateResult) -> list[Ruling]:
    """Say how to reproduce the first finding that is not excused, and how to accept each family or all of them."""
    found = result.findings
    if not (open_ := [*found.new, *(each for each in found.suspects if each.id in found.contradicted)]):
        return []
    file, record = policy.known_file, open_[0]
    families = {seen.id: seen.family for seen in result.measured.seen}
    where = () if file is None or file.resolve() == DEFAULT_FILE.resolve() else ("--file", os.path.relpath(file))
    said = ("--reference", "URL", "--reason", "TEXT", "--campaign", result.measured.directory)
    script = shlex.quote(str(result.measured.directory / record.repro)) if record.repro else ""
    lines = [f"to reproduce {record.id}: `{shell('python')} {script}`"] if script else []
    for name, (record, *_) in itertools.islice(result.by_family(open_).items(), MOST):
        listed = [each.id for each, _ in result.findings.known if families[each.id] == name]
        how = _command("triage", "known", name, *said, *where) if file else f"add a [[known]] table to {policy_file}"
        family = f" (the family of {record.id})" if name != record.id else ""
        others = f"; {listed[0]} of the same family is already listed" if listed else ""
        lines.append(f"to accept {name}{family}: {how}{others}")
    base = result.baseline
    if (first := result.first_baseline) is not None and policy.comparing.accept_findings:
        wrong = f"{first.name} does not exist yet. If you misspelled it, correct the policy first"
        lines.append(f"to accept all of them: {_keep(result.measured, first)}; {wrong}")
    elif base is not None and policy.comparing.accept_findings and {*base.info.passes} & {*result.measured.info.passes}:
        lines.append(f"to accept all of them: {_growing(result, base, policy.baseline)}")
    return [_campaign(RulingStatus.NOTE, line) for line in lines]


def _growing(result: GateResult, baseline: MeasuredCampaign, file: Path | None) -> str:
    """Write the commands that add a campaign's findings to a baseline: its own campaign is merged with this one."""
    directory = result.measured.directory
    kept = baseline.directory
    before = directory.parent / kept.name
    known = bool(kept.name) and before.is_dir()
    names = (f"campaign-merged{f'-{number}' if number else ''}" for number in itertools.count())
    merged = next(name for name in names if not Path(name).exists())
    both = _command("merge", before if known else "EARLIER", directory, "--out", merged)
    of = f", which was called {kept.name}" if kept.name else ""
    why = "" if known else f"; EARLIER is the campaign that the baseline was made from{of}"
    return f"{both}, {_command('baseline', merged, '--output', file or 'FILE')}{why}"


def _misspelled(policy_file: Path, missing: Path) -> str:
    """Name the file that may be meant by a baseline that is missing: one of a similar name, or a baseline, that no
    policy beside this one names; empty where there is none.
    """
    taken = set()
    for file in policy_file.parent.glob("*.toml"):
        with contextlib.suppress(ValueError, UsageError):  # it is not ours to complain of
            taken.add(resolved(file.parent / str(read_toml(file).table.get("baseline", ""))))
    free = (each for each in sorted(missing.parent.glob("*.json")) if resolved(each) not in taken)
    return next((each.name for each in free if near_matches(missing.name, [each.name]) or is_baseline(each)), "")


def _unended(measured: MeasuredCampaign) -> str:
    """Say how far a campaign came that has judged less than was asked for, and how to go on."""
    info = measured.info
    if measured.merged:
        return "a campaign in it did not run to completion; resume it with its `relaxfuzz run` command, and merge again"
    come = f"{info.elapsed_seconds:.0f} s ({counted(info.examples, 'case')}) of {info.budget_text}"
    if info.state is CampaignState.RUNNING:
        return f"it is still running: {come} so far; judge it again when it has ended"
    killed = f"did not shut down cleanly (was it killed?); recorded: {come}"
    how = killed if info.state is CampaignState.KILLED else f"was interrupted after {come}"
    return f"it {how}; to resume it, run the same `relaxfuzz run` command again"


def _whole(policy: Policy, measured: MeasuredCampaign, total: Cell) -> list[Ruling]:
    rulings = []
    filed: Counter[tuple[str, str]] = Counter()
    for each in measured.seen:
        filed[each.oracle, each.culprit] += each.count
    if unfiled := sum(max(0, cell.failed - filed[key]) for key, cell in measured.cells.items()):
        rulings.append(_campaign(RulingStatus.FAIL, f"{counted(unfiled, 'failure')} without a finding"))
    if total.invalid:
        status = RulingStatus.SHORT if total.invalid > total.checks else RulingStatus.NOTE
        why = ", ".join(reason for reason, _ in measured.reasons(GateSubject(), Outcome.INVALID)[:1])
        rulings.append(_campaign(status, f"{total.invalid} verdicts are invalid and do not count, mostly: {why}"))
    noted = RulingStatus.FAIL if policy.notes is Weight.FAIL else RulingStatus.NOTE
    said_already = STRICT if policy.notes is Weight.FAIL else ""
    rulings += [
        Ruling(noted, Requirement.NOTES, "campaign", line) if UNCOVERED in line else _campaign(RulingStatus.NOTE, line)
        for line in measured.notes
        if line != said_already
    ]
    if not total.checks:
        rulings.append(Ruling(RulingStatus.SHORT, Requirement.CHECKS, "campaign", "it has no checks at all"))
    return rulings


# From paths to a verdict: campaigns and baselines are read, and what cannot be read is one line for the user.


def judged(
    directory: Path,
    policy_file: Path,
    baseline_file: Path | None = None,
    triage_file: Path | None = None,
    history: Sequence[Path] = (),
) -> GateResult:
    """A campaign's directory under a policy.

    Args:
        directory: The campaign.
        policy_file: The policy.
        baseline_file: What it is compared with; by default what the policy names.
        triage_file: Decisions on families; by default ``findings.toml``, where there is one.
        history: Earlier campaigns, directories or baselines.

    Raises:
        UsageError: For anything that cannot be read.
    """
    decisions = load_decisions(triage_file)
    measured = read_campaign(directory, decisions)
    policy, baseline, first = read_policy(policy_file, baseline_file, measured.info.passes)
    earlier = [read_campaign(each, decisions) if each.is_dir() else read_baseline(each) for each in history]
    result = replace(judge_campaign(policy, measured, baseline, earlier, given_day()), first_baseline=first)
    told = [] if first is None else [f"{first} does not exist yet, so nothing is compared"]
    missing = [Ruling(RulingStatus.NOTE, Requirement.CAMPAIGN, SUMMARY, line) for line in told]
    return replace(result, rulings=(*missing, *result.rulings, *_accepting(policy, policy_file, result)))


def given_day() -> datetime.date:
    """Return today's date, or the one that the environment gives; raises ``UsageError`` for what is none."""
    try:
        return today()
    except ValueError as error:
        raise UsageError(str(error)) from error


def read_policy(
    policy_file: Path, baseline_file: Path | None, passes: Collection[str] | None = None
) -> tuple[Policy, MeasuredCampaign | None, Path | None]:
    """Read a policy and its baseline, or the path of the baseline if there is none yet; raises ``UsageError``.

    ``passes`` are those of the campaign; without a campaign, a pass may have any name.
    """
    try:
        policy = load_policy(policy_file, passes, _all_passes)
    except ValueError as error:
        raise UsageError(str(error)) from error
    policy = policy if baseline_file is None else structs.replace(policy, baseline=baseline_file)
    path = policy.baseline
    first = None
    if baseline_file is None and path is not None and not path.exists():
        if path.suffix != ".json":  # what is written under another name could be run some day
            raise UsageError(f"{policy_file}: 'baseline' names '{path.name}', but a new baseline must be named *.json")
        if other := _misspelled(policy_file, path):
            raise UsageError(
                f"{policy_file}: 'baseline' names '{path.name}', which does not exist, but '{other}' does, and no "
                f"policy here names it: correct the name, or to begin a new baseline, move '{other}' elsewhere"
            )
        first, path = path, None
    return policy, None if path is None else read_baseline(path), first


def read_campaign(directory: Path, decisions: Decisions) -> MeasuredCampaign:
    """Read what a campaign measured; raises ``UsageError``."""
    with Store.open(directory) as store:
        return measure(store, decisions)


def _all_passes() -> Collection[str]:
    from relaxkit.passes.contracts import CONTRACTS

    return tuple(CONTRACTS)
