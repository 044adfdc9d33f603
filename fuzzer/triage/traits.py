"""Traits of a minimized finding that families need to know beyond its evidence.

Where it shows first: many passes end in another pass, or rewrite with machinery that a more elementary pass is nothing
but.  So the minimized module is given to the elementary passes alone, and to those inside of the pass: the first that
shows the same failure is where it comes from.

What it hangs on, as two edits of the module tell: a failure that goes away with other names of functions is about a
name that is taken, whatever it looks like; one that type inference of an operator raises, and that goes away with
numbers for symbolic dims, is about those dims, whichever operator it is.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from fuzzer.findings.family import Edit, Skeleton, Traits, symptom_of_verdict
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.worker.child import Elsewhere
from relaxkit.passes.pass_ref import PassRef

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.verdict import Verdict


_asked = functools.partial(Elsewhere, "fuzzer.triage.questions")
ELEMENTARY = (
    "Normalize", "CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination", "RemovePurityChecking",
)  # fmt: skip
"""What other passes run inside, or rewrite with, the simplest first; all of them take no arguments."""


def find_traits(judge: Judge, case: Case, verdict: Verdict) -> Traits:
    """Return the origin of a failure that ``case``, minimized, shows; never raises for what TVM does.

    Args:
        judge: Of the failure's oracle.
        case: The smallest case that shows it.
        verdict: Its verdict.
    """
    skeleton = judge.ask(_asked("skeleton"), case.module_json)
    culprit = _origin(judge, case, verdict) or verdict.culprit
    gone = frozenset(edit for edit in _telling(verdict) if judge.ask(_asked("gone"), case, edit, judge.oracles) is True)
    return Traits(culprit, skeleton if isinstance(skeleton, Skeleton) else Skeleton(), gone)


def _telling(verdict: Verdict) -> tuple[Edit, ...]:
    """Return the edits that can tell more of a failure than its words: a query each, for few."""
    symptom = symptom_of_verdict(verdict)
    if not symptom.laddered or symptom.mute:
        return ()
    return (Edit.NAMES, Edit.NUMBERS) if symptom.refused else (Edit.NAMES,)


def _origin(judge: Judge, case: Case, verdict: Verdict) -> str:
    """Return the most elementary pass that shows the same failure alone, or else is seen to make it; empty for none."""
    laddered = symptom_of_verdict(verdict).laddered
    asked = Elsewhere("fuzzer.triage.blame.inside", "passes_inside")
    found = None if verdict.shown.is_death else judge.ask(asked, case, verdict)
    seen, inside = cast("tuple[str, tuple[str, ...]]", found) if isinstance(found, tuple) else ("", ())
    names = itertools.takewhile(lambda name: name != verdict.culprit, dict.fromkeys((*ELEMENTARY, *inside)))
    return next((name for name in names if laddered and shown_by(judge, case, verdict, name)), seen)


def shown_by(judge: Judge, case: Case, verdict: Verdict, name: str) -> list[tuple[Case, Verdict]]:
    """Return the case in which an elementary pass alone shows the same failure, and its verdict; or nothing."""
    alone = replace(case, passes=(PassRef(name, f"relax.transform.{name}()"),))
    return [(alone, other) for other in judge.verdicts(alone) if _same(other, verdict)][:1]


def _same(other: Verdict, verdict: Verdict) -> bool:
    """Say whether two failures of one module look the same, the passes apart."""
    if symptom_of_verdict(other) != symptom_of_verdict(verdict) or verdict.evidence is None:
        return False
    return verdict.evidence.is_death or signature(other).message == signature(verdict).message
