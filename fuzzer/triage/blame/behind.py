"""Blame a pass behind the judged one, of Relax or TIR, or the code generator.

Where a module does not build or run, the first that raises on a well-formed module, or makes an ill-formed one of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import tvm

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Blame, Culprit
from fuzzer.triage.blame.failed_case import FailedCase, same, unsound
from fuzzer.triage.blame.inference import rebuilt
from oracles.core.applicability import refusal_of
from oracles.core.blame import PassTrace
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import apply, complaint, has_unlisted_device
from oracles.core.verdict import Evidence, Verdict
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import is_constant, operator_of, places
from relaxkit.passes.contract import OracleName, Trait
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.runtime.compile.kernels import Checks, compile_object
from relaxkit.runtime.compile.lowering import erase_markers, halves, keep_closure_types
from relaxkit.runtime.run import session

_IN_PLACE = "relax.call_tir_inplace"
Step = tuple[str, Callable[[Any], Any]]
"""Its name, empty for one of our own, and the pass."""


def pass_behind(failed: FailedCase) -> Blame | None:
    """Find the pass of the lowering that is at fault for what does not build or run."""
    if failed.subject.facts is None or failed.subject.output.error is not None:
        return None
    found, lowered = first_at_fault(failed.made, _rest(failed))
    built = failed.evidence.kind == "does-not-build" and found is None and lowered is not None
    return of_kernels(lowered, failed.evidence) if built else found


def _rest(failed: FailedCase) -> list[Step]:
    """Return the steps behind the judged pass."""
    subject = failed.subject
    rest = range(0 if failed.index is None else failed.index + 1, len(subject.chain))
    names = ((subject.plan.steps[number].ref.name, subject.built(number)) for number in rest)
    return [*names, *lowering()]


def behind(case: Case, verdict: Verdict, blame: str) -> tuple[Case, Verdict] | None:
    """Return, in a worker, the case of a pass behind the judged one alone, and how it fails there; if it does so."""
    failed = FailedCase(case, verdict)
    if blame not in CONTRACTS or failed.subject.facts is None or failed.subject.output.error is not None:
        return None
    module = failed.made
    for _, run in itertools.takewhile(lambda step: step[0] != blame, _rest(failed)):
        module = apply(run, module).module
    found = failed.alone(module, blame, OracleName.CRASH, OracleName.WELL_FORMED)
    return next((each for each in found if each[1].culprit == blame), None)


def loses_infos(failed: FailedCase) -> bool:
    """Say whether a step loses a device that types name, or what lets its output build: TVM's checker asks for none."""
    if failed.index is None or (made := failed.made) is None:
        return False
    if has_unlisted_device(made) and not has_unlisted_device(failed.given):
        return True
    kept = {part: dict(getattr(made, part) or {}) for part in ("attrs", "global_infos")}
    had = {part: dict(getattr(failed.given, part) or {}) for part in kept}
    restored = tvm.IRModule(made.functions, **{part: {**had[part], **kept[part]} for part in kept})
    return not session().builds(made) and session().builds(restored)


def lowering() -> list[Step]:
    """List the steps of the reference pipeline (``relaxkit.runtime.compile.lowering``)."""
    named = [[(str(each.info.name), each) for each in half] for half in halves()]
    return [("", erase_markers), *named[0], ("", keep_closure_types), *named[1]]


def first_at_fault(module: Any, steps: list[Step]) -> tuple[Blame | None, Any]:
    """Run passes one after the other; return the first at fault, and else what they give.

    At fault is the first that raises on a well-formed module, or makes an ill-formed one of it.  Where the module was
    ill-formed before all of them, or one refuses it as its contract says, nobody here is; then no module is returned.
    """
    if unsound(module):
        return None, None
    seen: list[tuple[str, Any]] = [("", module)]
    for name, run in steps:
        result = apply(run, module)
        if result.error is not None:
            contract = CONTRACTS.get(name)
            if not name or (contract is not None and refusal_of(result.error, contract.refusals) is not None):
                return None, None
            if contract is not None and Trait.LEGALIZES in contract.traits:
                # A call that the judged pass has made has no meaning, or its lowering is wrong: `of_operators` asks.
                return None, None
            # Nobody can do anything with some modules, though the checker accepts them.
            spoiled = (name for name, each in seen if any(same(found, result.error) for found, _ in rebuilt(each)))
            if (maker := next(spoiled, None)) is not None:
                return (Blame(maker, "its output cannot be rebuilt") if maker else None), None
            return Blame(name, "it raises an error on a well-formed module"), None
        if unsound(result.module):
            made = "an ill-formed one" if complaint(result.module) else "one in which types contradict each other"
            return (Blame(name, f"it turns a well-formed module into {made}") if name else None), None
        module = result.module
        seen.append((name, module))
    return None, module


def of_kernels(module: Any, evidence: Evidence) -> Blame | None:
    """Find the pass of TIR, or the code generator, that refuses a well-formed kernel."""
    for var, kernel in module.functions.items():
        if not isinstance(kernel, tvm.tirx.PrimFunc) or not tvm.s_tir.analysis.verify_well_formed(kernel, False):
            continue
        trace = PassTrace()
        try:
            with tvm.transform.PassContext(instruments=[trace]):
                compile_object({"kernel": kernel}, checks=Checks.TVM)
        except Exception as error:
            running = (trace.running or [str(Culprit.LLVM)])[-1]
            if str(error).splitlines()[:1] == evidence.details.error.splitlines()[:1]:
                return Blame(running, f"it raises an error on the well-formed kernel {var.name_hint}")
    return None


def reader(failed: FailedCase) -> Blame | None:
    """Blame the part of TVM that raises when a module is read again; no frame of JSON's own code has a place."""
    try:
        tvm.ir.load_json(str(tvm.ir.save_json(failed.subject.output.module)))
    except Exception as error:
        file, _, function = evidence_of(error).frames[0].partition(":")
        if file.startswith(("include/", "src/")):
            return Blame(function, "it raises an error on what it has written itself")
    return None


def overwriting(failed: FailedCase) -> Blame | None:
    """Blame the first pass of the lowering that has a kernel write into a constant, which the next call then reads."""
    module = failed.subject.output.module
    for name, run in [("", lambda given: given), *lowering()]:
        if (module := apply(run, module).module) is None:
            return None
        bound = {each.var: each.value for _, function in relax_functions(module) for each in places(function)}
        calls = [call for call in bound.values() if operator_of(call) == _IN_PLACE]
        written = [call.args[1].fields[at] for call in calls for at in call.attrs.inplace_indices if at >= 0]
        if any(is_constant(bound.get(each, each)) for each in written):
            return Blame(name, "it passes a constant as an operand that a kernel overwrites") if name else None
    return None
