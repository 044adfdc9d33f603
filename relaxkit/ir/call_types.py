"""Calls within a module that do not fit the functions that they call, as those are now."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import mentioned_functions, relax_items
from relaxkit.ir.types import without_devices
from relaxkit.ir.walk import expressions, operator_of

_OF_KERNELS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")


def ill_typed_call(module: tvm.IRModule, devices: bool = True) -> tuple[str, str, str] | None:
    """The first call whose type cannot be inferred from the called function's type, or ``None``; of closures as well.

    TVM's checker compares a call with the type that its ``GlobalVar`` remembers, which is not that of the function once
    a pass has given it other parameters (measured on RealizeVDevice, which puts a device into the parameters of a
    private function and leaves its callers alone). The next pass that infers types afresh then raises. So it is with
    ``call_tir`` of a kernel (measured on SpecializePrimFuncBasedOnCallSite, where two calls share one).

    Returns:
        The called function and its type, the caller's name, and what type inference says.
    """
    functions = dict(module.functions_items())
    for var, function in relax_items(module):
        if any(called in functions for called in mentioned_functions(function)):
            found = _ill_typed_in(function, functions, devices)
            if found is not None:
                callee, complaint = found
                return f"{callee.name_hint}: {functions[callee].ty}", var.name_hint, complaint
    return None


def _ill_typed_in(function: Any, functions: dict[Any, Any], devices: bool) -> tuple[Any, str] | None:
    builder = relax.BlockBuilder()
    for expr in expressions(function):
        if not isinstance(expr, tvm.ir.Call):
            continue
        operator = operator_of(expr)
        if isinstance(functions.get(expr.op), relax.Function):
            # A variable in its place: inference would ask a GlobalVar for what it remembers.
            callee, args = relax.Var(expr.op.name_hint, functions[expr.op].ty), [*expr.args]
            if not devices:
                callee, *args = (relax.Var("nowhere", without_devices(each.ty)) for each in (callee, *args))
            try:
                made = builder.normalize(relax.Call(callee, args, expr.attrs, expr.ty_args))
            except Exception as error:
                lines = str(error).strip().splitlines()
                return expr.op, lines[0] if lines else type(error).__name__
            if relax.analysis.type_base_check(expr.ty, made.ty) == relax.analysis.BaseCheckResult.FAIL_L0:
                return expr.op, f"the call has the type {expr.ty}, its function gives {made.ty}"
        elif (
            operator == "relax.make_closure"
            and isinstance(functions.get(expr.args[0]), relax.Function)
            and (complaint := _ill_typed_closure(functions[expr.args[0]], expr.args[1]))
        ):
            return expr.args[0], complaint
        elif operator in _OF_KERNELS and expr.args[0] in functions:
            named, kernel = expr.args[0], functions[expr.args[0]]
            if tvm_ffi.structural_equal(named.ty, kernel.ty, map_free_vars=True):
                continue  # TVM's checker has asked
            present = tvm.ir.GlobalVar(named.name_hint)
            relax.expr._update_type(present, kernel.ty)
            try:
                expr.op.get_attr("FValidate")(relax.Call(expr.op, [present, *expr.args[1:]], expr.attrs, expr.ty_args))
            except Exception as error:
                return named, str(error).strip().splitlines()[-1]
    return None


def _ill_typed_closure(function: Any, held: Any) -> str:
    """Return what is wrong with the arguments that a closure holds, the last ones of its function; empty when they fit.

    No type is inferred of a closure's parameters, so that only what no argument can mend is told.
    """
    if not isinstance(held, relax.Tuple):
        return ""
    if len(held.fields) > len(function.params):
        return f"a closure holds {len(held.fields)} arguments of a function of {len(function.params)}"
    last = list(function.params)[len(function.params) - len(held.fields) :]
    for index, (param, given) in enumerate(zip(last, held.fields, strict=True)):
        if relax.analysis.type_base_check(param.ty, given.ty) == relax.analysis.BaseCheckResult.FAIL_L0:
            return f"argument {index} held by a closure: expected {param.ty}, given {given.ty}"
    return ""


def stale_call(module: tvm.IRModule) -> str:
    """Tell of a call between functions of which only the callee was changed; empty where all calls fit.

    Inference compares less: it lets a tuple pass for a function.
    """
    functions = dict(relax_items(module))
    for caller, function in functions.items():
        for call in (each for each in expressions(function.body) if isinstance(each, relax.Call)):
            if isinstance(call.op, tvm.ir.GlobalVar) and call.op in functions:
                kinds = [[type(each.ty) for each in values] for values in (call.args, functions[call.op].params)]
                if kinds[0] != kinds[1]:
                    return (
                        f"changes the parameters of {call.op.name_hint}, but not the call to it in {caller.name_hint}"
                    )
    return ""
