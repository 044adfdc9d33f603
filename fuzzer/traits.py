"""Where a failure shows first: what families need to know of a minimized finding beyond its evidence.

Many passes end in another pass, or rewrite with machinery that a more elementary pass is nothing but.  So the minimized
module is given to the elementary passes alone: the first that shows the same failure is where it comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzzer.families import Skeleton, Traits, symptom_of_verdict
from fuzzer.minimizer.judging import Judge
from fuzzer.repro_ends import is_death
from fuzzer.signatures import signature
from fuzzer.trait_edits import Edit, Trial, gone_request
from oracles.passref import PassRef
from oracles.verdict import OracleName

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

ELEMENTARY = (
    "Normalize",
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "RemovePurityChecking",
)
"""What other passes run inside, or rewrite with, the simplest first; all of them take no arguments.

RemovePurityChecking does nothing but to rebuild every function, and so to infer its types afresh.
"""
_NESTED = ("ill-formed", "signature")


@dataclass(frozen=True, slots=True)
class Nesting:
    """What :func:`nested_request` looks for: the pass inside ``culprit`` that first gives a module of the ``kind``."""

    case: Case
    culprit: str
    kind: str


def nested_request(request: Nesting) -> str:
    """Runs in a worker: the innermost public pass; empty when none is inside."""
    from fuzzer.cases import load_module
    from fuzzer.isolation import breadcrumb
    from oracles.blame import innermost_culprit
    from oracles.signature import changed_signature
    from oracles.subject import Subject

    breadcrumb("traits")
    case = request.case
    subject = Subject(load_module(case), case.passes, input_seed=case.input_seed)
    steps = subject.plan.steps
    for index in range(len(subject.chain)):
        if steps[index].ref.name != request.culprit:
            continue
        entered = subject.input_of(index)
        wrong = None if request.kind != "signature" else lambda out, of=entered: changed_signature(of, out) is not None
        if (name := innermost_culprit(subject.built(index), entered, wrong)) is not None:
            return name
    return ""


def skeleton_request(module_json: str) -> Skeleton:
    """Runs in a worker: what a module is made of."""
    import tvm

    from strategies.profile import profile_of

    profile = profile_of(tvm.ir.load_json(module_json), operands=False)
    operators = {name.removeprefix("relax.") for name in profile.operators}
    return Skeleton(tuple(sorted(operators)), tuple(sorted(set(profile.parts) - {"function"})))


def find_traits(judge: Judge, case: Case, verdict: Verdict) -> Traits:
    """The origin of a failure that ``case``, minimized, shows; never raises for what TVM does.

    Args:
        judge: Of the failure's oracle.
        case: The smallest case that shows it.
        verdict: Its verdict.
    """
    skeleton = judge.ask(skeleton_request, case.module_json)
    culprit = _elementary(judge, case, verdict) or _nested(judge, case, verdict) or verdict.culprit
    gone = frozenset(
        edit for edit in _telling(verdict) if judge.ask(gone_request, Trial(case, edit, judge.oracles)) is True
    )
    return Traits(culprit, skeleton if isinstance(skeleton, Skeleton) else Skeleton(), gone)


def _telling(verdict: Verdict) -> tuple[Edit, ...]:
    """The edits that can tell more of a failure than its words: a query each, for few."""
    symptom = symptom_of_verdict(verdict)
    if not symptom.laddered or symptom.mute:
        return ()
    return (Edit.NAMES, Edit.NUMBERS) if symptom.refused else (Edit.NAMES,)


def _nested(judge: Judge, case: Case, verdict: Verdict) -> str:
    found = verdict.evidence
    if found is None or found.kind not in _NESTED or verdict.oracle is not OracleName.WELL_FORMED:
        return ""
    name: Any = judge.ask(nested_request, Nesting(case, verdict.culprit, found.kind))
    return name if isinstance(name, str) else ""


def _elementary(judge: Judge, case: Case, verdict: Verdict) -> str:
    """The first elementary pass that shows the same failure; empty when none before the culprit does."""
    wanted = symptom_of_verdict(verdict)
    if not wanted.laddered:
        return ""
    for name in ELEMENTARY:
        if name == verdict.culprit:
            break
        alone = replace(case, passes=(PassRef(name, f"relax.transform.{name}()"),))
        if any(_same(other, verdict) for other in judge.verdicts(alone)):
            return name
    return ""


def _same(other: Verdict, verdict: Verdict) -> bool:
    """Whether two failures of one module look the same, the passes apart."""
    if symptom_of_verdict(other) != symptom_of_verdict(verdict) or verdict.evidence is None:
        return False
    return is_death(verdict.evidence) or signature(other).message == signature(verdict).message
