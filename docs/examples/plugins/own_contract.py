"""A plugin with a pass and what it promises: results are exact, and no binding of the result is unused."""

import tvm_ffi
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, NumericPromise, Postcondition, Ran
from relaxkit.passes.plugins import Plugin


@relax.transform.function_pass(opt_level=0, name="RemoveUnused")
class RemoveUnused:
    """Removes bindings that nothing uses."""

    def transform_function(self, func, mod, ctx):
        """Apply it to one function."""
        return relax.analysis.remove_all_unused(func)


def something_unused(ran: Ran) -> str:
    """Whether a function still has an unused binding."""
    for function in ran.after.functions.values():
        if isinstance(function, relax.Function) and not tvm_ffi.structural_equal(
            relax.analysis.remove_all_unused(function), function
        ):
            return "a binding is unused"
    return ""


def remove_unused():
    """The pass."""
    return RemoveUnused()


remove_unused.contract = Contract(
    "remove_unused",
    numeric=NumericPromise.BIT_EXACT,
    idempotence=Idempotence.IDEMPOTENT,
    postconditions=(Postcondition("no binding is unused", something_unused, "its own documentation"),),
)

PLUGIN = Plugin(passes=("remove_unused",))
