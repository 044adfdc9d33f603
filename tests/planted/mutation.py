"""Planted bugs for the mutation oracle: passes that edit the module they were given.

What they return is right in every case; the clean twins return the same and leave their input alone.
The edits are those that TVM's Python API can make in place: ``update_func``, ``update_global_info``
and the payload of a constant.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, NumericPromise


def _pass(name: str, edit: Any, in_place: bool) -> Any:
    """A pass that applies ``edit(module)`` to its input (the bug) or to a copy, and returns an edited copy."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        edit(result)
        if in_place:
            edit(mod)
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _mark(mod: Any, wanted: Any) -> None:
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function) and wanted(function):
            mod.update_func(variable, function.with_attr("visited", 1))


def attribute() -> Any:
    """Marks every Relax function with an attribute, the input's too."""
    return _pass("attribute", lambda mod: _mark(mod, lambda function: True), in_place=True)


def attribute_clean() -> Any:
    """Marks every Relax function of the result with an attribute."""
    return _pass("attribute", lambda mod: _mark(mod, lambda function: True), in_place=False)


def _is_composite(function: Any) -> bool:
    return "Composite" in (function.attrs or {})


def composite_attribute() -> Any:
    """Marks composite functions only, the input's too."""
    return _pass("composite_attribute", lambda mod: _mark(mod, _is_composite), in_place=True)


def composite_attribute_clean() -> Any:
    """Marks composite functions of the result."""
    return _pass("composite_attribute", lambda mod: _mark(mod, _is_composite), in_place=False)


def _round(value: Any) -> Any:
    return value.astype("float16").astype(value.dtype)


class _RoundConstants:
    """Rounds float constants to what float16 can hold; ``in_place``: writes into the input's own tensors."""

    def __init__(self, in_place: bool) -> None:
        self.in_place = in_place

    def __call__(self, mod: Any) -> None:
        in_place = self.in_place

        @relax.expr_functor.mutator
        class Rounder(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
            def visit_generic_const_(self, const: Any) -> Any:
                if not hasattr(const, "value") or not hasattr(const.value, "numpy"):
                    return const
                value = const.value.numpy()
                if value.dtype.name not in ("float32", "float64"):
                    return const
                rounded = _round(value)
                if in_place:
                    const.value.copyfrom(rounded)
                    return const
                return relax.const(rounded, value.dtype.name)

        rounder = Rounder(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                mod.update_func(variable, rounder.visit_expr(function))


def constant_payload() -> Any:
    """Rounds constants by writing into their tensors, which the input shares."""
    return _pass("constant_payload", _RoundConstants(in_place=True), in_place=False)


def constant_payload_clean() -> Any:
    """Rounds constants by making new ones."""
    return _pass("constant_payload", _RoundConstants(in_place=False), in_place=False)


# That constants lose digits is what this pass is for, so numbers are not compared.
for _factory in (constant_payload, constant_payload_clean):
    _factory.contract = Contract(  # type: ignore[attr-defined]  # where it is looked for
        "constant_payload", idempotence=Idempotence.IDEMPOTENT, numeric=NumericPromise.NONE
    )


@relax.expr_functor.mutator
class _Shouter(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
    """Gives parameters upper-case names."""

    def visit_function_(self, function: Any) -> Any:
        self.params = set(function.params)
        return super().visit_function_(function)

    def visit_var_def_(self, var: Any) -> Any:
        if var not in self.params or not isinstance(var.ty, relax.TensorType):
            return var
        new = relax.Var(var.name.upper(), var.ty, var.span)
        self.set_var_remap(var, new)
        return new


def _shout(mod: Any) -> None:
    """Rename every tensor parameter: invisible to structural equality and hash."""
    for variable, function in mod.functions_items():
        if isinstance(function, relax.Function):
            mod.update_func(variable, _Shouter(mod).visit_expr(function))


def parameter_names() -> Any:
    """Renames parameters, the input's too: nothing but the JSON text can see it."""
    return _pass("parameter_names", _shout, in_place=True)


def parameter_names_clean() -> Any:
    """Renames the parameters of the result."""
    return _pass("parameter_names", _shout, in_place=False)


def _add_device(mod: Any) -> None:
    devices = list(mod.global_infos.get("vdevice", []))
    if devices and all(device.vdevice_id != 7 for device in devices):
        mod.update_global_info("vdevice", [*devices, relax.VDevice("llvm", 7, "global")])


def device_table() -> Any:
    """Adds a device to the module's table, if it has one, the input's too."""
    return _pass("device_table", _add_device, in_place=True)


def device_table_clean() -> Any:
    """Adds a device to the table of the result."""
    return _pass("device_table", _add_device, in_place=False)
