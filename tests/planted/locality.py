"""Planted bugs for the locality oracle: what a pass does to a function depends on what stands beside it.

Every result on its own is right: attributes may have any value, operands of an addition may stand in either order.
The contracts promise that only the function, and what it calls, decides.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, Locality, NumericPromise


def _pass(name: str, change: Any) -> Any:
    """A pass that replaces each Relax function by ``change(number, name, function, module)``."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        functions = [(variable, f) for variable, f in mod.functions.items() if isinstance(f, relax.Function)]
        for number, (variable, function) in enumerate(functions):
            result.update_func(variable, change(number, str(variable.name_hint), function, mod))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _public(function: Any) -> bool:
    return "global_symbol" in (function.attrs or {})


def numbered() -> Any:
    """Gives each function its number in the module, as an identifier."""
    return _pass("numbered", lambda number, name, function, mod: function.with_attr("serial", number))


def numbered_clean() -> Any:
    """Gives each function the number of its parameters."""
    return _pass("numbered", lambda number, name, function, mod: function.with_attr("serial", len(function.params)))


def first_by_name() -> Any:
    """Tunes the private function whose name comes first, as if names said anything."""

    def change(_number: int, name: str, function: Any, mod: Any) -> Any:
        private = [
            str(variable.name_hint)
            for variable, other in mod.functions.items()
            if isinstance(other, relax.Function) and not _public(other)
        ]
        return function.with_attr("tuned", 1) if private and name == min(private) else function

    return _pass("first_by_name", change)


def first_by_name_clean() -> Any:
    """Tunes every private function."""
    return _pass(
        "first_by_name",
        lambda number, name, function, mod: function if _public(function) else function.with_attr("tuned", 1),
    )


def only_one() -> Any:
    """Takes the public function for the entry where it is the only one."""

    def change(_number: int, _name: str, function: Any, mod: Any) -> Any:
        public = [other for other in mod.functions.values() if isinstance(other, relax.Function) and _public(other)]
        return function.with_attr("entry", 1) if _public(function) and len(public) == 1 else function

    return _pass("only_one", change)


def only_one_clean() -> Any:
    """Takes every public function for an entry."""
    return _pass(
        "only_one",
        lambda number, name, function, mod: function.with_attr("entry", 1) if _public(function) else function,
    )


def _counting(name: str, forget: bool) -> Any:
    """A pass that counts the calls that it has seen in a table, which it should forget after each function."""

    def run(mod: Any, _context: Any) -> Any:
        seen: set[str] = set()

        def look(expr: Any) -> None:
            if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
                seen.add(str(expr.op.name))

        result = mod.clone()
        for variable, function in mod.functions.items():
            if isinstance(function, relax.Function):
                if forget:
                    seen.clear()
                relax.analysis.post_order_visit(function, look)
                result.update_func(variable, function.with_attr("operators", len(seen)))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def leaking_table() -> Any:
    """Counts the operators of each function in a table that still holds those of the functions before it."""
    return _counting("leaking_table", forget=False)


def leaking_table_clean() -> Any:
    """Counts the operators of each function."""
    return _counting("leaking_table", forget=True)


def _promise(*factories: Any) -> None:
    for factory in factories:
        factory.contract = Contract(
            factory.__name__.removesuffix("_clean"),
            idempotence=Idempotence.IDEMPOTENT,
            numeric=NumericPromise.BIT_EXACT,
            locality=Locality.FUNCTION,
        )


_promise(numbered, numbered_clean, first_by_name, first_by_name_clean)
_promise(only_one, only_one_clean, leaking_table, leaking_table_clean)
