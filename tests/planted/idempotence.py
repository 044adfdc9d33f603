"""Planted bugs for the idempotence oracle: a second run that should change nothing, and does, or fails.

One run of each is right.  All but ``second_run_fails`` promise idempotence in their contract; that one
promises nothing, but a second run must be safe whatever the contract.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, NumericPromise


def _promise(*factories: Any) -> None:
    for factory in factories:
        name = factory.__name__.removesuffix("_clean")
        factory.contract = Contract(name, idempotence=Idempotence.IDEMPOTENT, numeric=NumericPromise.BIT_EXACT)


def _each_function(name: str, change: Any) -> Any:
    """A pass that replaces every Relax function ``f`` of the module by ``change(module, f)``."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, change(mod, function))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _with_alias(mod: Any, function: Any) -> Any:
    """The function with one more binding in front: an unused alias of its first parameter."""
    param = function.params[0]
    alias = relax.BindingBlock([relax.VarBinding(relax.Var("alias", param.ty), param)])
    body = relax.SeqExpr([alias, *function.body.blocks], function.body.body)
    new = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span)
    return relax.BlockBuilder(mod).normalize(new)


def alias_each_run() -> Any:
    """Adds an alias of the first parameter each time."""
    return _each_function("alias_each_run", lambda mod, f: _with_alias(mod, f) if f.params else f)


def alias_each_run_clean() -> Any:
    """Adds an alias of the first parameter unless there is one."""

    def has_alias(function: Any) -> bool:
        blocks = function.body.blocks
        return bool(blocks) and blocks[0].bindings[0].var.name == "alias"

    return _each_function("alias_each_run", lambda mod, f: _with_alias(mod, f) if f.params and not has_alias(f) else f)


def _ordering(name: str, order: Any) -> Any:
    @relax.expr_functor.mutator
    class Orderer(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            args = [self.visit_expr(arg) for arg in call.args]
            if isinstance(call.op, tvm.ir.Op) and call.op.name in ("relax.add", "relax.multiply"):
                args = list(order(args))
            op = call.op if isinstance(call.op, tvm.ir.Op) else self.visit_expr(call.op)
            return relax.Call(op, args, call.attrs, call.ty_args, call.span)

    return _each_function(name, lambda mod, function: Orderer(mod).visit_expr(function))


def flips_operands() -> Any:
    """Swaps the operands of additions and products at every run."""
    return _ordering("flips_operands", lambda args: args[::-1])


def flips_operands_clean() -> Any:
    """Puts constants last, which a second run finds done."""
    return _ordering("flips_operands", lambda args: sorted(args, key=lambda arg: hasattr(arg, "value")))


def second_run_fails() -> Any:
    """Asserts that it has never seen the module before."""

    def change(_mod: Any, function: Any) -> Any:
        assert "tuned" not in (function.attrs or {}), "a function is tuned only once"
        return function.with_attr("tuned", 1)

    return _each_function("second_run_fails", change)


def second_run_fails_clean() -> Any:
    """Leaves alone what it has seen before."""
    return _each_function("second_run_fails", lambda mod, function: function.with_attr("tuned", 1))


def _rename_private(name: str, rename: Any) -> Any:
    """A pass that renames private Relax functions, and their callers' references, by ``rename(name)``."""

    def run(mod: Any, _context: Any) -> Any:
        taken = {variable.name_hint for variable in mod.functions}

        def unique(name: str) -> str:
            while name in taken:
                name += "_ext"
            return name

        renamed = {
            variable: tvm.ir.GlobalVar(
                variable.name_hint
                if rename(variable.name_hint) == variable.name_hint
                else unique(rename(variable.name_hint))
            )
            for variable, function in mod.functions_items()
            if isinstance(function, relax.Function) and "global_symbol" not in (function.attrs or {})
        }
        for old, new in renamed.items():
            relax.expr._update_type(new, old.ty)

        @relax.expr_functor.mutator
        class Renamer(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
            def visit_global_var_(self, variable: Any) -> Any:
                return renamed.get(variable, variable)

        functions = {
            renamed.get(variable, variable): Renamer().visit_expr(function)
            if isinstance(function, relax.Function)
            else function
            for variable, function in mod.functions_items()
        }
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def suffix_each_run() -> Any:
    """Gives private functions another suffix each time."""
    return _rename_private("suffix_each_run", lambda name: name + "_ext")


def suffix_each_run_clean() -> Any:
    """Gives private functions a suffix that they keep."""
    return _rename_private("suffix_each_run", lambda name: name if name.endswith("_ext") else name + "_ext")


_promise(alias_each_run, alias_each_run_clean, flips_operands, flips_operands_clean)
_promise(suffix_each_run, suffix_each_run_clean)
