"""Passes with planted defects, for ``benchmarks/reduction.py``: what TVM's own passes do not do, or not so reliably."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax

from relaxkit.passes.contract import Idempotence, default_contract

SLOW_SECONDS = 0.4


def calls(expr: Any, operator: str) -> list[Any]:
    """The calls of an operator anywhere in an expression."""
    found: list[Any] = []

    def visit(item: Any) -> None:
        if (
            isinstance(item, tvm.ir.Call)
            and isinstance(item.op, tvm.ir.Op)
            and str(item.op.name) == f"relax.{operator}"
        ):
            found.append(item)

    relax.analysis.post_order_visit(expr, visit)
    return found


def functions(module: Any) -> list[Any]:
    """The Relax functions of a module."""
    return [item for item in module.functions.values() if isinstance(item, relax.Function)]


def _pass(name: str, run: Any) -> Any:
    return tvm.transform.module_pass(lambda module, context: run(module), opt_level=0, name=name)


def always() -> Any:
    """Fails on every module."""

    def run(module: Any) -> Any:
        raise RuntimeError("there is no module that this pass can take")

    return _pass("always", run)


def never() -> Any:
    """Fails on no module."""
    return _pass("never", lambda module: module)


def slow() -> Any:
    """Takes its time, then fails on the cumulative sum of a sigmoid."""

    def run(module: Any) -> Any:
        time.sleep(SLOW_SECONDS)
        for function in functions(module):
            if calls(function, "cumsum") and calls(function, "sigmoid"):
                raise RuntimeError("a cumulative sum beside a sigmoid")
        return module

    return _pass("slow", run)


def in_a_branch() -> Any:
    """Fails on a product in a branch that is chosen while the program runs."""

    def run(module: Any) -> Any:
        for function in functions(module):
            chosen: list[Any] = []
            relax.analysis.post_order_visit(
                function, lambda item, chosen=chosen: chosen.append(item) if isinstance(item, relax.If) else None
            )
            if any(calls(branch, "matmul") for item in chosen for branch in (item.true_branch, item.false_branch)):
                raise RuntimeError("a product that may not be computed")
        return module

    return _pass("in_a_branch", run)


def marks() -> Any:
    """Marks functions that have a sum; no defect by itself."""

    def run(module: Any) -> Any:
        result = tvm.IRModule(dict(module.functions), attrs=module.attrs, global_infos=module.global_infos)
        for var, function in module.functions.items():
            if isinstance(function, relax.Function) and calls(function, "sum"):
                result[var] = function.with_attr("marked", 1)
        return result

    return _pass("marks", run)


def trips_over_marks() -> Any:
    """Fails on a function that is marked."""

    def run(module: Any) -> Any:
        for function in functions(module):
            if function.attrs is not None and "marked" in function.attrs:
                raise RuntimeError("a function with a mark")
        return module

    return _pass("trips_over_marks", run)


def counts() -> Any:
    """Numbers functions that have a cumulative sum, and goes on counting from run to run."""
    numbers = itertools.count()

    def run(module: Any) -> Any:
        result = tvm.IRModule(dict(module.functions), attrs=module.attrs, global_infos=module.global_infos)
        for var, function in module.functions.items():
            if isinstance(function, relax.Function) and calls(function, "cumsum"):
                result[var] = function.with_attr("number", next(numbers))
        return result

    return _pass("counts", run)


def two_bugs() -> Any:
    """Fails on a cumulative sum; where there is none, on a hyperbolic tangent, in other words."""

    def run(module: Any) -> Any:
        for function in functions(module):
            if calls(function, "cumsum"):
                raise RuntimeError("the cumulative sum is not supported")
        for function in functions(module):
            if calls(function, "tanh"):
                raise ValueError("the tangent is not supported either")
        return module

    return _pass("two_bugs", run)


def turns_differences() -> Any:
    """Computes ``y - x`` for ``x - y``."""
    return _rewrites("turns_differences", "relax.subtract", lambda call: relax.op.subtract(call.args[1], call.args[0]))


def wraps_again() -> Any:
    """Writes ``-(-sigmoid(x))`` for ``sigmoid(x)``, and once more each time it runs."""
    return _rewrites("wraps_again", "relax.sigmoid", lambda call: relax.op.negative(relax.op.negative(call)))


def _rewrites(name: str, operator: str, change: Callable[[Any], Any]) -> Any:
    """A pass that puts ``change`` of a call in the place of each call of an operator."""

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):
        def visit_call_(self, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            return change(call) if isinstance(call.op, tvm.ir.Op) and str(call.op.name) == operator else call

    def run(module: Any) -> Any:
        rewriter = Rewriter(module)
        for var, function in module.functions.items():
            if isinstance(function, relax.Function):
                rewriter.builder_.update_func(var, rewriter.visit_expr(function))
        return rewriter.builder_.get()

    return _pass(name, run)


wraps_again.contract = replace(  # type: ignore[attr-defined]  # where contracts of a user's passes are looked for
    default_contract("wraps_again"), idempotence=Idempotence.IDEMPOTENT
)
