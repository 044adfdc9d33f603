"""Whether calls within a module fit the functions that they call, as those are now."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax


def unfit_call(module: Any) -> tuple[str, str, str] | None:
    """The first call whose type cannot be inferred from the called function's type, or ``None``; of closures as well.

    TVM's checker compares a call with the type that its ``GlobalVar`` remembers, which is not that of the function once
    a pass has given it other parameters (measured on RealizeVDevice, which puts a device into the parameters of a
    private function and leaves its callers alone). The next pass that infers types afresh then raises.

    Returns:
        The called function and its type, the caller's name, and what type inference says.
    """
    functions = {var: function for var, function in module.functions_items() if isinstance(function, relax.Function)}
    for var, function in functions.items():
        if any(called in functions for called in relax.analysis.all_global_vars(function)):
            found = _unfit_in(function, functions)
            if found is not None:
                callee, complaint = found
                return f"{callee.name_hint}: {functions[callee].ty}", var.name_hint, complaint
    return None


def _unfit_in(function: Any, functions: dict[Any, Any]) -> tuple[Any, str] | None:
    builder = relax.BlockBuilder()
    found: list[tuple[Any, str]] = []

    def look(expr: Any) -> None:
        if found or not isinstance(expr, tvm.ir.Call):
            return
        if expr.op in functions:
            call(expr)
        elif isinstance(expr.op, tvm.ir.Op) and expr.op.name == "relax.make_closure" and expr.args[0] in functions:
            complaint = _unfit_closure(functions[expr.args[0]], expr.args[1])
            if complaint:
                found.append((expr.args[0], complaint))

    def call(expr: Any) -> None:
        # A variable in its place: inference would ask a GlobalVar for what it remembers.
        callee = relax.Var(expr.op.name_hint, functions[expr.op].ty)
        try:
            builder.normalize(relax.Call(callee, expr.args, expr.attrs, expr.ty_args))
        except Exception as error:
            lines = str(error).strip().splitlines()
            found.append((expr.op, lines[0] if lines else type(error).__name__))

    relax.analysis.post_order_visit(function, look)
    return found[0] if found else None


def _unfit_closure(function: Any, held: Any) -> str:
    """What is wrong with the arguments that a closure holds, the last ones of its function; empty when they fit.

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
