"""Summary of a module by one visit: it tells which steps of lowering have nothing to do."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.ir.equality import all_same

# Operators that run code which may write into their arguments: kernels and functions of the module or of the process.
_RUNS_CODE = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.call_dps_packed",
              "relax.call_pure_packed", "relax.call_inplace_packed", "relax.call_builtin_with_ctx")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModuleSummary:
    """The contents of a module.

    Attributes:
        operators: Names of the operators in it.
        holders: The functions, by their place in the module, in which there is a constant, of whatever kind.
        nested: Whether a Relax function stands inside of another one.
        kernels: Whether there are functions that are not Relax functions, or calls of such.
        computes: Whether a number is computed, as a value or as a dim.
    """

    operators: frozenset[str]
    holders: frozenset[int]
    nested: bool
    kernels: bool
    computes: bool

    @property
    def constants(self) -> bool:
        """Say whether there is a constant."""
        return bool(self.holders)

    @property
    def overwrites_nothing(self) -> bool:
        """Say whether no program can write into a constant: only pure operators, and no code that the module brings."""
        return not self.kernels and all(_is_harmless(name) for name in self.operators)


_last: list[tuple[Any, list[Any], ModuleSummary]] = []


def summary_of(module: tvm.IRModule) -> ModuleSummary:
    """Visit all Relax functions of a module; asked again of the same one, until :func:`forget`, it remembers."""
    functions = list(module.functions.values())
    for known, known_functions, counted in _last:
        # A module can be given other functions; these are kept, so that no other object is at their address.
        if known.same_as(module) and all_same(known_functions, functions):
            return counted
    counted = _counted(functions)
    _last[:] = [(module, functions, counted)]
    return counted


def remember(module: tvm.IRModule, found: ModuleSummary) -> None:
    """Say what a module is made of, which is another one with other constants."""
    _last[:] = [(module, list(module.functions.values()), found)]


def forget() -> None:
    """Keep nothing of the last module: it may be written into after it was lowered."""
    _last.clear()


def _counted(all_functions: list[Any]) -> ModuleSummary:
    operators: list[Any] = []
    kinds: set[type] = set()
    here: set[type] = set()
    functions = 0

    def visit(expr: relax.Expr) -> None:
        nonlocal functions
        kind = type(expr)
        if kind is tvm.ir.Op:
            operators.append(expr)
        elif kind is relax.Function:
            functions += 1
        else:
            here.add(kind)

    outer = 0
    kernels = False
    holders: list[int] = []
    for place, function in enumerate(all_functions):
        if isinstance(function, relax.Function):
            outer += 1
            here.clear()
            relax.analysis.post_order_visit(function, visit)
            if any(issubclass(kind, tvm.ir.GenericConst) for kind in here):
                holders.append(place)
            kinds |= here
        else:
            kernels = True
    return ModuleSummary(
        frozenset(str(operator.name) for operator in operators),
        frozenset(holders),
        functions > outer,
        kernels or relax.ExternFunc in kinds or tirx.PrimFunc in kinds,
        not kinds <= _not_computed(),
    )


@functools.cache
def _not_computed() -> frozenset[type]:
    """The kinds of expressions that compute no number; TVM before 0.27 wraps numbers in one that is not among them."""
    homes = (tvm.ir, relax, tirx)
    names = (
        "Call", "DataTypeImm", "DataflowVar", "ExternFunc", "FloatImm", "GenericConst", "GlobalVar", "If", "IntImm",
        "SeqExpr", "ShapeExpr", "StringImm", "Tuple", "TupleGetItem", "Var",
    )  # fmt: skip
    return frozenset(getattr(home, name) for home in homes for name in names if hasattr(home, name))


@functools.lru_cache(maxsize=1024)
def _is_harmless(name: str) -> bool:
    return name not in _RUNS_CODE and bool(tvm.ir.Op.get(name).get_attr("FPurity"))
