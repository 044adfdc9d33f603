"""Contracts of the passes for training that are not in ``relax.transform``."""

from __future__ import annotations

from oracles.contract import NO_SUCH_FUNCTION, Abi, Contract, Idempotence, Postcondition, Refusal
from oracles.postconditions.loss import loss_not_appended

_DOCUMENTATION = "documentation of relax.training.AppendLoss"
_TAKEN = Refusal(
    "InternalError",
    r"second\.same_as\(var\)",
    "function of that name exists",
    "src/ir/module.cc: IRModule::Add takes a name once; the caller chooses it by new_func_name",
)

ROWS: tuple[Contract, ...] = (
    Contract(
        "AppendLoss",
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
        postconditions=(
            Postcondition(
                "a loss function stands beside its backbone, which stays as it is", loss_not_appended, _DOCUMENTATION
            ),
        ),
    ),
)
