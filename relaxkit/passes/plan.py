"""Order of work for one subject: which passes prepare the module, which are judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tvm

from relaxkit.ir.lowered import is_lowered
from relaxkit.passes.arguments import misfit
from relaxkit.passes.contract import ALREADY_LOWERED, Contract, Stage, Trait
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.pass_ref import PassRef, Step


@dataclass(frozen=True, slots=True)
class Plan:
    """Passes that prepare the module, and the passes under judgement, in order."""

    prepare: tuple[PassRef, ...]
    steps: tuple[Step, ...]


def preparing(name: str) -> PassRef:
    """Return a reference to a preparing pass, which takes no arguments."""
    return PassRef(name, f"{CONTRACTS[name].where}.{name}()")


def plan_of(passes: Sequence[PassRef], contracts: Sequence[Contract], module: tvm.IRModule) -> Plan:
    """Make the plan for ``passes`` on the high-level ``module``.

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
    """Say whether a pass on the high-level graph may undo what this pass has done, so that it must run once more."""
    if contract is None:
        return False  # a user's pass is never put in
    return contract.any_stage or contract.gives is not Stage.HIGH_LEVEL or Trait.LOWERS_OPERATORS in contract.traits


def out_of_order(plan: Plan, begins_lowered: bool = False) -> str:
    """Say why the steps stand in an order that is not legal; empty when it is.

    After a pass that lowers calls, only lowering passes, and those that work at any stage, are meant to run; and some
    passes are not meant to run after others (``Contract.not_after``).

    Args:
        begins_lowered: Whether the module that was given is lowered already, in part or as a whole.
    """
    lowered = begins_lowered
    for index, step in enumerate(plan.steps):
        if lowered and step.contract.needs is not Stage.LOWERED and not step.contract.any_stage:
            return ALREADY_LOWERED
        for earlier in plan.steps[:index]:
            if earlier.ref.name in step.contract.not_after:
                return f"{step.ref.name} after {earlier.ref.name}"
        lowered |= step.contract.gives is Stage.LOWERED
    return ""


def preparation(contract: Contract, module: tvm.IRModule) -> tuple[str, ...]:
    """Return the names of the passes that must run before the contract's pass on ``module``."""
    if contract.prepared_when is not None and contract.prepared_when(module):
        return contract.prepare_ready
    return contract.prepare


# Whether a step of a pipeline is meant for the module that the steps before it gave.


def unfit(step: Step, module: tvm.IRModule, first: bool) -> str:
    """Say why a pass is not meant for a module; empty when it is.

    Asked before the pass runs: where it dies of such a module, nobody could ask afterwards.

    Args:
        first: Whether it is the first step, whose preconditions were judged when the subject was.
    """
    for precondition in () if first else step.contract.preconditions:
        if (reason := precondition(module)) is not None:
            return reason
    return misfit(step.ref.name, step.ref.expression, module)
