"""Order of work for one subject: which passes prepare the module, which are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oracles.contract import Contract, Stage
from oracles.contracts import CONTRACTS, contract_for
from oracles.passref import PassRef
from oracles.preconditions import is_lowered


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of a pipeline.

    Attributes:
        ref: The pass.
        contract: What it promises.
        inserted: Whether it was put in because the next one needs it, and not drawn.
    """

    ref: PassRef
    contract: Contract
    inserted: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Passes that prepare the module, and the passes under judgement, in order."""

    prepare: tuple[PassRef, ...]
    steps: tuple[Step, ...]


_BACKEND = frozenset({"DispatchSampling", "DispatchSortScan"})


def preparing(name: str) -> PassRef:
    """Reference to a preparing pass, which takes no arguments."""
    room = "relax.backend" if name in _BACKEND else "relax.transform"
    return PassRef(name, f"{room}.{name}()")


def plan_of(passes: Sequence[PassRef], contracts: Sequence[Contract], module: Any) -> Plan:
    """Plan for ``passes`` on the high-level ``module``.

    The first pass's preparation runs before anything is judged. A later pass that needs a later stage than
    the ones before it reach gets the missing passes of its own preparation in front. What a pass on the high-level
    graph makes (operators, dataflow blocks, local functions) must be legalized and lifted again.
    """
    first = preparation(contracts[0], module)
    if len(contracts) > 1 and is_lowered(module):
        # What is lowered in part is brought to its stage at once: nothing of an earlier stage may come in between.
        first = tuple(dict.fromkeys(name for contract in contracts for name in preparation(contract, module)))
    done = list(first)
    steps: list[Step] = []
    for index, (ref, contract) in enumerate(zip(passes, contracts, strict=True)):
        if index > 0:
            missing = [name for name in preparation(contract, module) if name not in done]
            steps += [Step(preparing(name), contract_for(preparing(name)), inserted=True) for name in missing]
            done += missing
        steps.append(Step(ref, contract))
        if contract.needs is contract.gives is Stage.HIGH_LEVEL and not contract.any_stage:
            done = [name for name in done if not _undone(CONTRACTS.get(name))]
        done.append(ref.name)
    return Plan(tuple(preparing(name) for name in first), tuple(steps))


def _undone(contract: Contract | None) -> bool:
    """Whether a pass on the high-level graph may undo what this pass has done, so that it must run once more."""
    if contract is None:
        return False  # a user's pass is never put in
    return contract.any_stage or contract.gives is not Stage.HIGH_LEVEL or contract.name in _BACKEND


def out_of_order(plan: Plan, begins_lowered: bool = False) -> str:
    """Why the steps stand in an order that is not legal; empty when they do not.

    After a pass that lowers calls, only lowering passes, and those that work at any stage, are meant to run; and
    FuseTIR only takes what FuseOps left it, not the ``R.reshape`` that RewriteDataflowReshape puts there.

    Args:
        plan: The steps.
        begins_lowered: Whether the module that was given is lowered already, in part or as a whole.
    """
    lowered, reshaped = begins_lowered, False
    for step in plan.steps:
        if lowered and step.contract.needs is not Stage.LOWERED and not step.contract.any_stage:
            return "pass of an earlier stage after lowering"
        if reshaped and step.ref.name == "FuseTIR":
            return "FuseTIR after RewriteDataflowReshape"
        lowered |= step.contract.gives is Stage.LOWERED
        reshaped |= step.ref.name == "RewriteDataflowReshape"
    return ""


def preparation(contract: Contract, module: Any) -> tuple[str, ...]:
    """Names of the passes that must run before the contract's pass on ``module``."""
    if contract.prepared_when is not None and contract.prepared_when(module):
        return contract.prepare_ready
    return contract.prepare
