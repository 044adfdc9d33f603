"""Postconditions on functions of the module: of passes that drop, inline, lift or rename them, or change signatures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import (
    functions_by_name,
    has_attribute,
    is_public,
    mentioned_functions,
    private_relax_functions,
    reached_functions,
    relax_functions,
    symbol_of,
)
from relaxkit.ir.walk import operator_of, places, sequences
from relaxkit.passes.claims.common import argument, has_local_functions, read_inside, variables_read
from relaxkit.passes.contract import claimed, nothing_left


@nothing_left(
    "no unreached function is left",
    "its documentation: unused Relax functions in the module, traced from the entry functions",
)
def unreached_function_left(ran: Any) -> str:
    """Find a function that neither is an entry nor is reached from one: public ones and those asked for are entries."""
    functions = functions_by_name(ran.after)
    entries = {str(name) for name in argument(ran, 0, "entry_functions") or ()}
    entries |= {name for name, function in functions.items() if is_public(function)}
    entries |= {name for name, function in functions.items() if isinstance(function, relax.ExternFunc)}
    unreached = sorted(set(functions) - reached_functions(ran.after, entries))
    for name in unreached:
        if not _called_by_kernel(ran.after, name):
            kind = "Relax function" if isinstance(functions[name], relax.Function) else "kernel"
            return f"a private {kind} that nothing reaches is left\nleaves {name}, which is private and nothing reaches"
    return ""


def _called_by_kernel(module: Any, name: str) -> bool:
    """Say whether a kernel may call the function of that name.

    Nothing in Python walks through kernels in every release, so that their JSON is asked for a ``GlobalVar``.
    """
    kernels = (item for item in functions_by_name(module).values() if isinstance(item, tirx.PrimFunc))
    texts = (str(tvm.ir.save_json(kernel)) for kernel in kernels)
    return any('"ir.GlobalVar"' in text and f'"{name}"' in text for text in texts)


@nothing_left("no private function takes a tuple", "its documentation: expand tuple arguments to internal functions")
def tuple_parameter_left(ran: Any) -> str:
    """Find a private function with a parameter that is a tuple."""
    for var, function in private_relax_functions(ran.after):
        for param in function.params:
            if isinstance(param.ty, relax.TupleType):
                return f"a private function takes a tuple\nleaves {var.name_hint}, which is private, the tuple {param}"
    return ""


@claimed(
    "no impure function is called as a pure one",
    "documentation of relax.op.invoke_pure_closure: for calls that in reality cause no side effects",
    shown='assert "R.invoke_pure_closure(" not in After.script()',
)
def impure_closure_called_as_pure(ran: Any) -> str:
    """Find a call of a function with effects that is ``invoke_pure_closure`` now, which a later pass may drop.

    Where a function is pure by force, all calls in it are. What is declared impure and is not loses nothing.
    """
    if any(has_attribute(function, "relax.force_pure") for _, function in relax_functions(ran.before)):
        return ""
    known = {callee for callee, _ in impure_closures_called_as_pure(ran.before)}
    for callee, name in impure_closures_called_as_pure(ran.after):
        if callee not in known:
            said = f"calls the impure function {callee} with invoke_pure_closure"
            return f"an impure function is called by invoke_pure_closure\n{said}\nfunction: {name}"
    return ""


def impure_closures_called_as_pure(module: Any) -> Iterator[tuple[str, str]]:
    """Yield functions with effects whose closures are called by ``invoke_pure_closure``, each with a caller."""
    functions = functions_by_name(module)
    for name, function in relax_functions(module):
        closures: dict[Any, str] = {}
        for place in places(function):
            value = place.value
            if operator_of(value) == "relax.make_closure" and isinstance(value.args[0], tvm.ir.GlobalVar):
                closures[place.var] = str(value.args[0].name_hint)
            elif isinstance(value, relax.Var) and value in closures:
                closures[place.var] = closures[value]
            elif operator_of(value) == "relax.invoke_pure_closure":
                callee = closures.get(value.args[0], "")
                called = functions.get(callee)
                declared = isinstance(called, relax.Function) and not called.is_pure
                if declared and relax.analysis.contains_impure_call(called):
                    yield callee, name


@nothing_left("no private function is left but recursive ones", "its documentation: inline all private relax functions")
def private_function_left(ran: Any) -> str:
    """Find a private Relax function that is not recursive."""
    left = [var for var, _ in private_relax_functions(ran.after)]
    if not left:
        return ""
    recursive = {var.name_hint for group in relax.analysis.detect_recursion(ran.before) for var in group}
    for var in left:
        if var.name_hint not in recursive:
            return f"a private function that is not recursive is left\nleaves {var.name_hint}, which is private"
    return ""


@claimed("no local function is left", "its documentation: lift local functions into global scope")
def local_function_left(ran: Any) -> str:
    """Find a function that is bound inside another."""
    for name, function in relax_functions(ran.after):
        if has_local_functions(function):
            return f"a local function is left\nleaves a local function in {name}"
    return ""


@claimed(
    "public functions stand under their symbols", "its documentation: public functions appear as their global_symbol"
)
def misnamed_left(ran: Any) -> str:
    """Find a public function that stands under another name than its symbol."""
    for name, function in functions_by_name(ran.after).items():
        if symbol_of(function) not in ("", name):
            return f"a public function stands under another name than its symbol\nleaves {name} named otherwise"
    return ""


@claimed("no symbol comes or goes", "its documentation: renames only")
def symbols_changed(ran: Any) -> str:
    """Say whether the symbols of the public functions, or the number of functions, are others."""
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    symbols = [sorted(filter(None, map(symbol_of, each.values()))) for each in (before, after)]
    if symbols[0] != symbols[1]:
        return f"public symbols are others\nmakes {', '.join(symbols[1])} public instead of {', '.join(symbols[0])}"
    return "" if len(before) == len(after) else "another number of functions"


@nothing_left("no unread field of a result is left", "its documentation: remove unused outputs from internal functions")
def unused_output_left(ran: Any) -> str:
    """Find a field of a private function's result that no call projected, where all that mentions it are calls."""
    after = functions_by_name(ran.after)
    for var, function in private_relax_functions(ran.before):
        if not isinstance(function.ret_ty, relax.TupleType) or var.name_hint not in after:
            continue
        used = projected_fields(ran.before, var)
        if used is None:
            continue
        wanted = len(used) if len(used) != 1 else None
        ty = after[var.name_hint].ret_ty
        if isinstance(ty, relax.TupleType) and len(ty.fields) != wanted and len(used) < len(function.ret_ty.fields):
            # One field of several stays as itself, which may be a tuple.
            if wanted is None and tvm_ffi.structural_equal(ty, function.ret_ty.fields[min(used)], map_free_vars=True):
                continue
            return (
                f"a field of a result that no call reads is left\n"
                f"leaves fields of the result of {var.name_hint} that no call reads: {sorted(used)} are read"
            )
    return ""


