"""Planted bugs for the well-formed oracle: results that are not the module they claim to be."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, tirx


def _pass(name: str, edit: Any) -> Any:
    """A pass that returns a copy of its input on which ``edit(copy)`` was called (or what ``edit`` returns)."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        return edit(result) or result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _relax_functions(mod: Any) -> list[tuple[Any, Any]]:
    return [
        (variable, function) for variable, function in mod.functions_items() if isinstance(function, relax.Function)
    ]


def _is_public(function: Any) -> bool:
    return "global_symbol" in (function.attrs or {})


def _without(mod: Any, dropped: Any) -> Any:
    functions = {variable: f for variable, f in mod.functions_items() if not variable.same_as(dropped)}
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _called(mod: Any) -> set[str]:
    """Names of the functions that some function of the module mentions."""
    names: set[str] = set()

    def look(expr: Any) -> None:
        if isinstance(expr, tvm.ir.GlobalVar):
            names.add(expr.name_hint)

    for _variable, function in _relax_functions(mod):
        relax.analysis.post_order_visit(function, look)
    return names


def _with_body(mod: Any, function: Any, body: Any) -> Any:
    new = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span)
    return relax.BlockBuilder(mod).normalize(new)


def renames_public() -> Any:
    """Prefixes the name and the symbol of public functions that nobody in the module calls."""

    def edit(mod: Any) -> Any:
        called = _called(mod)
        functions = {}
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function) and _is_public(function) and variable.name_hint not in called:
                name = "relax_" + variable.name_hint
                new = tvm.ir.GlobalVar(name)
                relax.expr._update_type(new, variable.ty)
                functions[new] = function.with_attr("global_symbol", name)
            else:
                functions[variable] = function
        return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)

    return _pass("renames_public", edit)


def renames_public_clean() -> Any:
    """Keeps public names."""
    return _pass("renames_public", lambda mod: None)


def hides_public() -> Any:
    """Makes the functions that it rebuilds private: it does not copy their attributes."""

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            mod.update_func(variable, function.without_attr("global_symbol"))

    return _pass("hides_public", edit)


def hides_public_clean() -> Any:
    """Keeps functions public."""
    return _pass("hides_public", lambda mod: None)


def drops_public() -> Any:
    """Takes a public function that nobody calls for dead code, if there is another one."""

    def edit(mod: Any) -> Any:
        called = _called(mod)
        public = [v for v, function in _relax_functions(mod) if _is_public(function)]
        dead = [v for v in public if v.name_hint not in called]
        return _without(mod, dead[-1]) if len(public) > 1 and dead else None

    return _pass("drops_public", edit)


def drops_public_clean() -> Any:
    """Drops only private functions that nobody calls."""

    def edit(mod: Any) -> Any:
        called = _called(mod)
        for variable, function in _relax_functions(mod):
            if not _is_public(function) and variable.name_hint not in called:
                return _without(mod, variable)
        return None

    return _pass("drops_public", edit)


def drops_callee() -> Any:
    """Removes a private function that is still called."""

    def edit(mod: Any) -> Any:
        called = _called(mod)
        private = [v for v, function in _relax_functions(mod) if not _is_public(function) and v.name_hint in called]
        return _without(mod, private[0]) if private else None

    return _pass("drops_callee", edit)


def drops_callee_clean() -> Any:
    """Removes private functions that nobody calls."""
    return drops_public_clean()


def _with_return_type(function: Any, change: Any) -> Any:
    return relax.Function(
        function.params, function.body, change(function.ret_ty), function.is_pure, function.attrs, function.span
    )


def wrong_return_type() -> Any:
    """Declares that a tensor result has one more row than it has; TVM's checker accepts that."""

    def change(ty: Any) -> Any:
        if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and len(ty.shape.values):
            first, *rest = ty.shape.values
            return relax.TensorType([first + 1, *rest], ty.dtype, ty.vdevice)
        if isinstance(ty, relax.TupleType):
            return relax.TupleType([change(field) for field in ty.fields])
        return ty

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            if _is_public(function):
                mod.update_func(variable, _with_return_type(function, change))

    return _pass("wrong_return_type", edit)


def wrong_return_type_clean() -> Any:
    """Writes the return types down again as they are."""

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            mod.update_func(variable, _with_return_type(function, lambda ty: ty))

    return _pass("wrong_return_type", edit)


def _without_binding(mod: Any, function: Any, droppable: Any) -> Any:
    """The function without the first binding for which ``droppable(var)`` holds; a ``match_cast`` defines dims, too."""
    blocks = []
    dropped = False
    for block in function.body.blocks:
        bindings = []
        for binding in block.bindings:
            if not dropped and isinstance(binding, relax.VarBinding) and droppable(binding.var):
                dropped = True
            else:
                bindings.append(binding)
        kind = relax.DataflowBlock if isinstance(block, relax.DataflowBlock) else relax.BindingBlock
        if bindings:
            blocks.append(kind(bindings, block.span))
    return _with_body(mod, function, relax.SeqExpr(blocks, function.body.body)) if dropped else function


