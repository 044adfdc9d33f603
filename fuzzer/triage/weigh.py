"""The weight of a minimized finding: what rare things it needs, and whom it blames."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.findings.assessment import Assessment, Blame, Rarity, Severity, assess, evidence_class, gravest
from fuzzer.findings.family import Edit
from fuzzer.minimizer.judge.judge import Judge, judging_oracles
from fuzzer.worker.child import Elsewhere
from fuzzer.worker.death import Death, Died
from relaxkit.passes.contract import EvidenceClass, Harm, OracleName
from relaxkit.passes.shipped import in_default_pipeline

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.findings.family import Traits
    from oracles.core.verdict import Verdict

_asked = functools.partial(Elsewhere, "fuzzer.triage.questions")
_CALLED = (("hooks", "call_hooks"), ("inference", "infer_alone"))
_OF_FUNCTIONS = frozenset({Rarity.LOCAL_FUNCTIONS, Rarity.CLOSURES})
"""What passes, and reductions, make of each other."""


def accused(judge: Judge, case: Case, verdict: Verdict, traits: Traits) -> Blame:
    """Return what is at fault for a failure; never raises for TVM."""
    found = judge.ask(Elsewhere("fuzzer.triage.blame.rules", "blame_request"), case, verdict, traits.culprit)
    for room, name in _CALLED if verdict.shown.is_death else ():
        called = judge.ask(Elsewhere(f"fuzzer.triage.blame.{room}", name), case)
        if isinstance(called, Died) and called.stage and called.death.value == verdict.shown.details.death:
            return Blame(called.stage, f"{verdict.culprit} calls it, and the process dies in the same way of it alone")
    return found if isinstance(found, Blame) else Blame(verdict.culprit)


def weigh(
    judge: Judge, case: Case, first: tuple[Case, Verdict], verdict: Verdict, at_fault: Blame
) -> tuple[Assessment, list[tuple[Case, Verdict]]]:
    """Return the assessment of a failure, and what shows wrong results of something else; never raises for TVM.

    Args:
        judge: In the worker that answers.
        case: The smallest case that shows it.
        first: The case that showed it first, and its verdict: what that does not have is not needed.
        verdict: The verdict on ``case``.
        at_fault: What is at fault.
    """
    judge = replace(judge, oracles=judging_oracles(verdict))
    rarities = [judge.ask(_asked("rare"), each, verdict.culprit) for each in (first[0], case)]
    before, present = (each if isinstance(each, frozenset) else frozenset[Rarity]() for each in rarities)
    present &= before | (_OF_FUNCTIONS if before & _OF_FUNCTIONS else before)
    ordinary = functools.partial(judge.ask, _asked("ordinary"), case, verdict, judge.oracles)
    # Not needed where the process died once more, either; what has no counterpart minimization has tried to do without.
    rare = [each for each in Rarity if each in present and ordinary(each) is False]
    told = verdict.oracle in (OracleName.CRASH, OracleName.WELL_FORMED)
    local = verdict.oracle is OracleName.LOCALITY
    asked = (_asked("takes_a_name"), case) if local else (_asked("gone"), case, Edit.NAMES, judge.oracles)
    if (told or local) and judge.ask(*asked) is True:
        rare.append(Rarity.NAMES)
    evidence = verdict.shown
    special = of_the_inputs(verdict) if of_the_inputs(first[1]) else []
    if special and ordinary(None) is not True:
        rare = sorted({*rare, *special}, key=list(Rarity).index)
    told = told or evidence.kind == "does-not-build"
    loud = gravest(verdict) is Severity.S3 and not evidence.is_death and (told or evidence.details.harm is Harm.BROKEN)
    silent = at_fault.silent and gravest(verdict) is not Severity.S1
    claimed = verdict.oracle is OracleName.POSTCONDITION and (silent or evidence.details.harm is Harm.WRONG)
    harm = judge.ask(_asked("wrong"), case, first[0], verdict.culprit) if loud or claimed else None
    wrong, worst, shown = "so results are wrong, too" if silent else "", Harm.WRONG, []
    if isinstance(harm, Died) and harm.death is Death.SIGNAL:
        wrong = f"the program crashes when it runs ({harm.kind})"
    elif isinstance(harm, tuple):
        wrong, shown = f"results are wrong, too ({harm[1].shown.kind})", [harm]
    elif not wrong and verdict.oracle in (OracleName.ROUNDTRIP, OracleName.POSTCONDITION):
        broken = judge.ask(_asked("broken_where_used"), case, verdict) if gravest(verdict) is Severity.S5 else ""
        wrong, worst = (broken if isinstance(broken, str) else ""), Harm.BROKEN
    if wrong:  # which is seen, whatever the failure rested on
        rests_on = EvidenceClass.HARD if evidence_class(verdict) is EvidenceClass.OURS else evidence_class(verdict)
        details = replace(evidence.details, harm=worst, rests_on=rests_on)
        verdict = replace(verdict, evidence=replace(evidence, details=details))
    found = assess(verdict, rare, at_fault, in_default_pipeline(verdict.culprit))
    return replace(found, reason="; ".join(filter(None, (found.reason, wrong)))), shown


def of_the_inputs(verdict: Verdict) -> list[Rarity]:
    """Say on which special inputs a program went wrong, if it did: it is run on ordinary ones first."""
    from oracles.measure.input_variations import SPECIAL, Variation

    asked = "" if verdict.evidence is None else verdict.evidence.details.variation
    if asked == Variation.NO_ELEMENTS.value:
        return [Rarity.EMPTY]
    return [Rarity.VALUES] if asked in {each.value for each in SPECIAL} else []
