"""What is wrong with a transformed program against the original: does it build, run, agree, leave inputs alone?

One call is judged in :mod:`oracles.one_call`, further ones on other inputs and in other memory in
:mod:`oracles.repeats`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax

from oracles.abi import prepare
from oracles.abi.gradient import Gradient
from oracles.capture import evidence_of
from oracles.comparison import compare
from oracles.differentiation import KIND, Unmeasurable, examine_gradient, gradients_of, right_in_operators
from oracles.execution import ExecMode, Program, private_constants, session
from oracles.interpretation import interpretable
from oracles.locality_vary import without
from oracles.numeric_limits import excused, excused_run
from oracles.one_call import TOO_COARSE, UNDECIDABLE, Candidate, Undecidable, compare_function
from oracles.original import Entry, Original
from oracles.postconditions.common import operator_has, operator_of, places
from oracles.postconditions.rewrite import declined
from oracles.preconditions import relax_functions
from oracles.repeats import OF_MEMORY, by_memory, examine_again
from oracles.variations import Variation
from oracles.verdict import Evidence

__all__ = [
    "TOO_COARSE", "UNDECIDABLE", "Candidate", "Finding", "Undecidable", "examine", "left_unlegalized", "unbuildable",
]  # fmt: skip

CODEGEN = "VMTIRCodeGen"
_LOWERING = "LegalizeOps"
_GRADIENT = "Gradient"
GIVEN_BACK = "an operator's legalization declines"
NOT_DEFINED = "running the module has no defined result"
# call_tir_inplace "should not be used directly, but rather should be inserted by passes that have checked whether it is
# safe" (its docstring): merging or folding the value that it overwrites is then no pass's fault. In-place calls that a
# pass has inserted are judged.
IN_PLACE = "input calls a kernel in place"
UNCLEAN = "original reads uninitialized memory"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a transformed program.

    Attributes:
        evidence: For the verdict.
        culprit: Who is to blame when that is not the pass.
        unlegalized: Whether the code generator met an operator that no pass of the pipeline lowers.
        variation: The inputs on which it was seen.
    """

    evidence: Evidence
    culprit: str = ""
    unlegalized: bool = False
    variation: Variation = Variation.DEFAULT


def examine(original: Original, candidate: Candidate, subject: Any, compiled: bool) -> Finding | None:
    """The first thing that is wrong with a candidate, or ``None``."""
    if original.program is None and not candidate.lowered:
        raise Undecidable("original does not build")
    program, error = _build(candidate, ExecMode.BYTECODE, subject)
    if program is None:
        assert error is not None
        if original.program is None and not left_unlegalized(error):
            raise Undecidable("original does not build")
        if reason := excused(error, subject.plan.steps):
            raise Undecidable(reason)
        if not candidate.lowered and _dead_code_alone(candidate.module, original.module):
            raise Undecidable("dead code does not build")
        if left_unlegalized(error) and _gives_back(candidate.module):
            raise Undecidable(GIVEN_BACK)
        return Finding(unbuildable(error), unlegalized=left_unlegalized(error))
    if original.program is None:
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
    return _compiled_mode(original, candidate, runnable, subject) if compiled and not undecidable else None


def _ask_whether_defined(original: Original, entry: Entry, found: Evidence) -> None:
    if not original.fits(entry):
        raise Undecidable(NOT_DEFINED)
    # A reduction over nothing, say, leaves its output as the memory was: TVM 0.25 gave six passes one after another a
    # wrong value for it that no fresh process had (relax.sum of shape (0, n)).  That LegalizeOps lowers it to that is a
    # finding of its own (oracles/meaning).
    if found.kind in OF_MEMORY and not original.clean(entry):
        raise Undecidable(UNCLEAN)


def _found(original: Original, found: Evidence, subject: Any, variation: Variation = Variation.DEFAULT) -> Finding:
    """What is wrong at run time; raises ``Undecidable`` where that is no fault of the passes."""
    if original.calls_in_place and found.kind in OF_MEMORY:
        raise Undecidable(IN_PLACE)
    if reason := excused_run(found, subject.plan.steps, subject.module, subject.output_module):
        raise Undecidable(reason)
    return Finding(found, variation=variation)


