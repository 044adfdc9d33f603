"""Well-formedness oracle: well-formed input must give well-formed output, and keep public signatures."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro_pieces.frame import complaint, first_line, run_passes
from oracles.agreed_devices import without_agreed_devices
from oracles.call_types import unfit_call


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
    """The declared return type of a function must have values in common with its body's type."""
    for name, function in _functions(run_passes(passes, module)).items():
        check = relax.analysis.type_base_check(function.ret_ty, function.body.ty)
        if check == relax.analysis.BaseCheckResult.FAIL_L0:
            return "BUG", f"{name} declares {function.ret_ty} and its body has type {function.body.ty}"
    return "OK", "declared return types agree with the bodies"


def check_calls(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Calls of the module's own functions fit them, as they are after the passes."""
    if unfit_call(module) is not None:
        return "ENVIRONMENT", "a call of the input does not fit here"
    found = unfit_call(run_passes(passes, module))
    if found is None:
        return "OK", "all calls fit the functions that they call"
    callee, caller, complaint = found
    return "BUG", f"{caller} calls {callee}, which does not fit: {first_line(complaint)}"


def check_signatures(module: Any, passes: list[Any]) -> tuple[str, str]:
    """Public functions keep their parameter types; a return type may only become narrower."""
    before = {name: item for name, item in _functions(module).items() if _public(item)}
    after = _functions(run_passes(passes, module))
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


def _functions(module: Any) -> dict[str, Any]:
    return {str(var.name_hint): item for var, item in module.functions_items() if isinstance(item, relax.Function)}


def _public(function: Any) -> bool:
    return function.attrs is not None and "global_symbol" in function.attrs
