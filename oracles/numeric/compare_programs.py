"""The comparison of a transformed program with the original: does it build, run, agree, leave inputs alone?

One call is judged in :mod:`oracles.numeric.compare_call`, further ones on other inputs and in other memory in
:mod:`oracles.numeric.repeated_calls`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tvm import relax

from oracles.calling import prepare
from oracles.calling.gradient import Gradient
from oracles.core.evidence import evidence_of, left_unlegalized, unbuildable
from oracles.core.verdict import Evidence, Phase, Undecided
from oracles.gradient.oracle import KIND, Unmeasurable, examine_gradient, gradients_of, right_in_operators
from oracles.measure.comparison import compare
from oracles.measure.input_variations import Variation
from oracles.measure.interpret import interpretable
from oracles.measure.original import Entry, Original
from oracles.numeric.compare_call import Candidate, Finding, Undecidable, compare_function
from oracles.numeric.repeated_calls import OF_MEMORY, by_memory, examine_again
from relaxkit.ir.edits import without
from relaxkit.ir.functions import has_attribute
from relaxkit.ir.walk import operator_has, operator_of
from relaxkit.passes.claims.common import placed
from relaxkit.passes.claims.rewrite import declined, knows_operands
from relaxkit.passes.contract import Abi, EvidenceClass, NumericCheck, OracleName, Trait
from relaxkit.passes.contracts import the_pass
from relaxkit.passes.limits import Situation, reason_against
from relaxkit.runtime import ExecMode, Program, private_constants, session

if TYPE_CHECKING:
    import tvm

    from oracles.core.subject import Subject

__all__ = ["Candidate", "Finding", "Undecidable", "examine"]

CODEGEN = "VMTIRCodeGen"
_LOWERING = the_pass(Trait.LEGALIZES)
GIVEN_BACK = "an operator's legalization declines"
NOT_DEFINED = "running the module has no defined result"
# call_tir_inplace "should not be used directly, but rather should be inserted by passes that have checked whether it is
# safe" (its docstring): merging or folding the value that it overwrites is then no pass's fault. In-place calls that a
# pass has inserted are judged.
IN_PLACE = "input calls a kernel in place"
UNCLEAN = "original reads uninitialized memory"
# codegen_vm_tir.cc puts the attribute in front of the names of compiled functions, and vm.cc looks them up without it:
# such a library is to be linked into a program, and not to be loaded.
_IN_A_SYSTEM_LIBRARY = "system_lib_prefix"


def examine(original: Original, candidate: Candidate, subject: Subject, compiled: bool) -> Finding | None:
    """Return the first thing that is wrong with a candidate, or ``None``."""
    if original.built is None and not candidate.lowered:
        raise Undecidable("original does not build")
    program, error = _build(candidate, ExecMode.BYTECODE, subject)
    if program is None:
        assert error is not None
        if original.built is None and not left_unlegalized(error):
            raise Undecidable("original does not build")
        if reason := reason_against(NumericCheck.BUILD, Situation(subject.plan.steps, None, error, candidate.module)):
            raise Undecidable(reason)
        if not candidate.lowered and _dead_code_alone(candidate.module, original.module):
            raise Undecidable("dead code does not build")
        if left_unlegalized(error) and _gives_back(candidate.module):
            raise Undecidable(GIVEN_BACK)
        failure = unbuildable(error)
        if original.built is None:
            vague = _of_unknown_shape(original.module, f"relax.{failure.details.operator}")
            details = replace(failure.details, rests_on=EvidenceClass.OURS) if vague else failure.details
            failure = replace(failure, expected="the module builds", details=details)
        return Finding(failure, unlegalized=left_unlegalized(error))
    if original.built is None:
        raise Undecidable("original does not build")
    if not subject.defined:
        raise Undecidable(NOT_DEFINED)
    runnable = [entry for entry in original.entries if not entry.problem]
    if not runnable:
        raise Undecidable(original.entries[0].problem if original.entries else "no public function")
    undecidable: list[str] = []
    decided: list[Entry] = []
    for entry in runnable:
        try:
            found = compare_function(original, candidate, program, entry, subject, ExecMode.BYTECODE)
        except Undecidable as error:
            undecidable.append(str(error))
            continue
        decided.append(entry)
        if found is not None:
            _ask_whether_defined(original, entry, found)
            return _found(original, by_memory(original, candidate, program, entry, subject, found), subject)
    for entry in decided:
        further = examine_again(original, candidate, program, entry, subject)
        if further is not None:
            _ask_whether_defined(original, entry, further.evidence)
            return _found(original, further.evidence, subject, further.variation)
    if (wrong := _adjoints(original, candidate, program, runnable, subject)) is not None:
        return wrong
    if len(undecidable) == len(runnable):
        raise Undecidable(undecidable[0])
    if not compiled or undecidable or has_attribute(candidate.module, _IN_A_SYSTEM_LIBRARY):
        return None
    return _compiled_mode(original, candidate, runnable, subject)


def _ask_whether_defined(original: Original, entry: Entry, found: Evidence) -> None:
    if not original.fits(entry):
        raise Undecidable(NOT_DEFINED)
    # A reduction over nothing, say, leaves its output as the memory was: TVM 0.25 gave six passes one after another a
    # wrong value for it that no fresh process had (relax.sum of shape (0, n)).  That LegalizeOps lowers it to that is a
    # finding of its own (oracles/semantics).
    if found.kind in OF_MEMORY and not original.clean(entry):
        raise Undecidable(UNCLEAN)


def _found(original: Original, found: Evidence, subject: Subject, variation: Variation = Variation.DEFAULT) -> Finding:
    """Find what is wrong at run time; raises ``Undecidable`` where that is no fault of the passes."""
    if original.calls_in_place and found.kind in OF_MEMORY:
        raise Undecidable(IN_PLACE)
    raised = Situation(subject.plan.steps, lambda index: subject.module, found, subject.output_module)
    if found.kind == "run-error" and (reason := reason_against(NumericCheck.RUN, raised)):
        raise Undecidable(reason)
    return Finding(found, variation=variation)


def _adjoints(
    original: Original, candidate: Candidate, program: Program, runnable: list[Entry], subject: Subject
) -> Finding | None:
    """Find what is wrong with the functions that Gradient has added.

    Raises:
        Undecidable: Gradient is the only pass, and nothing can be said of what it has added.
    """
    entries = {entry.symbol: entry for entry in runnable}
    reason = ""
    for gradient, later, changed in gradients_of(candidate.adapters):
        if changed or gradient.function not in entries or not program.has(gradient.adjoint):
            reason = Undecided.NOTHING_TO_DIFFERENTIATE.value
            continue
        subject.stage(OracleName.NUMERIC, stage=Phase.RUN, entry=gradient.adjoint)
        try:
            found = examine_gradient(original, program, gradient, later, entries[gradient.function], candidate.promise)
        except Unmeasurable as error:
            reason = str(error)
            continue
        if found is not None:
            return Finding(found, _LOWERING if _lowered_wrongly(original, gradient, entries, found, subject) else "")
    if reason and len(subject.plan.steps) == 1:
        raise Undecidable(reason)
    return None


def _lowered_wrongly(
    original: Original, gradient: Gradient, entries: Mapping[str, Entry], found: Evidence, subject: Subject
) -> bool:
    """Say whether what Gradient has added is right before its operators are lowered."""
    steps = subject.plan.steps
    asked = [index for index, step in enumerate(steps) if step.contract.abi is Abi.GRADIENT]
    if found.kind != KIND or len(asked) != 1 or not interpretable(steps[: asked[0] + 1], adapted=False):
        return False
    return right_in_operators(original, subject.chain[asked[0]].module, gradient, entries[gradient.function])


def _compiled_mode(original: Original, candidate: Candidate, runnable: list[Entry], subject: Subject) -> Finding | None:
    """Compare in compiled mode what agreed in bytecode; blames the code generator when the original fails as well."""
    program, error = _build(candidate, ExecMode.COMPILED, subject)
    guilty = CODEGEN if original.compiled is None else ""
    if program is None:
        assert error is not None
        return Finding(unbuildable(error, ExecMode.COMPILED.value), guilty)
    for entry in runnable:
        found = compare_function(original, candidate, program, entry, subject, ExecMode.COMPILED)
        if found is not None:
            return Finding(found, guilty or ("" if _original_agrees(original, entry) else CODEGEN))
    return None


def _original_agrees(original: Original, entry: Entry) -> bool:
    """Say whether the original gives the same in both execution modes."""
    if original.compiled is None:
        return False
    try:
        return compare(entry.output, original.compiled.call(entry.symbol, entry.arguments)) is None
    except Exception:
        return False


def _build(candidate: Candidate, mode: ExecMode, subject: Subject) -> tuple[Program | None, Evidence | None]:
    subject.stage(OracleName.NUMERIC, stage=Phase.BUILD, mode=mode.value)
    prepare(candidate.adapters)
    try:
        return session().build(private_constants(candidate.module), mode, lowered=candidate.lowered), None
    except Exception as error:
        return None, evidence_of(error)


def _dead_code_alone(module: tvm.IRModule, original: tvm.IRModule) -> bool:
    """Say whether a module builds once the dead code of both, functions that nothing calls included, is dropped.

    LegalizeOps drops dead code from some modules and not from others (where there are devices, it does), so that the
    original, with the same dead code, may build all the same. AttachGlobalSymbol makes all functions public.
    """
    clean = relax.transform.DeadCodeElimination()
    kept = {var.name_hint for var in clean(original).get_global_vars()}
    unused = [var.name_hint for var in original.get_global_vars() if var.name_hint not in kept]
    builds = session().builds
    return builds(clean(module)) or (bool(unused) and builds(clean(without(module, unused))))


def _gives_back(module: tvm.IRModule) -> bool:
    """Say whether a legalization gives a call of the module back, which is how it refuses what it has no kernel for."""
    calls = (place.value for _, place in placed(module) if operator_of(place.value))
    return any(operator_has(operator_of(call), "FLegalize") and declined(call) for call in calls)


def _of_unknown_shape(module: tvm.IRModule, operator: str) -> bool:
    """Say whether a module calls an operator on shapes that are unknown: a question, since legalize_ops.cc says that
    "legalization requires the argument shapes to be known"; where a pass has made them unknown, that is to blame.
    """
    calls = (place.value for _, place in placed(module) if operator_of(place.value) == operator)
    return any(not knows_operands(call) for call in calls) and not operator_has(operator, "RequiresArgumentShapes")
