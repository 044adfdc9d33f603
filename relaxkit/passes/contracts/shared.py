"""Refusals, dependences and complaints that contracts of several themes share."""

from __future__ import annotations

from functools import partial

from relaxkit.passes.claims.common import operators_left_over
from relaxkit.passes.contract import (
    Circumstance,
    Dependence,
    Functions,
    Harm,
    NumericCheck,
    NumericLimit,
    Operators,
    Postcondition,
    Refusal,
)
from relaxkit.passes.limits import may_give_back_its_argument, of_other_mode

# What TVM's checker says of an impure call in a dataflow block.
IMPURE_IN_DATAFLOW = r"[Ii]mpure function call .* (occurs )?within a dataflow block"
"""A complaint of TVM's checker about an impure call in a dataflow block."""

ONE_BY_ONE = Functions("it works on each function of the module by itself")
MAKES_KERNELS = Functions("it makes kernels, and drops nothing", may_come=True)


def refused(where: str, *rows: tuple[str, str, str]) -> tuple[Refusal, ...]:
    """Return errors by which a file of ``src/relax`` refuses: pattern, reason, and what the file says of it."""
    return tuple(
        Refusal("InternalError", pattern, reason, f"src/relax/{where}{said}") for pattern, reason, said in rows
    )


PLANNED_OUTPUTS = "relax.memory_plan_dynamic_func_output"
"""What StaticPlanBlockMemory takes away (static_plan_block_memory.cc: ``WithoutAttr(func, plan_dyn_attr_)``)."""

VAGUE_VIEW = refused(
    "op/memory/view.cc, LowerBuiltinView: ",
    (
        r"requires that either the output (shape|dtype) be explicitly specified",
        "view of a tensor of unknown shape or dtype",
        "the message says what must be known",
    ),
)


def none_left(claim: str, source: str, *names: str, harm: Harm = Harm.BROKEN) -> Postcondition:
    """Claim that none of some operators is left."""
    return Postcondition(claim, partial(operators_left_over, names=names), source, harm)


def to_kernels(source: str, *names: str, more: tuple[str, ...] = ()) -> Operators:
    """Claim that kernels come for some operators, and that others stay."""
    return Operators(source, names, ("relax.call_tir", *more), "only calls of kernels come")


# What passes that are made of passes share.
PARTS_OF_LEVEL_ONE = (
    Dependence(
        frozenset({Circumstance.LEVEL_0}),
        "a Sequential leaves out what is above the context's level (src/ir/transform.cc, PassEnabled), and parts of "
        "this one are of level 1, as an instrument shows (DeadCodeElimination, LambdaLift, CanonicalizeRelaxBindings)",
    ),
)
# src/relax/ir/dataflow_expr_rewriter.cc: what a pattern's rewriting ends with, until nothing changes.
REWRITER = ("CanonicalizeBindings", "EliminateCommonSubexpr", "DeadCodeElimination", "relax.dpl.rewrite_call")
"""The rewriter of patterns, and the passes whose functions it calls."""
COPIES = ("CanonicalizeBindings", "DeadCodeElimination", "relax.utils.copy_with_new_vars")
"""What passes call that put a copy of a function elsewhere: inline_functions.cc, lift_transform_params.cc."""
NEEDS_TARGET = Dependence(
    frozenset({Circumstance.NO_TARGET}),
    'python/tvm/relax/backend/utils.py: "Target not found. Please ensure that the target is annotated within the '
    'module, or alternatively, execute this within a specified target context."',
)


NO_SUCH_FUNCTION = Refusal(
    "ValueError",
    r"Cannot find global var \"",
    "no such function",
    "src/ir/module.cc: the message names the function that an argument of the pass asks for and lists the module's",
)


# A pass that legalizes may meet an operator whose kernel says itself which dtypes it has.
UNSUPPORTED_DTYPE = Refusal(
    "InternalError",
    r"only support float32 and float16 for now|Data type .* not supported for \w+ ops?\b",
    "kernel for some dtypes only",
    "include/tvm/topi/nn: instance_norm, group_norm and layer_norm name what they support; tirx/op/op.cc: isnan, "
    "isinf, isfinite and abs name what they do not",
)


# Operators that legalization declines by name.
WINDOWED_ATTENTION = Refusal(
    "AssertionError",
    r"Legalization for sliding-window attention is not supported yet",
    "operator without a legalization",
    "relax/transform/legalize_ops/nn.py: _nn_attention says so",
)

UNKNOWN_DEVICE = tuple(
    Refusal(
        "ValueError",
        pattern,
        "hinted device not in global_infos",
        "src/relax/transform/realize_vdevice.cc: the hint names a device that global_infos does not list",
    )
    for pattern in (r"target VDevice in the GlobalInfos was not found", r"Expected to find device")
)

MAY_GIVE_BACK = NumericLimit(
    NumericCheck.RESULTS,
    "a packed call may return its argument",
    'documentation of StaticPlanBlockMemory: it "assumes external function calls via `call_packed` do not retain '
    'memory from the arguments"; what returns an argument has kept it. The pipelines run it, and RewriteCUDAGraph '
    "keeps for later runs the storages that it, or the author of the module, has planned",
    may_give_back_its_argument,
)

_OWN_MODE = (
    "DecomposeOpsForTraining takes every batch_norm for one of training, DecomposeOpsForInference and "
    "FoldBatchnormToConv2D for one of inference: the attribute `training` says which it is, and the passes are "
    "documented for their own mode only"
)


def of_own_mode(training: bool) -> NumericLimit:
    """Return the limit of a pass that is for ``batch_norm`` of one mode."""
    other = partial(of_other_mode, training=training)
    return NumericLimit(NumericCheck.RESULTS, "batch_norm is of the other mode", _OWN_MODE, other)
