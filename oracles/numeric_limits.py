"""Where a numeric comparison would be unfair to a pass, although its contract allows one in general."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax

from oracles.given import given_of
from oracles.plan import Step
from oracles.verdict import Evidence

_BATCH_NORM = "relax.nn.batch_norm"


def unfair(steps: Sequence[Step], inputs: Callable[[int], Any]) -> str:
    """Why the results of these passes may differ on this module by what they document; empty when they may not.

    Args:
        steps: The passes.
        inputs: Gives the module that a step was applied to.
    """
    for index, step in enumerate(steps):
        training = _TRAINING.get(step.ref.name)
        if training is not None and _has_batch_norm(inputs(index), not training):
            return "batch_norm is of the other mode"
    return ""


# DecomposeOpsForTraining takes every batch_norm for one of training, the other two take it for one of inference: the
# attribute `training` says which it is, and the passes are documented for their own mode only.
_TRAINING = {"DecomposeOpsForTraining": True, "DecomposeOpsForInference": False, "FoldBatchnormToConv2D": False}


def excused_run(error: Evidence, steps: Sequence[Step], module: Any) -> str:
    """Why an output that raises at run time is no fault of the passes; empty when it is.

    A dim that BindSymbolicVars binds in a private function is an input's dim of unknown name in the public one, so
    the inputs need not satisfy it.
    """
    bound = set(given_of([(step.ref.name, step.ref.expression) for step in steps]).dims)
    private = {
        str(var.name)
        for function in module.functions.values()
        if isinstance(function, relax.Function) and (function.attrs is None or "global_symbol" not in function.attrs)
        for var in relax.analysis.defined_symbolic_vars(function)
    }
    if bound & private and "mismatch to specified constant" in error.message:
        return "bound dim is a private function's"
    return ""


def _has_batch_norm(module: Any, training: bool) -> bool:
    found = False

    def visit(expr: Any) -> None:
        nonlocal found
        if isinstance(expr, relax.Call) and getattr(expr.op, "name", "") == _BATCH_NORM:
            found = found or bool(expr.attrs.training) == training

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


# Layouts with a split axis (NCHW4c) have no kernel in TOPI for this target; ConvertLayout documents that it does not
# look whether there is one.
_SPLIT_LAYOUT = re.compile(r'layout="[A-Z]+\d+[a-z]')


def excused(error: Evidence, steps: Sequence[Step]) -> str:
    """Why an output that does not build is no fault of the passes; empty when it is.

    Args:
        error: What the build raised.
        steps: The passes.
    """
    from oracles.contracts import CONTRACTS

    names = {step.ref.name for step in steps}
    if "ConvertLayout" in names and _SPLIT_LAYOUT.search(error.message):
        return "no kernel for this layout"
    # UpdateVDevice replaces a device by index; hints that name the old one are the user's to change, too.
    refusals = CONTRACTS["RealizeVDevice"].refusals
    if "UpdateVDevice" in names and any(refusal.matches(error.kind, error.message) for refusal in refusals):
        return "hint names a replaced device"
    return ""
