"""A plugin with an oracle: no pass may introduce an operator that our backend lacks."""

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from relaxkit.passes.contract import Ran
from relaxkit.passes.plugins import OwnOracle, Plugin


def introduces_clip(ran: Ran) -> str:
    """Whether the result has a ``clip`` and the operand had none."""
    has = ["R.clip(" in module.script() for module in (ran.before, ran.after)]
    return "clip is new" if has == [False, True] else ""


PLUGIN = Plugin(
    oracles=(OwnOracle("no operator is introduced that the backend lacks", introduces_clip, "docs/backend.md, 3.2"),)
)


@mutator
class _Relu6(PyExprMutator):
    def visit_call_(self, call):
        """``clip`` for each ``relu``."""
        call = self.visit_expr_post_order(call)
        if call.op != tvm.ir.Op.get("relax.nn.relu"):
            return call
        return relax.op.clip(call.args[0], 0, 1e30)


@tvm.transform.module_pass(opt_level=0, name="ReluToClip")
class ReluToClip:
    """A pass that does what it must not: for the conformance test of the oracle."""

    def transform_module(self, module, context):
        """Apply it."""
        mutate = _Relu6(module)
        for variable, function in module.functions_items():
            if isinstance(function, relax.Function):
                mutate.builder_.update_func(variable, mutate.visit_expr(function))
        return mutate.builder_.get()
