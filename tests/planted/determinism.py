"""Planted bugs for the determinism oracle: results that depend on more than the input.

Every result on its own is right: operands of an addition may stand in either order, an attribute may have any value.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import tvm
from tvm import relax

COMMUTATIVE = {"relax.add", "relax.multiply", "relax.maximum", "relax.minimum", "relax.logical_and", "relax.equal"}

_runs = itertools.count()
_toggle = itertools.cycle((False, True))
_seen: set[int] = set()


def _rewrite(name: str, order: Any) -> Any:
    """A pass that puts the operands of every commutative operator in the order that ``order(a, b)`` gives."""

    @relax.expr_functor.mutator
    class Orderer(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            args = [self.visit_expr(arg) for arg in call.args]
            if isinstance(call.op, tvm.ir.Op) and call.op.name in COMMUTATIVE:
                args = list(order(call, args))
            op = call.op if isinstance(call.op, tvm.ir.Op) else self.visit_expr(call.op)
            return relax.Call(op, args, call.attrs, call.ty_args, call.span)

    def run(mod: Any, _context: Any) -> Any:
        orderer = Orderer(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                orderer.builder_.update_func(variable, orderer.visit_expr(function))
        return orderer.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _mark(name: str, value: Any) -> Any:
    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, function.with_attr("serial", value()))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def counter() -> Any:
    """Numbers functions with a counter that is never reset."""
    return _mark("counter", lambda: next(_runs))


def counter_clean() -> Any:
    """Numbers functions with a constant."""
    return _mark("counter", lambda: 0)


def coin() -> Any:
    """Tosses a coin for the order of two operands."""
    return _rewrite("coin", lambda call, args: args if random.random() < 0.5 else args[::-1])


def coin_clean() -> Any:
    """Always swaps two operands."""
    return _rewrite("coin", lambda call, args: args[::-1])


def address() -> Any:
    """Sorts operands by their address in memory: stable on one object, another order on its copy."""
    return _rewrite("address", lambda call, args: sorted(args, key=hash))


def address_clean() -> Any:
    """Leaves operands in the order of the text."""
    return _rewrite("address", lambda call, args: args)


def memo() -> Any:
    """Remembers, between runs, what it has seen (by structural hash) and does nothing to it a second time."""

    def order(call: Any, args: list[Any]) -> list[Any]:
        key = tvm_hash(call)
        if key in _seen:
            _seen.discard(key)
            return args
        _seen.add(key)
        return args[::-1]

    return _rewrite("memo", order)


def memo_clean() -> Any:
    """Has no memory."""
    return _rewrite("memo", lambda call, args: args[::-1])


def tvm_hash(expr: Any) -> int:
    """Structural hash of an expression."""
    import tvm_ffi

    return int(tvm_ffi.structural_hash(expr, map_free_vars=True))
