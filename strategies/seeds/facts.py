"""The facts that a collection records of a module: its stage, size, functions, operators, and what may be spliced."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.ir import GlobalVar

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import expressions, operator_of
from strategies.seeds.file import Seed, SeedFunction, SeedStage
from strategies.seeds.splice import spliceable

_LOWERED = ("relax.vm.", "relax.memory.", "relax.builtin.alloc", "relax.call_builtin_with_ctx")
_NOT_LOWERED = frozenset({"relax.memory.view", "relax.memory.ensure_zero_offset"})
_DISTRIBUTED = ("relax.dist.", "relax.ccl.")
_OF_KERNELS = "relax.call_tir"


def describe(module: Any) -> Seed:
    """Look at a well-formed module; where it comes from, and its text, are for the caller to add."""
    operators: set[str] = set()
    functions, bindings, distributed, direct = [], 0, False, False
    kernels = {var for var, function in module.functions.items() if isinstance(function, tirx.PrimFunc)}
    for name, function in relax_functions(module):
        for expr in expressions(function):
            if isinstance(expr, relax.SeqExpr):
                bindings += sum(len(block.bindings) for block in expr.blocks)
            elif isinstance(expr, relax.Call):
                direct = direct or (isinstance(expr.op, GlobalVar) and expr.op in kernels)
                if (called := operator_of(expr)).startswith("relax."):
                    operators.add(called)
            distributed = distributed or isinstance(getattr(expr, "ty", None), relax.distributed.DTensorType)
        types = tuple(_text(param.ty) for param in function.params)
        functions.append(SeedFunction(name, types, _text(function.ret_ty)))
    if distributed or any(name.startswith(_DISTRIBUTED) for name in operators):
        stage = SeedStage.DISTRIBUTED
    elif direct or any(name.startswith(_LOWERED) and name not in _NOT_LOWERED for name in operators):
        stage = SeedStage.LOWERED
    else:
        high_level = any(not name.startswith(_OF_KERNELS) for name in operators)
        stage = SeedStage.HIGH_LEVEL if high_level or not operators else SeedStage.LEGALIZED
    argued, others = spliceable(module) if stage in (SeedStage.HIGH_LEVEL, SeedStage.LEGALIZED) else ((), ())
    return Seed("", "", 0, "", stage, bindings, tuple(functions), tuple(sorted(operators)), argued, others, "")


def _text(ty: Any) -> str:
    return " ".join(str(ty).split())
