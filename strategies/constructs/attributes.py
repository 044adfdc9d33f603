"""Attributes of modules and functions: the user's own, of several value types, and those that TVM reads.

What TVM 0.27 reads of a Relax function: ``global_symbol``, ``num_input``, ``relax.force_pure``,
``tir_var_upper_bound``, ``tir_var_lower_bound``, ``tir_non_negative_var``,
``relax.rewrite_cuda_graph.capture_symbolic_vars``, ``Primitive``, ``Composite``, ``Codegen``, ``WorkspaceSize``.  The
last four say how passes made the function and are drawn where that is true; here are those that a user may set.  Of a
module: ``external_mods``, ``const_name_to_constant``, and ``system_lib_prefix``, which renames public functions and is
not drawn.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import StringImm

from strategies.scope.features import Feature
from strategies.scope.scope import Scope

OWN_FUNCTION_KEYS = ("note", "fuzz.version", "layer", "layout_hint", "checked", "ratio")
"""Names that no pass knows."""

MODULE_KEYS = ("model_name", "fuzz.version", "tags", "settings", "quantized", "scale", "input_num", "external_mods")
"""Keys of module attributes; only the last is one that TVM reads, and its value here is an empty list."""

_READ = ("tir_non_negative_var", "relax.rewrite_cuda_graph.capture_symbolic_vars", "tir_var_lower_bound")


def module_attributes(scope: Scope) -> dict[str, Any]:
    """Draw one to three attributes for the module."""
    found: dict[str, Any] = {}
    for _ in range(1 + scope.index(3)):
        key = scope.pick(MODULE_KEYS)
        found[key] = [] if key == "external_mods" else _value(scope)
    return found


def function_attributes(scope: Scope, symbols: list[Any]) -> dict[str, Any]:
    """Draw one to three attributes for a function whose parameters define ``symbols``."""
    found: dict[str, Any] = {}
    for _ in range(1 + scope.index(3)):
        if symbols and scope.index(3) == 2:
            key = scope.pick(_READ)
            names = [symbol.name for symbol in scope.subset(symbols[:4])]
            found[key] = dict.fromkeys(names, 1) if key == "tir_var_lower_bound" else names
        else:
            found[scope.pick(OWN_FUNCTION_KEYS)] = _value(scope)
    return found


def _value(scope: Scope) -> Any:
    """Draw a value of one of the types that attributes have."""
    return scope.pick(
        (
            "a note", 3, [1, 2, 3], {"depth": 2, "name": "x"}, True, 0.5, "", [], ["a", ["b", {"c": 1}]],
            tirx.IntImm("int64", 7), StringImm("text"), relax.ShapeExpr([2, 3]),
        )
    )  # fmt: skip


def wants_function_attributes(scope: Scope, demanded: bool) -> bool:
    """Say whether the function under construction gets attributes."""
    return scope.has(Feature.FUNCTION_ATTRS) and (demanded or scope.index(2) == 1)
