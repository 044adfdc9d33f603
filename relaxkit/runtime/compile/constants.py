"""Replacing leaves of a module, constants and names of functions, without building its functions anew.

TVM's mutators infer the type of every call again, which is most of what they cost; here types stay as they are. Where
the installed TVM has no ``structural_map`` (until 0.26) its own, slower means are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.walk import expressions
from relaxkit.runtime.values import tensor


def with_own_constants(module: tvm.IRModule, holders: Collection[int]) -> Any:
    """Return the module with copies of all tensors; a constant that stands in several places stays one.

    Args:
        holders: The functions that hold constants, by their place in the module.
    """
    copies: dict[int, Any] = {}

    def copied(constant: Any) -> Any:
        value = constant.value
        if not isinstance(value, tvm.runtime.Tensor):
            return constant
        key = value.__chandle__()
        if key not in copies:
            copies[key] = relax.const(tensor(value.numpy()), str(value.dtype))
        return copies[key]

    owned = module.clone()
    for place, (gv, function) in enumerate(module.functions.items()):
        if place in holders:
            if hasattr(tvm_ffi, "structural_map"):
                function = tvm_ffi.structural_map(function, (tvm.ir.GenericConst, copied))
            else:
                function = _ConstantReplacer(copied).visit_expr(function)
            owned.update_func(gv, function)
    return owned


def tensors_of(module: tvm.IRModule) -> list[Any]:
    """Return the tensors that are constants of a module's Relax functions, each once."""
    functions = (function for function in module.functions.values() if isinstance(function, relax.Function))
    found = (expr for function in functions for expr in expressions(function))
    values = (expr.value for expr in found if isinstance(expr, tvm.ir.GenericConst))
    return list({value.__chandle__(): value for value in values if isinstance(value, tvm.runtime.Tensor)}.values())


@relax.expr_functor.mutator
class _ConstantReplacer(relax.PyExprMutator):
    def __init__(self, copied: Any) -> None:
        super().__init__()
        self.copied = copied

    def visit_generic_const_(self, op: Any) -> Any:
        return self.copied(op)

    visit_constant_ = visit_generic_const_  # its name until TVM 0.26


def with_symbols(module: tvm.IRModule, symbols: Mapping[str, str], named: Mapping[str, Any] | None = None) -> Any:
    """Return the module with PrimFuncs renamed, in calls of Relax functions and as their ``global_symbol``.

    Args:
        symbols: New names of PrimFuncs, by their names. What calls a PrimFunc in another PrimFunc is not renamed.
        named: PrimFuncs that have their new ``global_symbol`` already, by their old names.
    """
    renamed = {name: symbol for name, symbol in symbols.items() if name != symbol}
    if not renamed:
        return module
    if not hasattr(tvm_ffi, "structural_map"):
        return normalized(module, symbols)
    fresh = {name: tvm.ir.GlobalVar(symbol) for name, symbol in renamed.items()}
    known = named or {}

    def replaced(var: relax.Var) -> Any:
        return fresh.get(var.name_hint, var)

    functions = {}
    for gv, function in module.functions.items():
        if isinstance(function, tirx.PrimFunc):
            name = gv.name_hint
            if name in fresh:
                gv = fresh[name]
                function = known[name] if name in known else function.with_attr("global_symbol", renamed[name])
        else:
            function = tvm_ffi.structural_map(function, (tvm.ir.GlobalVar, replaced))
        functions[gv] = function
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def normalized(module: tvm.IRModule, symbols: Mapping[str, str]) -> Any:
    """As :func:`with_symbols`, by TVM's own pass, which renames everywhere; raises whatever it raises."""
    marked = module.clone()
    for name, symbol in symbols.items():
        marked.update_func(marked.get_global_var(name), marked[name].with_attr("global_symbol", symbol))
    return relax.transform.NormalizeGlobalVar()(marked)
