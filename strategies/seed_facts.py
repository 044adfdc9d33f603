"""What a collection records of a module: its stage, size, functions, operators, and what may be spliced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.ir import GlobalVar

from strategies.seedfile import SeedFunction, Stage
from strategies.splice import spliceable

_LOWERED = ("relax.vm.", "relax.memory.", "relax.builtin.alloc", "relax.call_builtin_with_ctx")
_NOT_LOWERED = frozenset({"relax.memory.view", "relax.memory.ensure_zero_offset"})
_DISTRIBUTED = ("relax.dist.", "relax.ccl.")
_OF_KERNELS = "relax.call_tir"


@dataclass(frozen=True, slots=True)
class SeedFacts:
    """See the attributes of the same names of :class:`~strategies.seedfile.Seed`."""

    stage: Stage
    bindings: int
    functions: tuple[SeedFunction, ...]
    operators: tuple[str, ...]
    spliceable: tuple[str, ...]
    unargued: tuple[str, ...]


def describe(module: Any) -> SeedFacts:
    """Look at a well-formed module."""
    operators: set[str] = set()
    functions, bindings, distributed, high_level, direct = [], 0, False, False, False
    kernels = {var for var, function in module.functions.items() if isinstance(function, tirx.PrimFunc)}

    def look(expr: Any) -> None:
        nonlocal bindings, distributed, high_level, direct
        if isinstance(expr, relax.SeqExpr):
            bindings += sum(len(block.bindings) for block in expr.blocks)
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
            name = str(expr.op.name)
            if name.startswith("relax."):
                operators.add(name)
                high_level = high_level or not name.startswith(_OF_KERNELS)
        direct = direct or (isinstance(expr, relax.Call) and isinstance(expr.op, GlobalVar) and expr.op in kernels)
        if isinstance(getattr(expr, "ty", None), relax.distributed.DTensorType):
            distributed = True

    for var, function in module.functions.items():
        if not isinstance(function, relax.Function):
            continue
        relax.analysis.post_order_visit(function, look)
        types = tuple(_text(param.ty) for param in function.params)
        functions.append(SeedFunction(str(var.name_hint), types, _text(function.ret_ty)))
    functions.sort(key=lambda each: each.name)
    if distributed or any(name.startswith(_DISTRIBUTED) for name in operators):
        stage = Stage.DISTRIBUTED
    elif direct or any(name.startswith(_LOWERED) and name not in _NOT_LOWERED for name in operators):
        stage = Stage.LOWERED
    else:
        stage = Stage.HIGH_LEVEL if high_level or not operators else Stage.LEGALIZED
    argued, others = spliceable(module) if stage in (Stage.HIGH_LEVEL, Stage.LEGALIZED) else ((), ())
    return SeedFacts(stage, bindings, tuple(functions), tuple(sorted(operators)), argued, others)


def _text(ty: Any) -> str:
    return " ".join(str(ty).split())
