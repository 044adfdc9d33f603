"""Planted bugs for the sequential oracle: passes that know whether ``Sequential`` called them.

Each sets an attribute, which harms nobody, but not the same inside and outside of ``Sequential``.
"""

from __future__ import annotations

import sys
from typing import Any

import tvm
from tvm import relax


def _within_sequential() -> bool:
    """Whether the pass that Python called is a ``Sequential`` and not this one."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "__call__" and isinstance(frame.f_locals.get("self"), tvm.transform.Pass):
            return isinstance(frame.f_locals["self"], tvm.transform.Sequential)
        frame = frame.f_back
    return False


def _mark(name: str, when: Any, required: list[str] | None = None) -> Any:
    """A pass that sets an attribute on the functions for which ``when(function)`` holds."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function) and when(function):
                result.update_func(variable, function.with_attr("nested", 1))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name=name, required=required)


def call_stack() -> Any:
    """Does its work only when it is called directly."""
    return _mark("call_stack", lambda function: not _within_sequential())


def call_stack_clean() -> Any:
    """Does its work however it is called."""
    return _mark("call_stack", lambda function: True)


def _is_symbolic(function: Any) -> bool:
    return bool(relax.analysis.defined_symbolic_vars(function))


def symbolic_call_stack() -> Any:
    """Inside ``Sequential``, and there only, passes over functions with symbolic shapes."""
    return _mark("symbolic_call_stack", lambda function: not (_is_symbolic(function) and _within_sequential()))


def symbolic_call_stack_clean() -> Any:
    """Treats symbolic shapes alike inside and outside of ``Sequential``."""
    return _mark("symbolic_call_stack", lambda function: True)


@tvm.register_global_func("transform.planted_prepare", override=True)
def _prepare() -> Any:
    return _mark("planted_prepare", lambda function: True)


def _is_prepared(function: Any) -> bool:
    return "nested" in (function.attrs or {})


def required() -> Any:
    """Relies on ``required``, which ``Sequential`` obeys and a direct call does not."""

    def run(mod: Any, _context: Any) -> Any:
        result = mod.clone()
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function) and _is_prepared(function):
                result.update_func(variable, function.with_attr("finished", 1))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name="required", required=["planted_prepare"])


def required_clean() -> Any:
    """Calls what it needs itself."""

    def run(mod: Any, _context: Any) -> Any:
        result = _prepare()(mod)
        for variable, function in result.functions_items():
            if isinstance(function, relax.Function):
                result.update_func(variable, function.with_attr("finished", 1))
        return result

    return tvm.transform.module_pass(run, opt_level=0, name="required")
