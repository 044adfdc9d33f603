"""The table of pass contracts, and how a pass finds its row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from oracles.contract import LEVELS, Abi, Contract, Dependence, Idempotence, Locality, Refusal, default_contract
from oracles.contracts_algebra import ROWS as ALGEBRA
from oracles.contracts_clean import ROWS as CLEAN
from oracles.contracts_elsewhere import ROWS as ELSEWHERE
from oracles.contracts_fusion import ROWS as FUSION
from oracles.contracts_loss import ROWS as LOSS
from oracles.contracts_lowering import CALLS
from oracles.contracts_lowering import ROWS as LOWERING
from oracles.contracts_params import ROWS as PARAMS
from oracles.contracts_pipelines import ROWS as PIPELINES
from oracles.contracts_rewrite import ROWS as REWRITE
from oracles.contracts_training import ROWS as TRAINING
from oracles.passref import USER_PREFIX, GivenPass, PassRef, load_factory
from oracles.plugins import active, with_oracles
from oracles.postconditions.cuda_graph import CUDA_GRAPH_CLAIMS

_TABLES = (CLEAN, PARAMS, ALGEBRA, REWRITE, TRAINING, LOSS, FUSION, LOWERING, ELSEWHERE, PIPELINES)
CONTRACTS: dict[str, Contract] = {row.name: row for table in _TABLES for row in table}
"""The contracts of TVM's passes and stock pipelines, by name."""


_INFERENCE = "type inference on the types that the caller chose"
RETYPED = (
    Refusal("TypeError", r".", "new types do not fit an operator", _INFERENCE),
    Refusal("ValueError", r".", "new types do not fit an operator or a callee", _INFERENCE),
)

LEVEL_FUSES = Dependence(
    LEVELS, 'documentation of FuseOps: "-1 indicates that the level will be inferred from pass context"'
)

# "This transformation is expected to run after `StaticPlanBlockMemory`" (head of rewrite_cuda_graph.cc). A second run
# lifts the allocations of the function that the first one made for them into another one.
CUDA_GRAPH: dict[str, Any] = {
    "prepare": (*CALLS, "StaticPlanBlockMemory"),
    "idempotence": Idempotence.NEVER,
    "postconditions": CUDA_GRAPH_CLAIMS,
    "refusals": (
        Refusal(
            "InternalError",
            r"virtual_device_id == 0",
            "storages on several devices",
            "src/relax/transform/rewrite_cuda_graph.cc, MergeAllocationPlans: storages of the first device only",
        ),
    ),
    "locality": Locality.MODULE,  # storages are shared by all functions, and captures numbered over the module
}

# What a pass promises otherwise when its arguments match a pattern.
VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    # "The function signature would change accordingly" (its documentation)
    (
        "ToMixedPrecision",
        r"fp16_input_names=\[",
        {"keeps_public_signatures": False, "keeps_calls_fitting": False, "abi": Abi.RETYPE_PARAMS},
    ),
    # "ty_func(Var) -> Type": the caller chooses new types, and what type inference then says of the body is the answer
    # to that choice. Only where nothing is retyped is every error the pass's own.
    ("UpdateParamType", r"TensorType\(", {"refusals": RETYPED, "tolerated_ill_formedness": (r"FValidate",)}),
    # each run lets go of the weights of every function named ..._transform_params (lift_transform_params.cc, post_proc)
    ("LiftTransformParams", r"consume_params", {"idempotence": Idempotence.NEVER}),
    ("RewriteCUDAGraph", r"use_cuda_graph\": True", CUDA_GRAPH),
    ("FuseOps", r"FuseOps\(\)", {"environment": (LEVEL_FUSES,)}),
    # a check may look at all uses in the function (PatternCheckContext.var_usages), and grouping leaves fewer of them
    ("FuseOpsByPattern", r"var_usages", {"idempotence": Idempotence.FIXPOINT, "fixpoint_runs": 4}),
    # its documentation: one transform function for all, or for those that are named
    ("LiftTransformParams", r"shared_transform=(True|\[)", {"locality": Locality.MODULE}),
    # ties flip on each run (modules of TVM's own tests); the other three orders settle at once
    ("TopologicalSort", r"breadth-first.*from-outputs", {"idempotence": Idempotence.NEVER}),
)


def contract_for(ref: PassRef) -> Contract:
    """The contract of a pass.

    A pass of TVM's has a row in the table. A user's pass may bring its contract as attribute ``contract`` of the
    factory (or of the pass object, when it was given as one); without, it gets that of a plugin
    (:mod:`oracles.plugins`) or :func:`default_contract`. The oracles of plugins are claims of all contracts.
    """
    return with_oracles(_own_contract(ref), ref.name)


def _own_contract(ref: PassRef) -> Contract:
    if ref.is_user:
        own = getattr(load_factory(ref.expression[len(USER_PREFIX) :]), "contract", None)
        return own if isinstance(own, Contract) else _brought(ref.name)
    if isinstance(ref, GivenPass):
        own = getattr(ref.given, "contract", None)
        if isinstance(own, Contract):
            return own
    row = CONTRACTS.get(ref.name) or _brought(ref.name)
    for name, pattern, changes in VARIANTS:
        if ref.name == name and re.search(pattern, ref.expression):
            row = replace(row, **changes)
    return row


def _brought(name: str) -> Contract:
    """The contract of a pass that is not in the table."""
    return active().contracts.get(name) or default_contract(name)
