"""Forms of a module: ways to write one meaning, of which an unrelated function may decide (``Contract.forms``).

Each gives a module in a form of its own, so that two that agree in it are alike for the locality oracle.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.functions import relax_items


def without_dead_code(module: tvm.IRModule) -> Any:
    """Return the module without what nothing reads."""
    return relax.transform.DeadCodeElimination()(module)


def with_called_closures(module: tvm.IRModule) -> Any:
    """Return the module with each call of a variable as a call of a closure, of which it is another notation.

    The virtual machine calls both by ``vm.builtin.invoke_closure`` (src/relax/backend/vm/codegen_vm.cc).
    """
    made = module.clone()
    for var, function in relax_items(module):
        made.update_func(var, _Caller().visit_expr(function))
    return made


@relax.expr_functor.mutator
class _Caller(relax.PyExprMutator):
    def visit_call_(self, op: Any) -> Any:
        call = self.visit_expr_post_order(op)
        if not isinstance(call.op, relax.Var):
            return call
        name = "relax.invoke_pure_closure" if call.op.ty.purity else "relax.invoke_closure"
        return relax.Call(tvm.ir.Op.get(name), [call.op, relax.Tuple(call.args)], None, [op.ty])
