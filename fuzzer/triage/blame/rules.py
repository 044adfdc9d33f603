"""Which questions are asked of which failure, in their order."""

from __future__ import annotations

from collections.abc import Callable

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Blame, Culprit
from fuzzer.findings.family import symptom_of_verdict
from fuzzer.triage.blame import inside
from fuzzer.triage.blame.behind import loses_infos, overwriting, pass_behind, reader
from fuzzer.triage.blame.failed_case import SIGNATURE, UNBUILT, FailedCase
from fuzzer.triage.blame.hooks import gradient, hook_raising, hook_wrong, layout
from fuzzer.triage.blame.inference import builder, inference, inference_of_others, placing
from fuzzer.triage.blame.operators import conversion, documented, generator, lowering, reductions, retyped, unlowered
from oracles.core.verdict import NOT_AS_DOCUMENTED, Notation, Verdict
from oracles.gradient.oracle import KIND as WRONG_GRADIENT
from oracles.measure.input_variations import Variation
from relaxkit.passes.contract import Circumstance, OracleName, Trait
from relaxkit.passes.contracts import the_pass

_OTHERWISE = frozenset({"not-done", "wrong-value", WRONG_GRADIENT})
_OF_REGISTERS = ("VirtualMachineImpl::WriteRegister", "VirtualMachineImpl::ReadRegister")
_MACHINE = Blame(str(Culprit.MACHINE), "registers are named by the virtual machine's code generator, not by modules")
_SHAPES = Blame(the_pass(Trait.FORGETS_SHAPES), "what it makes is all that writes and reads values of symbolic dims")
_When = Callable[[FailedCase], bool]
_Rule = Callable[[FailedCase], Blame | None]
"""Says who is at fault, if that is not the judged pass; ``None`` for the next rule."""


def blame_request(case: Case, verdict: Verdict, elementary: str) -> Blame:
    """Return, in a worker, who is at fault; the judged pass where nothing speaks for another.

    Args:
        case: The minimized case.
        verdict: Its verdict.
        elementary: The most elementary pass at which the failure shows (``fuzzer.triage.traits``).
    """
    failed = FailedCase(case, verdict, elementary)
    rules = next(rules for of_them, rules in _RULES if of_them(failed))
    found = next(filter(None, (rule(failed) for rule in rules)), None)
    return found if found is not None and found.name != verdict.culprit else Blame(verdict.culprit)


def _if(when: _When, rule: _Rule) -> _Rule:
    return lambda failed: rule(failed) if when(failed) else None


def _function(failed: FailedCase) -> Blame | None:
    """Blame the function of TVM that the claim is about, and that is not the judged pass."""
    name = failed.evidence.details.function
    return Blame(name, "it gives something else than documented") if name else None


def _is_of_a_step(failed: FailedCase) -> bool:
    return failed.index is not None


def _is_by(oracle: OracleName) -> _When:
    return lambda failed: failed.verdict.oracle is oracle


_crashes = _is_by(OracleName.CRASH)


def _lowers(failed: FailedCase) -> bool:
    named = (*failed.step.contract.inside, failed.elementary)
    return Trait.LOWERS_OPERATORS in failed.step.contract.traits or the_pass(Trait.LEGALIZES) in named


def _is_of_kind(*kinds: str) -> _When:
    return lambda failed: failed.evidence.kind in kinds


def _is_of_a_register(failed: FailedCase) -> bool:
    return any(each.endswith(_OF_REGISTERS) for each in failed.evidence.frames[:1])


def _reads_shapes(failed: FailedCase) -> bool:
    return failed.evidence.kind == "uninitialized-read" and "heap_data[" in failed.evidence.details.error


def _is_of_no_elements(failed: FailedCase) -> bool:
    return failed.evidence.details.variation == Variation.NO_ELEMENTS.value and reductions(failed) is not None


def _is_of_a_gradient(failed: FailedCase) -> bool:
    return failed.evidence.kind == WRONG_GRADIENT and failed.evidence.details.operator.startswith("relax.")


def _is_not_loaded(failed: FailedCase) -> bool:
    return failed.evidence.details.notation is Notation.JSON and reader(failed) is not None


def _modifies(failed: FailedCase) -> bool:
    details = failed.evidence.details
    return failed.evidence.kind == "mutated" or details.circumstance == Circumstance.IMMUTABLE.value


_UNBUILT_RULES: tuple[_Rule, ...] = (
    pass_behind,
    _if(_is_of_a_step, layout),
    lowering,
    _if(_is_of_kind("run-error"), retyped),
    *(_if(_is_of_a_step, each) for each in (inside.pass_inside, inside.sharing, unlowered)),
)
_FORM_RULES: tuple[_Rule, ...] = (
    _function,
    _if(_is_of_kind(*_OTHERWISE), hook_wrong),
    *(_if(_crashes, each) for each in (inside.printer, inside.matcher, inside.spoiler)),
    _if(_is_of_kind("ill-formed", SIGNATURE), inside.stale),
    inside.analysis_inside,
    _if(_is_of_kind(SIGNATURE, "mistyped-call"), _if(_lowers, retyped)),
    _if(_is_by(OracleName.IDEMPOTENCE), inside.nothing_else),
    _if(_is_of_kind("ill-formed"), inside.nested),
    inside.pass_inside,
    inside.sharing,
    hook_raising,
    inference,
    _if(lambda failed: not _crashes(failed), builder),
    _if(lambda failed: _crashes(failed) and symptom_of_verdict(failed.verdict).place != "", lowering),
    _if(lambda failed: _crashes(failed) and _lowers(failed), retyped),
    _if(_crashes, hook_wrong),
    placing,
    inference_of_others,  # late: some of it kills the process
    builder,
)
_RULES: tuple[tuple[_When, tuple[_Rule, ...]], ...] = (
    (_is_of_a_register, (lambda _: _MACHINE,)),
    (lambda failed: failed.evidence.kind in UNBUILT and loses_infos(failed), ()),
    (_is_of_kind(*UNBUILT), _UNBUILT_RULES),
    (_reads_shapes, (lambda _: _SHAPES,)),
    (_is_of_kind("second-call-differs", "later-call-differs"), (overwriting,)),
    (_is_of_no_elements, (reductions,)),
    (_is_of_kind(NOT_AS_DOCUMENTED), (conversion, generator, documented)),
    (_is_of_a_gradient, (gradient,)),
    (_is_not_loaded, (reader,)),
    (lambda failed: failed.index is None, ()),
    (_modifies, (inside.writer,)),
    (_is_by(OracleName.NUMERIC), (_if(_is_of_kind(*_OTHERWISE), hook_wrong),)),
    (lambda _: True, _FORM_RULES),
)
"""The rules of each kind of failure, by the first that holds: none where the judged pass is at fault."""