def _uses(function: Any) -> dict[Any, int]:
    uses: dict[Any, int] = {}

    def look(expr: Any) -> None:
        if isinstance(expr, relax.Var):
            uses[expr] = uses.get(expr, 0) + 1

    for block in function.body.blocks:
        for binding in block.bindings:
            relax.analysis.post_order_visit(binding.value, look)
    relax.analysis.post_order_visit(function.body.body, look)
    return uses


def undefined_variable() -> Any:
    """Removes the binding of a variable that is used once, as if one use were none."""

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            uses = _uses(function)
            mod.update_func(variable, _without_binding(mod, function, lambda var, uses=uses: uses.get(var, 0) == 1))

    return _pass("undefined_variable", edit)


def undefined_variable_clean() -> Any:
    """Removes the binding of a dataflow variable that is never used."""

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            uses = _uses(function)
            mod.update_func(
                variable,
                _without_binding(
                    mod, function, lambda var, uses=uses: uses.get(var, 0) == 0 and isinstance(var, relax.DataflowVar)
                ),
            )

    return _pass("undefined_variable", edit)


def dataflow_escape() -> Any:
    """Turns the outputs of dataflow blocks into variables that end with their block."""
    return _pass("dataflow_escape", lambda mod: _retype_outputs(mod, relax.DataflowVar))


def dataflow_escape_clean() -> Any:
    """Gives the outputs of dataflow blocks fresh variables."""
    return _pass("dataflow_escape", lambda mod: _retype_outputs(mod, relax.Var))


@relax.expr_functor.mutator
class _Retyper(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
    """Gives the outputs of dataflow blocks new variables of a class."""

    def __init__(self, mod: Any, kind: Any) -> None:
        super().__init__(mod)
        self.kind = kind
        self.depth = 0

    def visit_dataflow_block_(self, block: Any) -> Any:
        self.depth += 1
        new = super().visit_dataflow_block_(block)
        self.depth -= 1
        return new

    def visit_var_def_(self, var: Any) -> Any:
        if not self.depth:
            return var
        new = self.kind(var.name, var.ty, var.span)
        self.set_var_remap(var, new)
        return new


def _retype_outputs(mod: Any, kind: Any) -> None:
    for variable, function in _relax_functions(mod):
        mod.update_func(variable, _Retyper(mod, kind).visit_expr(function))


def _scratch(name: str, second_dim: Any) -> Any:
    """A pass that, only where parameters have a symbolic dim ``n``, makes an unused tensor ``(n, second_dim(n))``."""

    def edit(mod: Any) -> None:
        for variable, function in _relax_functions(mod):
            params = relax.TupleType([param.ty for param in function.params])
            symbols = relax.analysis.definable_tir_vars_in_type(params)
            if symbols:
                zeros = relax.op.zeros(relax.ShapeExpr([symbols[0], second_dim(symbols[0])]), "float32")
                ty = relax.TensorType([symbols[0], zeros.args[0].values[1]], "float32")
                block = relax.BindingBlock([relax.VarBinding(relax.Var("scratch", ty), zeros)])
                body = relax.SeqExpr([block, *function.body.blocks], function.body.body)
                mod.update_func(variable, _with_body(mod, function, body))

    return _pass(name, edit)


def undefined_dim() -> Any:
    """Uses a fresh symbol that nobody defines."""
    return _scratch("undefined_dim", lambda n: tirx.Var("fresh", "int64"))


def undefined_dim_clean() -> Any:
    """Uses a symbol that the function's parameters define."""
    return _scratch("undefined_dim", lambda n: n + 1)


def _extended(name: str, calls: bool) -> Any:
    """A pass that gives private functions that are called (or those that are not) a parameter more."""

    def edit(mod: Any) -> None:
        called = _called(mod)
        for variable, function in _relax_functions(mod):
            if not _is_public(function) and (variable.name_hint in called) == calls:
                params = [*function.params, relax.Var("spare", relax.TensorType((2,), "float32"))]
                mod.update_func(
                    variable,
                    relax.Function(
                        params, function.body, function.ret_ty, function.is_pure, function.attrs, function.span
                    ),
                )

    return _pass(name, edit)


def forgets_callers() -> Any:
    """Gives private functions a parameter more and leaves their callers alone; TVM's checker accepts that."""
    return _extended("forgets_callers", calls=True)


def forgets_callers_clean() -> Any:
    """Gives only private functions that nobody calls a parameter more."""
    return _extended("forgets_callers", calls=False)
