from __future__ import annotations

import pytest
import sample_modules as samples
from verdict_rows import ref

from relaxkit.passes.contract import (
    Circumstance,
)
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.plan import out_of_order, plan_of, preparing


def _plan(*names: str, module: object | None = None) -> tuple[list[str], list[str]]:
    refs = [preparing(name) for name in names]
    plan = plan_of(refs, [contract_for(ref) for ref in refs], module or samples.dataflow())
    return [ref.name for ref in plan.prepare], [step.ref.name + "+" * step.inserted for step in plan.steps]


def test_first_pass_is_prepared() -> None:
    assert _plan("FuseTIR") == (["LegalizeOps", "AnnotateTIROpPattern", "FuseOps"], ["FuseTIR"])


def test_later_pass_gets_what_is_missing() -> None:
    assert _plan("DeadCodeElimination", "FuseTIR") == (
        [],
        ["DeadCodeElimination", "LegalizeOps+", "AnnotateTIROpPattern+", "FuseOps+", "FuseTIR"],
    )


def test_nothing_is_prepared_twice() -> None:
    assert _plan("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR") == (
        [],
        ["LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"],
    )


def test_what_a_high_level_pass_makes_is_legalized_again() -> None:
    """Casts that ToMixedPrecision adds behind LegalizeOps are operators, which nothing lowers."""
    assert _plan("LegalizeOps", "ToMixedPrecision", "AnnotateTIROpPattern")[1] == [
        "LegalizeOps",
        "ToMixedPrecision",
        "LegalizeOps+",
        "AnnotateTIROpPattern",
    ]
    assert _plan("LegalizeOps", "DeadCodeElimination", "AnnotateTIROpPattern")[1] == [
        "LegalizeOps",
        "DeadCodeElimination",
        "AnnotateTIROpPattern",
    ]


def test_module_with_a_transform_function_needs_no_lifting() -> None:
    assert _plan("LazyTransformParams")[0] == ["LiftTransformParams", "ToNonDataflow", "RemovePurityChecking"]
    assert _plan("LazyTransformParams", module=samples.transform_params_of_nested_call())[0] == [
        "ToNonDataflow",
        "RemovePurityChecking",
    ]


def test_inserted_steps_carry_their_contract() -> None:
    refs = [preparing("Normalize"), preparing("LazySetOutput")]
    plan = plan_of(refs, [contract_for(ref) for ref in refs], samples.dataflow())
    assert [(step.ref.name, step.contract.name, step.inserted) for step in plan.steps] == [
        ("Normalize", "Normalize", False),
        ("ToNonDataflow", "ToNonDataflow", True),
        ("LazySetOutput", "LazySetOutput", False),
    ]


@pytest.mark.parametrize(
    ("names", "legal"),
    [
        (("LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "AttachGlobalSymbol"), True),
        (("CallTIRRewrite", "DeadCodeElimination", "LowerAllocTensor"), True),
        (("CallTIRRewrite", "ConvertLayout"), False),
        (("CallTIRRewrite", "FuseTIR"), False),
        (("RewriteDataflowReshape", "FuseTIR"), False),
        (("FuseTIR", "RewriteDataflowReshape"), True),
    ],
)
def test_order(names: tuple[str, ...], legal: bool) -> None:
    refs = [preparing(name) for name in names]
    plan = plan_of(refs, [contract_for(ref) for ref in refs], samples.dataflow())
    assert (out_of_order(plan) == "") is legal


def test_an_inserted_step_has_the_contract_of_its_arguments():
    passes = [ref("AnnotateTIROpPattern"), ref("FuseTIR")]
    plan = plan_of(passes, [contract_for(each) for each in passes], samples.dataflow())
    (inserted,) = [each for each in plan.steps if each.inserted and each.ref.name == "FuseOps"]
    assert any(Circumstance.LEVEL_0 in each.on for each in inserted.contract.environment)
