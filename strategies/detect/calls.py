"""Features of calls, closures, recursion, effects and attributes, read from the IR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax
from tvm.ir import Op

from relaxkit.ir.functions import attributes, has_attribute, is_composite, is_public, mentioned_names, relax_functions
from strategies.scope.features import Feature

DEEP = 3
"""Private functions in a chain below a public one that make it deep."""

_PURE_PACKED = frozenset({"relax.call_pure_packed", "relax.call_dps_packed"})
_EFFECTS = frozenset({"relax.print", "relax.assert_op", "relax.invoke_closure"})

_KNOWN_MODULE_ATTRS = frozenset({"const_name_to_constant"})

_KNOWN_ATTRS = frozenset(
    {
        "global_symbol",
        "num_input",
        "tir_var_upper_bound",
        "Composite",
        "Codegen",
        "Primitive",
        "WorkspaceSize",
        "relax.force_pure",
        "operator_name",
        "op_pattern",
    }
)
"""Attributes of functions that other features stand for, or that passes set."""


def call_features(module: tvm.IRModule) -> frozenset[Feature]:
    """Return those of this theme that a module has.

    ``CAPTURES`` counts for a local function with free variables, symbolic dims among them; ``RETURNED_CLOSURES`` for a
    function whose type says that it returns one; ``PACKED_CALLS`` for packed calls declared pure; ``IMPURE_CALLS`` for
    calls with an effect; ``RECURSION`` for a function that calls itself, directly or through others.
    """
    found: set[Feature] = set()
    functions = dict(relax_functions(module))
    for function in functions.values():
        _Visit(found).function(function, 0)
        if attributes(function).keys() - _KNOWN_ATTRS:
            found.add(Feature.FUNCTION_ATTRS)
    if attributes(module).keys() - _KNOWN_MODULE_ATTRS:
        found.add(Feature.MODULE_ATTRS)
    _call_graph(functions, found)
    return frozenset(found)


class _Visit:
    """Collects what bindings show, through branches and local functions."""

    def __init__(self, found: set[Feature]) -> None:
        self.found = found

    def function(self, function: Any, depth: int) -> None:
        if isinstance(function.ret_ty, relax.FuncType):
            self.found.add(Feature.RETURNED_CLOSURES)
        self.sequence(function.body, depth)

    def sequence(self, sequence: Any, depth: int) -> None:
        for block in sequence.blocks:
            for binding in block.bindings:
                if not isinstance(binding, relax.MatchCast):
                    self.value(binding.value, depth)

    def value(self, value: Any, depth: int) -> None:
        if isinstance(value, relax.If):
            self.sequence(value.true_branch, depth)
            self.sequence(value.false_branch, depth)
        elif isinstance(value, relax.Function):
            if has_attribute(value, "Composite"):
                return
            if depth:
                self.found.add(Feature.NESTED_CLOSURES)
            if relax.analysis.free_vars(value):
                self.found.add(Feature.CAPTURES)
            self.function(value, depth + 1)
        elif isinstance(value, relax.Call):
            self.call(value)

    def call(self, call: Any) -> None:
        if isinstance(call.op, relax.ExternFunc):
            self.found.add(Feature.IMPURE_CALLS)
        elif isinstance(call.op, Op):
            name = str(call.op.name)
            if name == "relax.make_closure":
                self.found.add(Feature.MADE_CLOSURES)
            if name in _PURE_PACKED:
                self.found.add(Feature.PACKED_CALLS)
            if name in _EFFECTS:
                self.found.add(Feature.IMPURE_CALLS)


def _call_graph(functions: Mapping[str, Any], found: set[Feature]) -> None:
    """Find recursion, and the longest chain of private functions below a public one (a cycle counts once)."""
    calls = {name: mentioned_names(function) & set(functions) for name, function in functions.items()}
    if len(functions) == 1 and not any(calls.values()):
        return
    reached = {name: _reached(name, calls) for name in functions}
    if any(name in reached[name] for name in functions):
        found.add(Feature.RECURSION)
    private = {name for name, f in functions.items() if not is_public(f) and not is_composite(f)}

    def depth(name: str) -> int:
        cycle = {name} | {other for other in reached[name] if name in reached[other]}
        below = {callee for member in cycle for callee in calls[member]} - cycle
        return (name in private) + max((depth(callee) for callee in below & private), default=0)

    if any(depth(name) >= DEEP for name in functions if name not in private):
        found.add(Feature.DEEP_CALLS)


def _reached(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = list(calls[name])
    while todo:
        other = todo.pop()
        if other not in found:
            found.add(other)
            todo.extend(calls[other])
    return found
