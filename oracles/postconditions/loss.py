"""What passes for training claim to have added."""

from __future__ import annotations

from tvm import relax

from oracles.contract import Ran
from oracles.postconditions.common import functions_by_name, untouched


def loss_not_appended(ran: Ran) -> str:
    """What is wrong with the function that computes the loss; empty when it stands beside the others, unchanged."""
    backbone = str(ran.arguments["0"])
    name = str(ran.arguments.get("new_func_name", ran.arguments.get("3")) or f"{backbone}_loss")
    before, after = functions_by_name(ran.before), functions_by_name(ran.after)
    if after.keys() != {*before, name}:
        return f"other functions than the loss function came or went\n{sorted(after.keys() ^ before.keys())}"
    if not all(untouched(function, after[key]) for key, function in before.items()):
        return "a function other than the loss function changed"
    made, whole = after[name], before[backbone]
    if len(made.body.blocks) != 1 or not isinstance(made.body.blocks[0], relax.DataflowBlock):
        return "the loss function is not one dataflow block"
    first = made.ret_ty.fields[0] if isinstance(made.ret_ty, relax.TupleType) else made.ret_ty
    if not isinstance(first, relax.TensorType) or first.ndim != 0:
        return f"the loss is no scalar\n{made.ret_ty}"
    if len(made.params) < len(whole.params):
        return "the loss function takes less than its backbone"
    return ""
