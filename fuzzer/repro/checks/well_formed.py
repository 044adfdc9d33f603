"""The well-formed oracle in a script: well-formed input gives well-formed output, signatures are kept."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.checks.check import Check, FailingCase
from fuzzer.repro.pieces.frame import complaint, first_line, run_passes
from relaxkit.ir.call_types import ill_typed_call
from relaxkit.ir.functions import public_functions, relax_functions
from relaxkit.ir.types import without_agreed_devices

WELL_FORMED_PIECES = ("relaxkit/ir/types.py", "relaxkit/ir/call_types.py", "fuzzer/repro/checks/well_formed.py")
_OF_TYPES = {
    "contradicted-type": "check_contradicted_type(module, passes)",
    "mistyped-call": "check_calls(module, passes)",
    "signature": "check_signatures(module, passes)",
}


def build_well_formed(failure: FailingCase) -> Check:
    """Make the check of what passes give."""
    call = _OF_TYPES.get(failure.kind, f"check_well_formed(module, passes, {failure.fragments!r})")
    return Check(call, WELL_FORMED_PIECES)


def check_well_formed(module: Any, passes: list[Any], fragments: list[str]) -> tuple[str, str]:
    """TVM's own checker on the output of every pass in turn."""
    if complaint(module):
        return "ENVIRONMENT", f"the input is ill-formed here: {first_line(complaint(module))}"
    other = ""
    for item in passes:
        module = run_passes([item], module)
        said = complaint(module)
        if said and all(part in said for part in fragments):
            return "BUG", f"the output is ill-formed: {first_line(said)}"
        other = other or said
    return ("DIFFERENT", f"another complaint: {first_line(other)}") if other else ("OK", "the output is well formed")


def check_contradicted_type(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Return the declared return type of a function must have values in common with its body's type."""
    for name, function in relax_functions(run_passes(passes, module)):
        check = relax.analysis.type_base_check(function.ret_ty, function.body.ty)
        if check == relax.analysis.BaseCheckResult.FAIL_L0:
            return "BUG", f"{name} declares {function.ret_ty} and its body has type {function.body.ty}"
    return "OK", "declared return types agree with the bodies"


def check_calls(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Calls of the module's own functions fit them, as they are after the passes."""
    if ill_typed_call(module) is not None:
        return "ENVIRONMENT", "a call of the input does not fit here"
    found = ill_typed_call(run_passes(passes, module))
    if found is None:
        return "OK", "all calls fit the functions that they call"
    callee, caller, complaint = found
    return "BUG", f"{caller} calls {callee}, which does not fit: {first_line(complaint)}"


def check_signatures(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Public functions keep their parameter types; a return type may only become narrower."""
    before, after = public_functions(module), public_functions(run_passes(passes, module))
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            return "BUG", f"the public function {name} is gone"
        if tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
            continue
        olds = tvm.ir.TupleType([item.ty for item in old.params])
        news = tvm.ir.TupleType([item.ty for item in new.params])
        if not tvm_ffi.structural_equal(olds, news, map_free_vars=True):
            return "BUG", f"{name}: parameter types {olds} became {news}"
        ours = relax.analysis.definable_tir_vars_in_type(olds)
        theirs = relax.analysis.definable_tir_vars_in_type(news)
        renamed = {there: here for there, here in zip(theirs, ours) if not there.same_as(here)}  # noqa: B905 - as in plain.py
        result = new.bind_symbolic_vars(renamed).ret_ty if renamed else new.ret_ty
        wide, narrow = without_agreed_devices(old.ret_ty, result)
        if not wide.is_base_of(narrow):
            return "BUG", f"{name}: return type {old.ret_ty} became {result}"
    return "OK", "public signatures are kept"
