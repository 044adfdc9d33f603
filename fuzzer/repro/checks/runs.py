"""The oracles in a script that run the passes, once or again: crash, mutation, determinism and so on."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi

from fuzzer.repro.checks.check import ALONE, Check, FailingCase
from fuzzer.repro.pieces.frame import attempted, complaint, equal, error_seen, first_line, run_passes
from oracles.core.subject import REPEATS
from oracles.users_pass import LATER_EDIT
from relaxkit.ir.walk import joinable_blocks
from relaxkit.passes.contract import Idempotence
from relaxkit.passes.contracts import contract_for

RUN_PIECES = ("fuzzer/repro/checks/runs.py",)


def build_crash(failure: FailingCase) -> Check:
    """Make the check of passes that raise."""
    if failure.died:
        return ALONE
    return Check(f"check_crash(module, passes, {failure.kind!r}, {failure.error_words})", RUN_PIECES)


def check_crash(module: Any, passes: list[Any], error: str, fragments: list[str]) -> tuple[str, str]:
    """Run the passes; the defect is this error, another one is reported as different."""
    try:
        run_passes(passes, module)
    except Exception as seen:
        return error_seen(seen, error, fragments)
    return "OK", "no error"


def build_mutation(failure: FailingCase) -> Check:
    """Make the check of passes that write into their input."""
    later = f", runs={REPEATS}" if failure.evidence.message == LATER_EDIT else ""
    return ALONE if failure.died else Check(f"check_mutation(module, passes{later})", RUN_PIECES)


def check_mutation(module: Any, passes: list[Any], runs: int = 1) -> tuple[str, str]:
    """Compare the input's JSON before and after the passes ran on it, whether or not they raised."""
    before = str(tvm.ir.save_json(module))
    try:
        for _ in range(runs):
            run_passes(passes, module)
    except Exception as error:
        print(f"note: the passes raised {type(error).__name__}")
    if str(tvm.ir.save_json(module)) == before:
        return "OK", "the input is unchanged"
    found = tvm_ffi.get_first_structural_mismatch(tvm.ir.load_json(before), module)
    where = str(found[0]) if found else "a part that structural comparison ignores"
    return "BUG", f"the input module was modified in place: {where}"


def build_determinism(failure: FailingCase) -> Check:
    """Make the check of runs that differ by chance."""
    how = f"{failure.error!r}, {failure.error_words}, {failure.repeats}"
    return Check(f"check_determinism(module, passes, {how})", RUN_PIECES)


def check_determinism(
    module: Any, passes: list[Any], error: str, fragments: list[str], repeats: int
) -> tuple[str, str]:
    """Run the passes again, on the same object and on copies; random differences need several tries."""
    text = str(tvm.ir.save_json(module))
    first = run_passes(passes, module)
    for number in range(repeats):
        again = module if number % 2 else tvm.ir.load_json(text)
        try:
            output = run_passes(passes, again)
        except Exception as seen:
            return error_seen(seen, error, fragments, f"run {number + 2} raised ")
        if not equal(first, output):
            return ("DIFFERENT" if error else "BUG"), f"run {number + 2} gave a different module than the first run"
    return "OK", f"{repeats + 1} runs gave equal modules"


def build_sequential(failure: FailingCase) -> Check:
    """Make the check of ``Sequential`` against direct calls."""
    return Check(f"check_sequential(module, passes, {bool(failure.error)})", RUN_PIECES)


def check_sequential(module: Any, passes: list[Any], raises: bool) -> tuple[str, str]:
    """Direct calls first, then ``Sequential`` of the same passes, on the same input object."""
    direct, error = attempted(run_passes, passes, module)
    grouped, grouped_error = attempted(run_passes, [tvm.transform.Sequential(passes)], module)
    if error or grouped_error:
        if error and grouped_error:
            return "OK", "both ways raise"
        seen = [f"{type(each).__name__}: {first_line(each)}" if each else "no error" for each in (error, grouped_error)]
        return ("BUG" if raises else "DIFFERENT"), f"direct calls: {seen[0]}; Sequential: {seen[1]}"
    if not equal(direct, grouped):
        return ("DIFFERENT" if raises else "BUG"), "Sequential gave a different module than direct calls"
    return "OK", "both ways give equal modules"


def build_idempotence(failure: FailingCase) -> Check:
    """Make the check of runs on the passes' own output."""
    words = repr(failure.fragments) if failure.kind == "ill-formed" else failure.error_words
    runs = promised_runs(failure)
    return Check(f"check_idempotence(module, passes, {failure.kind!r}, {words}, {runs})", RUN_PIECES)


def promised_runs(failure: FailingCase) -> int:
    """Return after how many runs the contract promises that another one changes nothing."""
    contract = contract_for(failure.case.passes[0])
    joined = joinable_blocks(failure.module)
    if contract.idempotence is not Idempotence.FIXPOINT:
        return 1 + joined
    extra = contract.fixpoint_extra(failure.module) if contract.fixpoint_extra is not None else 0
    return int(contract.fixpoint_runs) + int(extra) + joined


def check_idempotence(module: Any, passes: list[Any], kind: str, fragments: list[str], runs: int) -> tuple[str, str]:
    """Run the pass on its own output; after ``runs`` runs another one must not change anything.

    ``kind`` is what goes wrong: ``not-equal``, ``ill-formed``, or the type of the exception of the further run.
    """
    previous = run_passes(passes, module)
    for number in range(2, runs + 2):
        try:
            current = run_passes(passes, previous)
        except Exception as error:
            return error_seen(error, kind, fragments, f"run {number} raised ")
        said = complaint(current)
        if said:
            fits = kind == "ill-formed" and all(item in said for item in fragments)
            return ("BUG" if fits else "DIFFERENT"), f"run {number} gave an ill-formed module: {first_line(said)}"
        if equal(previous, current):
            return "OK", f"run {number} changed nothing"
        previous = current
    if kind != "not-equal":
        return "OK", "the further runs are safe"
    return "BUG", f"run {runs + 1} on the pass's own output still changed the module"
