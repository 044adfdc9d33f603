"""Contracts of high-level passes that clean up, reorder or restructure without changing what callers see.

Source, where no other is given: the pass catalogue of this project, measured on TVM 0.27.0.post1.
"""

from __future__ import annotations

from oracles.contract import NO_SUCH_FUNCTION, Contract, Idempotence, Refusal
from oracles.preconditions import private_call_depth

F = Idempotence.FIXPOINT

ROWS: tuple[Contract, ...] = (
    Contract(
        "CanonicalizeBindings",
        any_stage=True,
        idempotence=F,
        fixpoint_runs=3,
        refusals=(
            Refusal(
                "ValueError",
                r"MatchCast statements must be consistent",
                "contradictory match_cast",
                "src/relax/transform/canonicalize_bindings.cc: says that two casts provably disagree",
            ),
        ),
        notes="a constant bound to a dataflow variable that reaches an output through aliases needs three runs",
    ),
    Contract(
        "ConvertToDataflow",
        idempotence=F,
        fixpoint_runs=3,
        notes="ends with CanonicalizeBindings, whose fixed point it inherits",
    ),
    Contract(
        "DeadCodeElimination",
        any_stage=True,
        idempotence=F,
        fixpoint_runs=3,
        refusals=(NO_SUCH_FUNCTION,),
        notes="what only a dead local function captured is dead for the next run",
    ),
    Contract(
        "EliminateCommonSubexpr",
        any_stage=True,
        idempotence=F,
        fixpoint_runs=3,
        notes="aliases are retargeted one level a run",
    ),
    Contract(
        "ExpandTupleArguments",
        idempotence=F,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        notes="ends with CanonicalizeBindings and DeadCodeElimination",
    ),
    Contract("InlinePrivateFunctions"),
    Contract("LambdaLift", any_stage=True),
    Contract("Normalize", any_stage=True),
    Contract(
        "NormalizeGlobalVar",
        any_stage=True,
        refusals=(
            Refusal(
                "InternalError",
                r"duplicate global symbol",
                "duplicate global symbol",
                "src/relax/transform/normalize.cc: two public functions claim one symbol",
            ),
        ),
    ),
    Contract("RemoveRedundantReshape"),
    Contract(
        "RemoveUnusedOutputs",
        idempotence=F,
        fixpoint_runs=3,
        fixpoint_extra=private_call_depth,
        notes="one level of a chain of private calls a run: a chain of two needs two runs",
    ),
    Contract(
        "RemoveUnusedParameters",
        idempotence=F,
        fixpoint_runs=1,
        fixpoint_extra=private_call_depth,
        notes="one level of a chain of private calls a run: a chain of three needs three runs",
    ),
    Contract("TopologicalSort"),
    Contract(
        "RealizeVDevice",
        any_stage=True,
        keeps_public_signatures=False,
        notes="a device is propagated back into the types of parameters, which is what the pass is for",
        refusals=(
            Refusal(
                "ValueError",
                r"target VDevice in the GlobalInfos was not found",
                "hinted device not in global_infos",
                "src/relax/transform/realize_vdevice.cc: the hint names a device that global_infos does not list",
            ),
            Refusal(
                "ValueError",
                r"Expected to find device",
                "hinted device not in global_infos",
                "src/relax/transform/realize_vdevice.cc: the hint names a device that global_infos does not list",
            ),
        ),
    ),
    Contract("AttachExternModules", notes="with modules it appends them at every run; drawn with an empty list only"),
)
