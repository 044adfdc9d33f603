"""Small passes, each with one fault that one oracle must see, and its clean twin."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence
from relaxkit.passes.pass_ref import GivenPass

_serial = itertools.count()


def make(name: str, run: Callable[[Any], Any], contract: Contract | None = None) -> GivenPass:
    """A reference to a Python pass that applies ``run`` to the module."""
    built = tvm.transform.module_pass(lambda module, _context: run(module), opt_level=0, name=name)
    if contract is not None:
        built.contract = contract
    return GivenPass(name, f"<{name}>", built)


def promising(name: str, idempotence: Idempotence, **fields: Any) -> Contract:
    return Contract(name, idempotence=idempotence, **fields)


def each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply ``change`` to every Relax function of a copy."""

    def run(module: Any) -> Any:
        result = module.clone()
        for var, function in module.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(var, change(function))
        return result

    return run


def identity() -> GivenPass:
    return make("identity", lambda module: module)


def marks(value: Callable[[], Any] = lambda: 1, contract: Contract | None = None) -> GivenPass:
    return make("marks", each(lambda function: function.with_attr("mark", value())), contract)


def counts() -> GivenPass:
    return marks(lambda: next(_serial))


def raises(error: Exception) -> GivenPass:
    def run(module: Any) -> Any:
        raise error

    return make("raises", run)


def edits_input() -> GivenPass:
    def run(module: Any) -> Any:
        result = each(lambda function: function.with_attr("mark", 1))(module)
        for var, function in result.functions_items():
            module.update_func(var, function)
        return result

    return make("edits_input", run)


def renames_parameters_of_input() -> GivenPass:
    """An edit in place that structural comparison does not see."""

    def run(module: Any) -> Any:
        result = module.clone()
        for var, function in result.functions_items():
            if isinstance(function, relax.Function):
                module.update_func(var, relax.utils.copy_with_new_vars(with_renamed_parameters(function)))
        return result

    return make("renames_parameters_of_input", run)


def with_renamed_parameters(function: Any) -> Any:
    fresh = [relax.Var(param.name + "_renamed", param.ty) for param in function.params]
    renamed = dict(zip(function.params, fresh, strict=True))

    @relax.expr_functor.mutator
    class Renamer(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_var_(self, var: Any) -> Any:
            return renamed.get(var, var)

    body = Renamer().visit_expr(function.body)
    return relax.Function(fresh, body, function.ret_ty, function.is_pure, function.attrs)


def drops(name: str) -> GivenPass:
    """Removes one function."""

    def run(module: Any) -> Any:
        kept = {var: function for var, function in module.functions_items() if var.name_hint != name}
        return tvm.IRModule(kept, attrs=module.attrs, global_infos=module.global_infos)

    return make("drops", run)


def declares(change: Callable[[Any], Any]) -> GivenPass:
    """Changes the declared return type of every function."""

    def redeclare(function: Any) -> Any:
        return relax.Function(
            function.params, function.body, change(function.ret_ty), function.is_pure, function.attrs, function.span
        )

    return make("declares", each(redeclare))


def appends_mark(contract: Contract | None) -> GivenPass:
    """Counts its runs in an attribute, up to three."""

    def change(function: Any) -> Any:
        old = int(function.attrs["mark"]) if function.attrs is not None and "mark" in function.attrs else 0
        return function.with_attr("mark", min(old + 1, 3))

    return make("appends_mark", each(change), contract)


def refuses_twice(error: Exception, contract: Contract) -> GivenPass:
    """Raises when it meets its own mark."""

    def change(function: Any) -> Any:
        if function.attrs is not None and "mark" in function.attrs:
            raise error
        return function.with_attr("mark", 1)

    return make("refuses_twice", each(change), contract)
