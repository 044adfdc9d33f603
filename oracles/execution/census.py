"""What a module is made of, in one visit: it tells which steps of lowering have nothing to do."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

# Operators that run code which may write into their arguments: kernels and functions of the module or of the process.
_RUNS_CODE = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed",
              "relax.call_pure_packed", "relax.call_inplace_packed", "relax.call_builtin_with_ctx")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Census:
    """What a module is made of.

    Attributes:
        operators: Names of the operators in it.
        constants: Whether there is a constant, of whatever kind.
        nested: Whether a Relax function stands inside of another one.
        kernels: Whether there are functions that are not Relax functions, or calls of such.
    """

    operators: frozenset[str]
    constants: bool
    nested: bool
    kernels: bool

    @property
    def overwrites_nothing(self) -> bool:
        """Whether no program can write into a constant: only pure operators, and no code that the module brings."""
        return not self.kernels and all(_is_harmless(name) for name in self.operators)


_last: list[tuple[Any, list[Any], Census]] = []


def census(module: Any) -> Census:
    """Visit all Relax functions of a module; asked again of the same one, until :func:`forget`, it remembers."""
    functions = list(module.functions.values())
    for known, same, counted in _last:
        # A module can be given other functions; these are kept, so that no other object is at their address.
        if known.same_as(module) and len(same) == len(functions) and all(map(_is, same, functions)):
            return counted
    counted = _counted(functions)
    _last[:] = [(module, functions, counted)]
    return counted


def inherit(module: Any, found: Census) -> None:
    """Say what a module is made of, which is another one with other constants."""
    _last[:] = [(module, list(module.functions.values()), found)]


def forget() -> None:
    """Keep nothing of the last module: it may be written into after it was lowered."""
    _last.clear()


def _is(left: Any, right: Any) -> bool:
    return bool(left.same_as(right))


def _counted(all_functions: list[Any]) -> Census:
    operators: list[Any] = []
    kinds: set[type] = set()
    functions = 0

    def visit(expr: Any) -> None:
        nonlocal functions
        kind = type(expr)
        if kind is tvm.ir.Op:
            operators.append(expr)
        elif kind is relax.Function:
            functions += 1
        else:
            kinds.add(kind)

    outer = 0
    kernels = False
    for function in all_functions:
        if isinstance(function, relax.Function):
            outer += 1
            relax.analysis.post_order_visit(function, visit)
        else:
            kernels = True
    return Census(
        frozenset(str(operator.name) for operator in operators),
        any(issubclass(kind, tvm.ir.GenericConst) for kind in kinds),
        functions > outer,
        kernels or relax.ExternFunc in kinds or tirx.PrimFunc in kinds,
    )


@functools.lru_cache(maxsize=1024)
def _is_harmless(name: str) -> bool:
    return name not in _RUNS_CODE and bool(tvm.ir.Op.get(name).get_attr("FPurity"))
