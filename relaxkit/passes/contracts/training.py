"""Contracts of the passes that make functions for training."""

from __future__ import annotations

from functools import partial

from relaxkit.ir.operator_facts import GRADIENTS
from relaxkit.passes.claims.training import adjoint_missing, derived_otherwise, loss_not_appended
from relaxkit.passes.contract import Abi, Contract, Hook, Idempotence, NumericCheck, NumericLimit, Refusal, stated
from relaxkit.passes.contracts.shared import NO_SUCH_FUNCTION
from relaxkit.passes.limits import is_of_a_frame

_PASS = "src/relax/transform/gradient.cc: the message says what is not supported"
_REQUEST = "src/relax/transform/gradient.cc checks the request, and the message names what is wrong with it"
_KERNELS = "relax/transform/legalize_ops/grad.py"
_OPERATORS = "relax/op/_op_gradient.py"

_DOCUMENTATION = "documentation of relax.training.AppendLoss"
_TAKEN = Refusal(
    "InternalError",
    r"second\.same_as\(var\)",
    "function of that name exists",
    "src/ir/module.cc: IRModule::Add takes a name once; the caller chooses it by new_func_name",
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "Gradient",
        inside=("DeadCodeElimination",),  # gradient.cc: RemoveAllUnused
        limits=(
            NumericLimit(
                NumericCheck.BUILD,
                "dilated pooling has no gradient kernel",
                f'{_KERNELS}: "Dilation is not supported in TOPI pool_grad"',
                error=r"R\.grad\.(avg|max)_pool2d_backward",
            ),
            NumericLimit(
                NumericCheck.BUILD,
                "take by other than a vector has no gradient kernel",
                f'{_KERNELS}: "indices in take must be 1-dim Tensor"',
                partial(is_of_a_frame, kind="AssertionError", frame="te_take_backward"),
            ),
        ),
        abi=Abi.GRADIENT,
        hook=Hook(GRADIENTS, derived_otherwise),
        postconditions=stated(adjoint_missing),
        refusals=(
            NO_SUCH_FUNCTION,
            *(
                Refusal("InternalError", pattern, reason, _REQUEST)
                for pattern, reason in (
                    (r"is not a Relax Function", "not a Relax function"),
                    (r"differentiation target must be a float scalar", "target is not a float scalar"),
                    (r"must be Var or Tuple", "return value is not variables"),
                    (r"Target must be a Var", "target is not a variable"),
                    (r"target_index", "no such target"),
                    (r"There is no Var named", "no such variable"),
                    (r"appears more than once", "variable asked for twice"),
                    (r"can require gradients", "gradient of something else than float tensors"),
                )
            ),
            *(
                Refusal("InternalError", pattern, reason, _PASS)
                for pattern, reason in (
                    (r"only support one dataflow block", "not exactly one dataflow block"),
                    (r"FPrimalGradient has not been registered", "operator without a gradient"),
                    (r"Differentiation of call_tir op", "operator without a gradient"),
                    (
                        r"Now does not support the type of binding value",
                        "binding of another kind than calls and tuples",
                    ),
                    (r"only support VarBindingNode", "match_cast"),
                    # CheckpointCollector meets a match_cast before anything else is looked at
                    (r"\(var_binding\) is false", "match_cast"),
                    # all parameters are differentiated by when none is named, also those that can have no gradient
                    (r"leaf of adjoint should be a Tensor", "parameter that is no tensor"),
                    (r"Missing shape when building zeros", "parameter of unknown shape"),
                )
            ),
            Refusal(
                "ValueError",
                r"te_grad\._register\.\w+ not found",
                "gradient of a kernel that nobody has registered",
                'relax.op.call_tir_with_grad: te_grad_name is "the registered name of the te gradient function"',
            ),
            Refusal(
                "TypeError",
                r"int\(\) argument must be .*not '(Var|Add|Sub|Mul|FloorDiv|FloorMod|Max|Min|Cast)'",
                "gradient that needs a static shape",
                f'{_OPERATORS}: _get_shape_prod (mean, variance) says that it "requires static shape"; those of '
                "cross_entropy_with_logits and conv2d put dims into constants and attributes",
            ),
            Refusal(
                "AssertionError",
                r"only support (NCHW|OIHW) \w+ layout",
                "convolution in another layout",
                f"{_OPERATORS}: conv2d_grad says what it supports",
            ),
        ),
        notes="the function itself stays as it is: its results, and those of the adjoint's first field, are bit-exact; "
        "gradients are judged against differences (oracles/measure/finite_differences.py). No gradient is promised for "
        "targets and weights of nll_loss and the value of full (comments in relax/op/_op_gradient.py)",
    ),
    Contract(
        "AppendLoss",
        where="relax.training.utils",
        abi=Abi.ADDS_FUNCTIONS,
        idempotence=Idempotence.REFUSES,
        refusals=(
            NO_SUCH_FUNCTION,
            _TAKEN,
            *(
                Refusal("InternalError", pattern, reason, _DOCUMENTATION)
                for pattern, reason in (
                    (r"should have only one DataflowBlock", "not exactly one dataflow block"),
                    (r"should be either a Var or a Tuple of Vars", "return value is not variables"),
                    (r"is not a Relax Function", "not a Relax function"),
                    (r"which is different", "loss takes another type than is returned"),
                    (r"which is less than the given num_backbone_outputs", "fewer outputs than the loss takes"),
                )
            ),
        ),
        second_run_refusals=(_TAKEN,),
        postconditions=stated(loss_not_appended),
    ),
)