def projected_fields(module: Any, var: Any) -> set[int] | None:
    """Return the fields of the results of ``var`` that are projected; ``None`` when a result is used in another way."""
    used: set[int] = set()
    called = False
    for _, function in relax_functions(module):
        if var not in mentioned_functions(function):
            continue
        results: set[Any] = set()
        for place in places(function):
            value = place.value
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar) and value.op.same_as(var):
                if not isinstance(place.binding, relax.VarBinding):
                    return None
                results.add(place.var)
        if not results:
            return None  # mentioned as a value
        called = True
        for place in places(function):
            value = place.value
            if isinstance(value, relax.TupleGetItem):
                if value.tuple_value in results:
                    used.add(int(value.index))
            elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar) and value.op.same_as(var):
                if any(item in results for item in variables_read(value)):
                    return None
            elif any(item in results for item in read_inside(value)) or _mentions(value, var):
                return None
        if any(item in results for sequence in sequences(function) for item in variables_read(sequence.body)):
            return None
    return used if called else None


def _mentions(value: Any, var: Any) -> bool:
    if isinstance(value, relax.Function | relax.If):
        return False  # their own bindings are places of their own
    return any(item.same_as(var) for item in getattr(value, "args", ()) if isinstance(item, tvm.ir.GlobalVar))


@nothing_left(
    "no unread parameter is left",
    "its documentation: remove unused parameters from internal functions; src: dims come as shapes",
)
def unused_parameter_left(ran: Any) -> str:
    """Check that parameters of a private function are those that its body read, and shapes that define its dims."""
    after = functions_by_name(ran.after)
    for var, function in private_relax_functions(ran.before):
        new = after.get(var.name_hint)
        if not isinstance(new, relax.Function):
            continue
        free = list(relax.analysis.free_vars(function.body))
        used = [param for param in function.params if any(param.same_as(item) for item in free)]
        if len(used) == len(function.params):
            continue
        if len(new.params) < len(used):
            return f"a parameter that is read is gone\ndrops a parameter of {var.name_hint} that is read"
        if not all(_brings_dims(param.ty) for param in new.params[len(used) :]):
            return f"a parameter that nothing reads is left\nleaves a parameter of {var.name_hint} unread"
    return ""


def _brings_dims(ty: Any) -> bool:
    """Say whether a parameter defines dims by its type: a shape, in TVM 0.25 a scalar whose value is the dim."""
    return isinstance(ty, relax.ShapeType) or getattr(ty, "value", None) is not None
