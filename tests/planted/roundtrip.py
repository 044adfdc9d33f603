"""Planted bugs for the roundtrip oracle: results that are right and that TVM's notations cannot hold.

Each leaves something in the module that TVM's checker does not look at, the same at every run.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

_SIZE = tvm.tirx.Var("size", "int64")


def _with_attribute(name: str, key: str, value: Any) -> Any:
    """A pass that gives every Relax function an attribute."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, function.with_attr(key, value))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def dangling_dim() -> Any:
    """Leaves a variable in an attribute that nothing defines: another one whenever the module is loaded."""
    return _with_attribute("dangling_dim", "size", relax.ShapeExpr([_SIZE]))


def dangling_dim_clean() -> Any:
    """Leaves a number there."""
    return _with_attribute("dangling_dim", "size", relax.ShapeExpr([4]))


def _renaming(name: str, suffix: str) -> Any:
    """A pass that puts ``suffix`` behind the names of private Relax functions that do not have it."""

    def run(mod: Any, _context: Any) -> Any:
        renamed = {
            variable: tvm.ir.GlobalVar(variable.name_hint + suffix)
            for variable, function in mod.functions_items()
            if isinstance(function, relax.Function)
            and "global_symbol" not in (function.attrs or {})
            and not variable.name_hint.endswith(suffix)
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


def dotted_name() -> Any:
    """Gives private functions a name with a dot, which is no identifier."""
    return _renaming("dotted_name", ".impl")


def dotted_name_clean() -> Any:
    """Gives them one with an underscore."""
    return _renaming("dotted_name", "_impl")


def _listing(name: str, dropped: int) -> Any:
    """A pass that lists the module's devices without the last ``dropped`` ones."""

    def run(mod: Any, _context: Any) -> Any:
        devices = list(mod.global_infos.get("vdevice", ()))
        if not devices:
            return mod
        infos = {**dict(mod.global_infos.items()), "vdevice": devices[: len(devices) - dropped]}
        return tvm.IRModule(dict(mod.functions_items()), attrs=mod.attrs, global_infos=infos)

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def forgets_device() -> Any:
    """Does not list the module's last device any more, although tensors may be on it."""
    return _listing("forgets_device", 1)


def forgets_device_clean() -> Any:
    """Lists all of them anew."""
    return _listing("forgets_device", 0)
