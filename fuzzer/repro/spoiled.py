"""What a pass did to the operands of a call before it failed on that call, in words of the program.

Type inference names the call that it raises on, not who has changed its operands.  With a call of a packed function in
its place, which takes all types, the pass ends, and its output tells; the call is made once more of the operands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.findings.signature import normalise
from fuzzer.repro.contradictions import cast, lost_first
from fuzzer.repro.telling import lost
from oracles.core.evidence import evidence_of
from oracles.core.module_facts import apply
from oracles.core.verdict import Evidence
from relaxkit.ir.edits import with_functions
from relaxkit.ir.first_difference import of_types
from relaxkit.ir.functions import relax_functions, relax_items
from relaxkit.ir.undefined import bound, undefined
from relaxkit.ir.walk import Place, callee_name, expressions_in, name_of, operator_of, places

_STAND_IN = "relaxfuzz.stand_in"
_PACKED = "relax.call_pure_packed"
_LOSES = "loses the "


def spoiled(built: Any, module: tvm.IRModule, error: Evidence) -> str:
    """Say what a pass did to the operands of a call on which inference then raised an error; empty where it did not."""
    for function in (function for _, function in relax_functions(module)):
        for place in places(function):
            call = place.value
            if isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.Op | tvm.ir.GlobalVar):
                given = _with_stand_in(module, call)
                made = None if given is None else apply(built, given).module
                taken = None if made is None else next(_stand_ins(made), None)
                if taken is not None and _raises(call, taken, error):
                    seen = (*undefined(given, made), *_retyped(function, call, taken[0], made))
                    # What inference no longer knows of an operand makes it raise, whatever else is undefined.
                    done = min(seen, key=lambda each: not each.startswith((_LOSES, "casts ")), default="")
                    on = operator_of(call) or f"the call to {callee_name(call.op)}"
                    return f"{done}, and fails on {on}" if done else ""
    return ""


def _with_stand_in(module: tvm.IRModule, call: relax.Call) -> Any:
    replacer = _Replacer(call)
    try:
        changed = {var: replacer.visit_expr(function) for var, function in relax_items(module)}
    except Exception:  # the types of some operands, as of distributed tensors, no packed function takes
        return None
    return with_functions(module, [*{**dict(module.functions_items()), **changed}.items()])


@relax.expr_functor.mutator
class _Replacer(relax.PyExprMutator):
    """Puts a call of a packed function in the place of a call."""

    def __init__(self, call: relax.Call) -> None:
        super().__init__()
        self._call = call

    def visit_call_(self, call: Any) -> Any:
        if not call.same_as(self._call):
            return super().visit_call_(call)
        operands = [relax.ExternFunc(_STAND_IN), *call.args]
        return relax.Call(tvm.ir.Op.get(_PACKED), operands, None, [call.ty])


def _stand_ins(module: tvm.IRModule) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the operands and the type arguments of calls of the packed function, however a pass has lowered them."""
    for expr in expressions_in(module):
        if isinstance(expr, relax.Call):
            callee, *operands = (*expr.args,) if operator_of(expr) == _PACKED else (expr.op, *expr.args)
            if callee_name(callee) == _STAND_IN:
                yield operands, [*expr.ty_args]


def _raises(call: relax.Call, taken: tuple[list[Any], list[Any]], error: Evidence) -> bool:
    """Say whether a call raises the error when it is made once more of what the pass has left in its place."""
    try:
        relax.BlockBuilder().normalize(relax.Call(call.op, taken[0], call.attrs, taken[1] if call.ty_args else ()))
    except Exception as raised:
        return normalise(evidence_of(raised).message) == normalise(error.message)
    return False


def _retyped(function: relax.Function, call: relax.Call, operands: list[Any], after: tvm.IRModule) -> Iterator[str]:
    """Yield what happened to the types of operands, or to those that they are inferred from."""
    known: dict[Any, Place] = {place.var: place for place in places(function)}
    made = {place.var: place for _, each in relax_functions(after) for place in places(each)}
    for old, new in zip(call.args, operands, strict=False):
        if isinstance(old, relax.Var) and not tvm_ffi.structural_equal(old.ty, new.ty, map_free_vars=True):
            if relax.analysis.type_base_check(new.ty, old.ty) == relax.analysis.BaseCheckResult.PASS:
                first, least = lost_first(old, new, known, made)
                done = cast(made[least]) if least in made else ""
                yield done or f"{_LOSES}{lost(first.ty, least.ty)} of {_owner(first, known)}"
            elif isinstance(new.ty, relax.TensorType) and tvm_ffi.structural_equal(old.ty.shape, new.ty.shape):
                yield f"makes {_owner(old, known)} {new.ty.dtype}"
            else:
                yield next(of_types(_owner(old, known), old.ty, new.ty)).change


def _owner(var: Any, known: dict[Any, Place]) -> str:
    return bound(known[var]) if var in known else f"the parameter {name_of(var)}"
