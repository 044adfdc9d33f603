"""The minimal reference pipeline: from any stage of a Relax module to what CodeGenVM takes.

No memory planning, no fusion, no kills: each of these is a subject of the fuzzer, so the reference must not trust it.
Every pass here leaves an already lowered module executable, so the same pipeline finishes a module from any stage
(``tests/oracles/test_execution.py`` executes all of them).
"""

from __future__ import annotations

import functools
from typing import Any

import tvm
from tvm import relax

from oracles.execution.closures import keep_closure_types

TARGET_TEXT = "llvm"
STOP_LIFT = "relax.builtin.stop_lift_params"


@functools.cache
def target() -> Any:
    """The target that modules are lowered for."""
    return tvm.target.Target(TARGET_TEXT)


@functools.cache
def reference_pipeline() -> Any:
    """The minimal pipeline as one ``tvm.transform.Sequential``; :func:`lower` does more for closures."""
    return tvm.transform.Sequential([*_until_pure(), *from_pure()])


@functools.cache
def _halves() -> tuple[Any, Any]:
    return tvm.transform.Sequential(_until_pure()), tvm.transform.Sequential(from_pure())


def _until_pure() -> list[Any]:
    dispatch = [relax.backend.DispatchSampling(), relax.backend.DispatchSortScan()]
    return until_pure(dispatch, relax.transform.LegalizeOps())


def until_pure(dispatch: list[Any], legalize_ops: Any) -> list[Any]:
    """The first half of the pipeline, with given passes for dispatching and legalization."""
    transform = relax.transform
    return [
        transform.RealizeVDevice(),
        *dispatch,
        transform.LambdaLift(),
        legalize_ops,
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
    ]


def from_pure(computes: bool = True) -> list[Any]:
    """The second half; modules that compute no numbers can do without a step."""
    transform = relax.transform
    return [
        transform.CallTIRRewrite(),
        transform.LowerAllocTensor(),
        transform.LowerRuntimeBuiltin(),
        *([transform.ComputePrimValue()] if computes else []),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]


def lower(module: Any) -> Any:
    """Lower a module by the reference pipeline; raises whatever TVM raises."""
    module = erase_markers(module)
    first, second = _halves()
    with target():
        return second(keep_closure_types(first(module)))


def erase_markers(module: Any) -> Any:
    """Replace ``stop_lift_params(x)`` by ``x``; the argument itself is not touched.

    The operator is documented as the identity and marks where LiftTransformParams must stop; only that pass removes
    it, so no other subject with the marker would execute.
    """
    marked = [gv for gv, function in module.functions.items() if _is_marked(function)]
    if not marked:
        return module
    erased = module.clone()
    for gv in marked:
        erased.update_func(gv, _Eraser().visit_expr(module[gv]))
    return erased


def _is_marked(function: Any) -> bool:
    return isinstance(function, relax.Function) and STOP_LIFT in tvm.ir.save_json(function)


@relax.expr_functor.mutator
class _Eraser(relax.PyExprMutator):
    def visit_call_(self, op: Any) -> Any:
        call = self.visit_expr_post_order(op)
        if isinstance(call.op, tvm.ir.Op) and call.op.name == STOP_LIFT:
            return call.args[0]
        return call