def _adjoints(
    original: Original, candidate: Candidate, program: Program, runnable: list[Entry], subject: Any
) -> Finding | None:
    """What is wrong with the functions that Gradient has added.

    Raises:
        Undecidable: Gradient is the only pass, and nothing can be said of what it has added.
    """
    entries = {entry.symbol: entry for entry in runnable}
    reason = ""
    for gradient, later, changed in gradients_of(candidate.adapters):
        if changed or gradient.function not in entries or not program.has(gradient.adjoint):
            reason = "undecidable: nothing to differentiate"
            continue
        subject.stage(f"numeric run {gradient.adjoint}")
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
    original: Original, gradient: Gradient, entries: Mapping[str, Entry], found: Evidence, subject: Any
) -> bool:
    """Whether what Gradient has added is right before its operators are lowered."""
    steps = subject.plan.steps
    asked = [index for index, step in enumerate(steps) if step.ref.name == _GRADIENT]
    if found.kind != KIND or len(asked) != 1 or not interpretable(steps[: asked[0] + 1], adapted=False):
        return False
    return right_in_operators(original, subject.chain[asked[0]].module, gradient, entries[gradient.function])


def _compiled_mode(original: Original, candidate: Candidate, runnable: list[Entry], subject: Any) -> Finding | None:
    """Compare in compiled mode what agreed in bytecode; blames the code generator when the original fails as well."""
    program, error = _build(candidate, ExecMode.COMPILED, subject)
    guilty = CODEGEN if original.compiled is None else ""
    if program is None:
        assert error is not None
        return Finding(unbuildable(error), guilty)
    for entry in runnable:
        found = compare_function(original, candidate, program, entry, subject, ExecMode.COMPILED)
        if found is not None:
            return Finding(found, guilty or ("" if _original_agrees(original, entry) else CODEGEN))
    return None


def _original_agrees(original: Original, entry: Entry) -> bool:
    """Whether the original gives the same in both execution modes."""
    if original.compiled is None:
        return False
    try:
        return compare(entry.output, original.compiled.call(entry.symbol, entry.arguments)) is None
    except Exception:
        return False


def _build(candidate: Candidate, mode: ExecMode, subject: Any) -> tuple[Program | None, Evidence | None]:
    subject.stage(f"numeric build {mode.value}")
    prepare(candidate.adapters)
    try:
        return session().build(private_constants(candidate.module), mode, lowered=candidate.lowered), None
    except Exception as error:
        return None, evidence_of(error)


def _dead_code_alone(module: Any, original: Any) -> bool:
    """Whether a module builds once the dead code of both, functions that nothing calls included, is dropped.

    LegalizeOps drops dead code from some modules and not from others (where there are devices, it does), so that the
    original, with the same dead code, may build all the same. AttachGlobalSymbol makes all functions public.
    """
    clean = relax.transform.DeadCodeElimination()
    kept = {var.name_hint for var in clean(original).get_global_vars()}
    unused = [var.name_hint for var in original.get_global_vars() if var.name_hint not in kept]
    return _builds(clean(module)) or (bool(unused) and _builds(clean(without(module, unused))))


def _builds(module: Any) -> bool:
    try:
        session().build(module)
    except Exception:
        return False
    return True


def _gives_back(module: Any) -> bool:
    """Whether a legalization gives a call of the module back, which is how it refuses what it has no kernel for."""
    return any(
        operator_has(name, "FLegalize") and declined(place.binding.value)
        for _, function in relax_functions(module)
        for place in places(function)
        if (name := operator_of(place.binding.value))
    )


def left_unlegalized(error: Evidence) -> bool:
    """Whether the code generator met an operator that a stock pipeline was to lower, or to refuse itself."""
    return "cannot handle this intrinsic" in error.message or "cannot emit this Relax operator" in error.message


def unbuildable(error: Evidence) -> Evidence:
    """The evidence that a module does not build."""
    return Evidence(
        "does-not-build",
        f"{error.kind}: {_essence(error.message)}",
        error.frames,
        expected="the module builds, as it does before the pass",
        observed=f"{error.kind}: {error.message}",
    )


def _essence(message: str) -> str:
    """The code generator's complaint without the call that it quotes, whose operands differ from module to module."""
    head, quoted, call_text = message.partition("Offending call:")
    operator = re.search(r"R\.[\w.]+", call_text)
    return f"{operator.group()}: {head.splitlines()[0]}" if quoted and operator else message
