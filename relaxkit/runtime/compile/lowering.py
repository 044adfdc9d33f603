"""The minimal reference pipeline: from any stage of a Relax module to what CodeGenVM takes.

No memory planning, no fusion, no kills: each of these is a subject of the fuzzer, so the reference must not trust it.
Every pass here leaves an already lowered module executable, so the same pipeline finishes a module from any stage
(``tests/oracles/test_execution.py`` executes all of them).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.functions import relax_items
from relaxkit.ir.walk import operator_calls, operator_of

# Closures in the reference pipeline: their calls keep the types that they were given.
#
# TVM 0.27 drops them: ``LowerRuntimeBuiltin`` turns ``invoke_closure(f, (x,), ty_args=[T])`` into a packed call without
# ``ty_args``, whose type is then ``R.Any``, and refuses the kernel that takes the result ("Argument 0 type mismatch:
# expected R.Tensor(...), given R.Any").  That is a defect of that pass, which is a subject of the fuzzer; the reference
# must not share it, or no module with a closure could be judged.

INVOKES = ("relax.invoke_closure", "relax.invoke_pure_closure")


def keep_closure_types(module: tvm.IRModule) -> Any:
    """Bind what a closure returns once more, by a ``match_cast`` to its type; a module without closures is untouched.

    To be called when no dataflow block is left.
    """
    return _rewritten(module, _Keeper, lambda function: any(name in INVOKES for name, _ in operator_calls(function)))


def _castable(ty: relax.Type) -> bool:
    if isinstance(ty, relax.TupleType):
        return all(_castable(field) for field in ty.fields)
    return isinstance(ty, (relax.TensorType, relax.ShapeType, relax.FuncType))


@relax.expr_functor.mutator
class _Keeper(relax.PyExprMutator):
    def visit_var_binding_(self, binding: relax.Binding) -> None:
        value = binding.value
        if operator_of(value) not in INVOKES or not _castable(binding.var.ty):
            super().visit_var_binding_(binding)
            return
        raw = self.builder_.emit(self.visit_expr(value))
        self.set_var_remap(binding.var, self.builder_.match_cast(raw, binding.var.ty))


TARGET_TEXT = "llvm"
STOP_LIFT = "relax.builtin.stop_lift_params"


@functools.cache
def target() -> Any:
    """Return the target that modules are lowered for."""
    return tvm.target.Target(TARGET_TEXT)


@functools.cache
def halves() -> tuple[list[Any], list[Any]]:
    """Return the passes of both halves of the reference pipeline."""
    dispatch = [relax.backend.DispatchSampling(), relax.backend.DispatchSortScan()]
    return until_pure(dispatch, relax.transform.LegalizeOps()), from_pure()


def until_pure(dispatch: list[Any], legalize_ops: Any) -> list[Any]:
    """Return the first half of the pipeline, with given passes for dispatching and legalization."""
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
    """Return the second half; modules that compute no numbers can do without a step."""
    transform = relax.transform
    return [
        transform.CallTIRRewrite(),
        transform.LowerAllocTensor(),
        transform.LowerRuntimeBuiltin(),
        *([transform.ComputePrimValue()] if computes else []),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]


def lower(module: tvm.IRModule, without: str = "") -> Any:
    """Lower a module by the reference pipeline, without a pass of it if one is named; raises whatever TVM raises."""
    module = erase_markers(module)
    kept = ([each for each in half if each.info.name != without] for half in halves())
    first, second = map(tvm.transform.Sequential, kept)
    with target():
        return second(keep_closure_types(first(module)))


def erase_markers(module: tvm.IRModule) -> Any:
    """Replace ``stop_lift_params(x)`` by ``x``; the argument itself is not touched.

    The operator is documented as the identity and marks where LiftTransformParams must stop; only that pass removes
    it, so no other subject with the marker would execute.
    """
    return _rewritten(module, _Eraser, lambda function: STOP_LIFT in tvm.ir.save_json(function))


def _rewritten(module: tvm.IRModule, mutator: Callable[[], Any], concerns: Callable[[relax.Function], bool]) -> Any:
    """Return the module with the Relax functions that a mutator concerns rewritten; itself where there are none."""
    found = {var: function for var, function in relax_items(module) if concerns(function)}
    if not found:
        return module
    made = module.clone()
    for var, function in found.items():
        made.update_func(var, mutator().visit_expr(function))
    return made


@relax.expr_functor.mutator
class _Eraser(relax.PyExprMutator):
    def visit_call_(self, op: Any) -> Any:
        call = self.visit_expr_post_order(op)
        if isinstance(call.op, tvm.ir.Op) and call.op.name == STOP_LIFT:
            return call.args[0]
        return call
