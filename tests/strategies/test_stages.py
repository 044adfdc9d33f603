"""A drawn walk is legal by the contracts."""

from __future__ import annotations

import pytest
import tvm
from drawing import drawn
from tvm import relax

from oracles import CONTRACTS, contract_for
from relaxkit.passes.contract import Stage, Trait
from relaxkit.passes.contracts import the_pass, with_trait
from relaxkit.passes.ordering import BUILDS, LOWERING, PipelineWalk
from relaxkit.passes.plan import out_of_order, plan_of
from strategies import ir_modules, pipelines
from strategies.pass_arguments.table import PASS_ROWS
from strategies.passes import ON_LOWERED

ROWS = {name: row for name, row in CONTRACTS.items() if name in PASS_ROWS and name not in BUILDS}


def _by_contract(**wanted: object) -> set[str]:
    return {name for name, row in ROWS.items() if all(getattr(row, key) == value for key, value in wanted.items())}


ON_KILLS = with_trait(Trait.KEEPS_KILLS)
NOT_BEFORE = [(first, row.name) for row in CONTRACTS.values() for first in row.not_after]


def test_stages_are_those_of_the_contracts():
    assert set(LOWERING) == _by_contract(gives=Stage.LOWERED)
    textures = "AnnotateCustomMemoryScope"  # the passes around it are those of a pipeline
    assert set(BUILDS) == {name for name in CONTRACTS if name.startswith("build:") or name == textures}
    assert _by_contract(any_stage=True) | _by_contract(needs=Stage.LOWERED) == ON_LOWERED


def test_drawn_pipelines_are_legal_by_the_contracts():
    plans = []
    for seed, module in enumerate(drawn(ir_modules(), 20)):
        for pipeline in drawn(pipelines(module=module), 15, seed):
            plans.append(plan_of(pipeline, [contract_for(ref) for ref in pipeline], module))
    assert not [reason for plan in plans if (reason := out_of_order(plan))]
    names = [tuple(step.ref.name for step in plan.steps if not step.inserted) for plan in plans]
    lowered = [any(name in LOWERING for name in row) for row in names]
    assert 0.2 < sum(lowered) / len(lowered) < 0.9
    assert any(len(set(row)) < len(row) for row in names)  # repeats
    # what legalizes or fuses may come before what works on operators
    late = {name for name, row in ROWS.items() if row.gives in (Stage.LEGALIZED, Stage.ANNOTATED, Stage.FUSED)}
    high = _by_contract(needs=Stage.HIGH_LEVEL, gives=Stage.HIGH_LEVEL, any_stage=False)
    assert any(row[index] in late and row[index + 1] in high for row in names for index in range(len(row) - 1))


def test_nothing_of_an_earlier_stage_follows_lowering():
    walk = PipelineWalk(("FuseOps", "FuseTIR", "CallTIRRewrite", "Normalize", "VMShapeLower"))
    assert walk.legal(early=True) == ("FuseOps", "FuseTIR", "Normalize")
    assert walk.legal(early=False) == ("CallTIRRewrite", "VMShapeLower")
    walk.step("CallTIRRewrite")
    assert walk.legal(early=True) == walk.legal(early=False) == ("Normalize", "VMShapeLower")


@pytest.mark.parametrize(("first", "later"), NOT_BEFORE)
def test_a_pair_stands_in_its_order(first: str, later: str):
    walk = PipelineWalk((first, later))
    walk.step(later)
    assert walk.legal(early=True) == (first, later)
    walk.step(first)
    assert walk.legal(early=True) == (first,)


def test_a_lowered_module_gets_what_works_on_it():
    assert PipelineWalk(("FuseOps", "Normalize"), lowered=True).legal(early=True) == ("Normalize",)
    assert PipelineWalk(("FuseOps",), lowered=True).legal(early=True) == ("FuseOps",)  # there is nothing else


def test_what_lowers_is_in_the_order_of_tvm():
    steps = relax.backend.cuda.finalize_passes(tvm.target.Target("llvm"))
    assert [step.info.name for step in steps if step.info.name in LOWERING] == list(LOWERING[1:])


def _after(*done: str) -> set[str]:
    walk = PipelineWalk(tuple(name for name in PASS_ROWS if name not in BUILDS))
    for name in done:
        walk.step(name)
    return set(walk.legal(early=True)) | set(walk.legal(early=False))


def test_lowering_does_not_go_back():
    assert _after("LowerAllocTensor") & set(LOWERING) == set(LOWERING[LOWERING.index("LowerAllocTensor") :])
    assert "RewriteCUDAGraph" not in _after("LowerRuntimeBuiltin", "LowerAllocTensor")
    assert {"CanonicalizeBindings", "FoldVDeviceScopeChange"} <= _after("StaticPlanBlockMemory", "LowerAllocTensor")


def test_nothing_renames_behind_kills():
    assert _after("KillAfterLastUse") == ON_KILLS | set(LOWERING[LOWERING.index("KillAfterLastUse") :])


def test_in_place_calls_are_followed_by_what_lowers():
    in_place = the_pass(Trait.IN_PLACE)
    assert _after(in_place) == ON_KILLS | {*LOWERING}
    assert "FoldConstant" not in _after("FuseOps", in_place)


def test_arguments_that_name_what_the_given_module_has_come_first():
    first = with_trait(Trait.NAMES_THE_GIVEN)
    assert first == {"AlterOpImpl", "BindParams", "UpdateVDevice", "suggest_layout_transforms"}
    assert _after() >= first
    assert not _after("Normalize") & first


def test_types_that_the_caller_chose_are_judged_alone():
    assert not _after() & {the_pass(Trait.RETYPES_THE_GIVEN)}
