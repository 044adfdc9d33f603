"""Closures in the reference pipeline: their calls keep the types that they were given.

TVM 0.27 drops them: ``LowerRuntimeBuiltin`` turns ``invoke_closure(f, (x,), ty_args=[T])`` into a packed call without
``ty_args``, whose type is then ``R.Any``, and refuses the kernel that takes the result ("Argument 0 type mismatch:
expected R.Tensor(...), given R.Any").  That is a defect of that pass, which is a subject of the fuzzer; the reference
must not share it, or no module with a closure could be judged.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

INVOKES = ("relax.invoke_closure", "relax.invoke_pure_closure")


def keep_closure_types(module: Any) -> Any:
    """Bind what a closure returns once more, by a ``match_cast`` to its type; a module without closures is untouched.

    To be called when no dataflow block is left.
    """
    kept = module
    for gv, function in module.functions.items():
        if isinstance(function, relax.Function) and _invokes(function):
            if kept is module:
                kept = module.clone()
            kept.update_func(gv, _Keeper().visit_expr(function))
    return kept


def _invokes(function: Any) -> bool:
    found: list[Any] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, tvm.ir.Op) and expr.name in INVOKES:
            found.append(expr)

    relax.analysis.post_order_visit(function, visit)
    return bool(found)


def _castable(ty: Any) -> bool:
    if isinstance(ty, relax.TupleType):
        return all(_castable(field) for field in ty.fields)
    return isinstance(ty, (relax.TensorType, relax.ShapeType, relax.FuncType))


@relax.expr_functor.mutator
class _Keeper(relax.PyExprMutator):
    def visit_var_binding_(self, binding: Any) -> None:
        value = binding.value
        called = isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op) and value.op.name in INVOKES
        if not called or not _castable(binding.var.ty):
            super().visit_var_binding_(binding)
            return
        raw = self.builder_.emit(self.visit_expr(value))
        self.set_var_remap(binding.var, self.builder_.match_cast(raw, binding.var.ty))
