"""Legalization as an axiom: an operator computes what TVM lowers that one call to, on its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.proof.terms import Open, Terms
from relaxkit.proof.values import TupleValue, Value

Apply = Callable[[tvm.IRModule], Callable[[Sequence[Value]], Value]]
_NAME = "call"


class Legalizer:
    """Lowers single calls, each kind of them once.

    Args:
        terms: The table; its objects tell whether two calls are of one kind.
        apply: Makes of a module a function that evaluates the module's only function.
    """

    def __init__(self, terms: Terms, apply: Apply) -> None:
        self._terms = terms
        self._apply = apply
        self._known: dict[int, Callable[[Sequence[Value]], Value] | None] = {}
        self._lowered: dict[int, tvm.IRModule | None] = {}

    def copy(self, terms: Terms, apply: Apply) -> Legalizer:
        """Return one that knows the same kinds of calls, for a copy of the terms."""
        other = Legalizer(terms, apply)
        other._lowered = dict(self._lowered)
        return other

    def value(self, call: Any, arguments: Sequence[Value]) -> Value | None:
        """Return what a call computes by its legalization; ``None`` where it has none on its own."""
        if not call.op.has_attr("FLegalize") or not call.op.get_attr("FPurity"):
            return None
        params: list[relax.Var] = []
        values: list[Value] = []
        operands = [_abstracted(each, value, params, values) for each, value in zip(call.args, arguments, strict=True)]
        function = relax.Function(
            params, relax.SeqExpr([], relax.Call(call.op, operands, call.attrs, call.ty_args)), call.ty
        )
        if relax.analysis.free_symbolic_vars(function) or relax.analysis.free_vars(function):
            return None  # a dim that none of its tensors defines
        kind = self._terms.objects.number(function)
        if kind not in self._known:
            if kind not in self._lowered:
                self._lowered[kind] = _lowered(function)
            module = self._lowered[kind]
            self._known[kind] = None if module is None else self._apply(module)
        run = self._known[kind]
        if run is not None:
            with contextlib.suppress(Open):
                return run(values)
        return None


_legalizations: dict[int, list[tuple[tvm.IRModule, tvm.IRModule]]] = {}
_MOST = 1024
"""Legalizations that are kept: the passes that are tried on one module leave most of its calls as they are."""


def _lowered(function: relax.Function) -> tvm.IRModule | None:
    try:
        return _legalized(function)
    except Exception:  # what cannot be lowered alone has no axiom
        return None


def _legalized(function: relax.Function) -> tvm.IRModule:
    if len(_legalizations) >= _MOST:
        _legalizations.clear()
    builder = relax.BlockBuilder()
    builder.add_func(function.with_attr("global_symbol", _NAME), _NAME)
    module = relax.transform.Normalize()(builder.get())  # which fills in types: two calls are compared with theirs
    alike = _legalizations.setdefault(int(tvm_ffi.structural_hash(module)), [])
    for known, legalized in alike:
        if tvm_ffi.structural_equal(known, module):
            return legalized
    legalized = relax.transform.LegalizeOps()(module)
    alike.append((module, legalized))
    return legalized


def _abstracted(operand: Any, value: Value, params: list[relax.Var], values: list[Value]) -> Any:
    """Put a parameter in the place of each tensor of an operand; constants and shapes stay: legalization reads them."""
    if isinstance(operand, relax.Tuple) and isinstance(value, TupleValue):
        pairs = zip(operand.fields, value.fields, strict=True)
        return relax.Tuple([_abstracted(each, its, params, values) for each, its in pairs])
    if not isinstance(operand, relax.Var):
        return operand
    params.append(relax.Var(f"p{len(params)}", operand.ty))
    values.append(value)
    return params[-1]
