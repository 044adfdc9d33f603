"""The weight of a minimized finding: what rare things it needs, and whom it blames.

A construct that minimization has not got rid of may still be there by chance.  Where it has an ordinary counterpart the
case is judged once more with that: what fails all the same does not need it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzzer.findings.assessment import Assessment, Blame, Rarity, Severity, assess, gravest
from fuzzer.findings.family import Edit
from fuzzer.minimizer.judge.judge import Judge, judge_request
from fuzzer.triage.traits import EDITS, edited
from fuzzer.worker.child import Elsewhere, breadcrumb
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Abi, Harm, OracleName, Trait
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.shipped import in_default_pipeline, in_shipped_order

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.findings.family import Traits
    from oracles.core.verdict import Verdict
    from relaxkit.ir.sketch.sketch import Sketch

_FLOAT8 = "float8"
_FORCED = "relax.force_pure"
_HINT = "relax.hint_on_device"
_CLOSURES = frozenset({"relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure"})
_DRAWN = 3  # inputs that are asked: numbers of a few elements may happen to be equal
_DIFFERENT = frozenset({"wrong-value", "wrong-shape", "wrong-dtype"})


def weigh(judge: Judge, case: Case, first: tuple[Case, Verdict], verdict: Verdict, traits: Traits) -> Assessment:
    """Return the assessment of a failure; never raises for what TVM does.

    Args:
        judge: Of the failure's oracle.
        case: The smallest case that shows it.
        first: The case that showed it first, and its verdict: what that does not have is not needed.
        verdict: The verdict on ``case``.
        traits: What else is known of ``case``.
    """
    found = [judge.ask(rare_request, each) for each in {case, first[0]}]
    present = frozenset[Rarity].intersection(*(each if isinstance(each, frozenset) else frozenset() for each in found))
    rare = [each for each in Rarity if each in present and _needed(judge, case, verdict, each)]
    evidence = verdict.shown
    special = _of_the_inputs(verdict) if _of_the_inputs(first[1]) else []
    if special and judge.ask(ordinary_request, case, None, verdict, judge.oracles) is not True:
        rare = sorted({*rare, *special}, key=list(Rarity).index)
    blame = judge.ask(Elsewhere("fuzzer.triage.blame", "blame_request"), case, verdict, traits.culprit)
    at_fault = blame if isinstance(blame, Blame) else Blame(verdict.culprit)
    builds = verdict.oracle is OracleName.WELL_FORMED or evidence.kind == "does-not-build"
    loud = gravest(verdict) is Severity.S3 and (builds or evidence.details.harm is Harm.BROKEN)
    if loud and isinstance(wrong := judge.ask(wrong_request, case, verdict.culprit), str) and wrong:
        verdict = replace(verdict, evidence=replace(evidence, details=replace(evidence.details, harm=Harm.WRONG)))
        at_fault = replace(at_fault, reason="; ".join(filter(None, (at_fault.reason, wrong))))
    return assess(verdict, rare, at_fault, in_default_pipeline(verdict.culprit))


def _of_the_inputs(verdict: Verdict) -> list[Rarity]:
    """Say on which special inputs a program went wrong, if it did: it is run on ordinary ones first."""
    from oracles.measure.input_variations import SPECIAL, Variation

    asked = "" if verdict.evidence is None else verdict.evidence.details.variation
    if asked == Variation.NO_ELEMENTS.value:
        return [Rarity.EMPTY]
    return [Rarity.VALUES] if asked in {each.value for each in SPECIAL} else []


def _needed(judge: Judge, case: Case, verdict: Verdict, rarity: Rarity) -> bool:
    if rarity not in _EDITS and rarity is not Rarity.ORDER:
        return True  # minimization has tried to do without
    return (
        judge.ask(ordinary_request, case, rarity, verdict, judge.oracles) is False
    )  # and not where the process died once more


def rare_request(case: Case) -> frozenset[Rarity]:
    """Return, in a worker, the rare things that a case has."""
    from fuzzer.core.case import load_module
    from fuzzer.minimizer.reductions.values import constants_in
    from relaxkit.ir.sketch.sketch import take
    from relaxkit.ir.sketch.slots import types_of
    from relaxkit.ir.types import parts_of_type
    from relaxkit.ir.walk import operators_of
    from relaxkit.passes.contracts import any_has, contract_for
    from strategies.detect.features import features_of
    from strategies.scope.features import Feature

    breadcrumb("traits")
    module = load_module(case)
    features, sketch, called = features_of(module), take(module), operators_of(module)
    parts = [part for ty in types_of(sketch) for part in parts_of_type(ty)]
    dtypes = [str(getattr(part, "dtype", "")) for part in parts]
    signs = {
        Rarity.VALUES: any(_special(constant) for _, constant in constants_in(sketch)),
        Rarity.EMPTY: Feature.EMPTY_TENSORS in features,
        Rarity.FLOAT8: any(dtype.startswith(_FLOAT8) for dtype in dtypes),
        Rarity.HINTS: _HINT in called and not any_has(map(contract_for, case.passes), Trait.PLACES),
        Rarity.CLOSURES: not _CLOSURES.isdisjoint(called),
        Rarity.LOCAL_FUNCTIONS: Feature.LOCAL_FUNCTIONS in features,
        Rarity.RECURSION: Feature.RECURSION in features,
        Rarity.FORCED_PURITY: any(_FORCED in func.attrs for func in sketch.relax_functions().values()),
        Rarity.PUBLIC_CALLS: bool(_called_public(sketch))
        and any(contract_for(ref).abi not in (Abi.SAME, Abi.ADDS_FUNCTIONS, Abi.GRADIENT) for ref in case.passes),
        Rarity.ORDER: len(case.passes) > 1 and not in_shipped_order([ref.name for ref in case.passes]),
    }
    return frozenset(rarity for rarity, shown in signs.items() if shown)


def _called_public(sketch: Sketch) -> list[str]:
    from relaxkit.ir.sketch import uses

    called = uses.callers(sketch)
    return [name for name, func in sketch.relax_functions().items() if called[name] and "global_symbol" in func.attrs]


def ordinary_request(given: Case, rarity: Rarity | None, verdict: Verdict, oracles: tuple[OracleName, ...]) -> bool:
    """Say, in a worker, whether a case fails in the same way without something rare.

    No where it cannot be taken away, or nothing is judged then.  Without a rarity: on ordinary inputs, with two
    elements along dims that have one, which hides what is done along them.
    """
    if rarity is Rarity.ORDER:
        alone = PassRef(verdict.culprit, f"relax.transform.{verdict.culprit}()")
        kept = next((ref for ref in given.passes if ref.name == verdict.culprit), alone)
        case: Case | None = replace(given, passes=(kept,))
    else:
        case = edited(given, functools.partial(_without, rarity))
    verdicts = [] if case is None else judge_request(case, oracles)
    return any(
        each.evidence.kind == verdict.shown.kind and not (rarity is None and _of_the_inputs(each))
        for each in verdicts
        if each.outcome is Outcome.FAIL and each.evidence is not None
    )


def wrong_request(given: Case, culprit: str) -> str:
    """Say, in a worker, how a program of which something is wrong by its form gives other results on ordinary inputs.

    As it is, as far as it builds all the same; with two elements along dims that have one; with numbers for symbols.
    """
    from fuzzer.core.case import load_module
    from oracles.core.subject import Subject
    from oracles.judge import judge
    from relaxkit.passes.contracts import contract_for

    contracts = [replace(contract_for(ref), tolerated_ill_formedness=("",)) for ref in given.passes]
    wide, static = edited(given, functools.partial(_without, None)), edited(given, EDITS[Edit.NUMBERS])
    shown = (given, ""), (wide, " where dims of 1 are 2"), (static, " where symbolic dims are numbers")
    for (case, when), seed in itertools.product(shown, range(_DRAWN)):
        if case is not None:
            subject = Subject(load_module(case), case.passes, contracts, case.input_seed + seed)
            (found,) = judge(subject, [OracleName.NUMERIC])
            kind = "" if found.evidence is None else found.evidence.kind
            if kind in _DIFFERENT and found.culprit == culprit and not _of_the_inputs(found):
                return f"results are wrong, too{when} ({kind})"
    return ""


def _without(rarity: Rarity | None, module: Any, _: Case) -> Any:
    from relaxkit.ir.sketch.emit import emit
    from relaxkit.ir.sketch.sketch import take

    sketch = take(module)
    _EDITS[rarity](sketch)
    return emit(sketch)


def _special(constant: Any) -> bool:
    """Say whether a constant holds NaN, an infinity or a denormal."""
    import numpy as np

    from oracles.measure.comparison import is_floating
    from relaxkit.interpreter.operands import limits

    values = constant.value.numpy()
    if not is_floating(values.dtype):
        return False
    wide = values.astype("float64")
    return bool(np.any(~np.isfinite(wide) | ((wide != 0) & (np.abs(wide) < float(limits(values.dtype).tiny)))))


def _plain_values(sketch: Sketch) -> None:
    from fuzzer.minimizer.reductions.values import by_ones, constants_in

    for _, constant in constants_in(sketch):
        if _special(constant):
            by_ones(sketch, constant)


def _two_for(size: int, sketch: Sketch) -> None:
    sketch.retype.dims[size] = 2


def _float16(sketch: Sketch) -> None:
    from relaxkit.ir.sketch.slots import types_of
    from relaxkit.ir.types import parts_of_type

    dtypes = {str(getattr(part, "dtype", "")) for ty in types_of(sketch) for part in parts_of_type(ty)}
    sketch.retype.dtypes.update(dict.fromkeys((each for each in dtypes if each.startswith(_FLOAT8)), "float16"))


def _unforced(sketch: Sketch) -> None:
    for func in sketch.relax_functions().values():
        func.attrs.pop(_FORCED, None)


def _private(sketch: Sketch) -> None:
    for name in _called_public(sketch):
        del sketch.functions[name].attrs["global_symbol"]


_EDITS: dict[Rarity | None, Callable[[Sketch], None]] = {
    None: functools.partial(_two_for, 1),
    Rarity.VALUES: _plain_values,
    Rarity.EMPTY: functools.partial(_two_for, 0),
    Rarity.FLOAT8: _float16,
    Rarity.FORCED_PURITY: _unforced,
    Rarity.PUBLIC_CALLS: _private,
}
"""How a rare thing is replaced by an ordinary one."""
