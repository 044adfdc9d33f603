"""A pass is not run on what the passes before it have made unfit for it: it might die of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sample_modules as samples
import tvm

from oracles import judge
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Contract, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef

X = "relax.transform"
IDENTITY = PassRef("RemovePurityChecking", f"{X}.RemovePurityChecking()")


@pytest.mark.parametrize(("reason", "applied"), [("not for this one", 1), (None, 2)])
def test_a_step_with_an_unmet_precondition_is_not_run(reason: str | None, applied: int) -> None:
    contracts = [contract_for(IDENTITY), replace(contract_for(IDENTITY), preconditions=(lambda module: reason,))]
    subject = Subject(samples.MODULES["dataflow"](), [IDENTITY, IDENTITY], contracts)
    assert len(subject.chain) == applied
    assert subject.unmet == (reason or "")
    verdicts = judge(subject, [OracleName.CRASH, OracleName.WELL_FORMED, OracleName.NUMERIC, OracleName.SEQUENTIAL])
    outcomes = {Outcome.SKIP} if reason else {Outcome.PASS}
    assert {verdict.outcome for verdict in verdicts} == outcomes
    assert reason is None or {verdict.reason for verdict in verdicts} == {reason}


def test_lifting_is_not_tried_behind_a_binding_that_leaves_too_few_parameters() -> None:
    """LiftTransformParams dies of ``num_input`` that exceeds the parameters; nobody is left to ask then."""
    module = samples.MODULES["dataflow"]()
    (var,) = [each for each in module.get_global_vars() if each.name_hint == "main"]
    function: Any = module[var].with_attr("num_input", len(module[var].params))
    module = tvm.IRModule({var: function})
    values = ", ".join(
        f'"{param.name}": np.zeros({tuple(int(dim) for dim in param.ty.shape)}, "{param.ty.dtype}")'
        for param in function.params
    )
    bind = PassRef("BindParams", f'{X}.BindParams("main", {{{values}}})')
    lift = PassRef("LiftTransformParams", f"{X}.LiftTransformParams()")
    contracts: list[Contract] = [contract_for(bind), contract_for(lift)]
    subject = Subject(module, [bind, lift], contracts)
    assert subject.unmet == ""
    assert len(subject.chain) == 1
    assert subject.unmet == "num_input exceeds the parameters"
    (verdict,) = judge(subject, [OracleName.CRASH])
    assert verdict.outcome is Outcome.SKIP
