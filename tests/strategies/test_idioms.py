from __future__ import annotations

import random
from collections import Counter

import pytest
from drawing import BUFFER, drawn, in_tiers, with_scope
from idiom_modules import acts, planted
from tvm import relax

from relaxkit.passes.contracts import CONTRACTS
from strategies.idioms import IDIOMS, RARE, Planned, aimed, calls, parts, rare, stages
from strategies.idioms.idiom import SUFFIX
from strategies.idioms.planting import for_passes, passes_for
from strategies.modules import described_modules
from strategies.pass_arguments.table import PASS_ROWS, aimed_weights
from strategies.scope.bounds import Bounds
from strategies.scope.choices import Choices
from strategies.scope.features import Feature
from strategies.scope.frame import Infeasible
from strategies.scope.from_bytes import draw_from_bytes

PLANTS = in_tiers(5, 20)
LEAST = 0.6

NO_IDIOM = {
    "AttachAttrLayoutFreeBuffers", "AttachExternModules", "AttachGlobalSymbol", "BindParams", "BindSymbolicVars",
    "BundleModelParams", "CallTIRRewrite", "LazyGetInput", "LazySetOutput", "LegalizeOps", "LowerAllocTensor",
    "LowerRuntimeBuiltin", "RemovePurityChecking", "SpecializePrimFuncBasedOnCallSite", "ToNonDataflow",
    "UpdateParamType", "VMShapeLower", "build:cpu", "build:default", "build:zero",  # they act on almost every module
    "AlterOpImpl",  # acts on every kernel that its arguments name
    "RewriteCUDAGraph",  # acts on whatever allocates memory of constant size
    "AppendLoss",  # acts on functions of one dataflow block, by the types that they return
    "FoldVDeviceScopeChange",  # folds moves between memory scopes of one GPU; removes what is unused everywhere
    # Made of the operators, blocks and kernels that a module has.
    "rewrite_call", "rewrite_bindings", "PatternMatchingRewriter", "DataflowBlockRewrite", "suggest_layout_transforms",
    "MetaScheduleApplyDatabase", "AnnotateCustomMemoryScope", "inline_functions", "dataflowblock_pass",
    "analysis", "ApplyEmptyCppMutator",  # change nothing: what they are asked, and that all is visited, is judged
    "LowerGPUIPCAllocStorage",  # writes anew what it visits: memory that processes share is a GPU's
}  # fmt: skip

NEAR = [(idiom, near) for idiom in IDIOMS for near in idiom.near_misses]


def modules(planned, count):
    """Modules with one idiom each, half of them with symbolic dims allowed."""
    source = random.Random(7)
    made = [draw_from_bytes(planted(planned, bool(n % 2)), source.randbytes(BUFFER)) for n in range(count)]
    return [each[0] for each in made if each is not None]


def test_names_are_distinct_and_passes_known():
    names = [idiom.name for idiom in IDIOMS]
    assert len(set(names)) == len(names)
    for idiom in IDIOMS:
        assert SUFFIX not in idiom.name
        assert set(idiom.acts_on) | set(idiom.also_for) <= set(PASS_ROWS)
        near = [each.name for each in idiom.near_misses]
        assert len(set(near)) == len(near)
        assert passes_for(f"{idiom.name}{SUFFIX}any") == (*idiom.acts_on, *idiom.also_for)


def test_every_pass_under_contract_has_an_idiom_or_a_reason():
    under_contract = {name for name in CONTRACTS if name in PASS_ROWS}
    rare = {name for idiom in RARE for name in idiom.acts_on}
    assert under_contract - set(for_passes()) - rare <= NO_IDIOM
    tested = {name for idiom in IDIOMS for name in idiom.acts_on}
    assert not tested & NO_IDIOM


@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
@PLANTS
def test_an_idiom_makes_its_passes_act(idiom, count):
    made = modules(Planned(idiom), count)
    assert len(made) == count
    for module in made:
        relax.analysis.well_formed(module)
    for name in idiom.acts_on:
        said = Counter(acts(name, made))
        assert said["changed"] >= LEAST * count, (name, said)


@in_tiers(300, 3000)
def test_an_idiom_of_any_ranks_defines_its_dims_also_where_parameters_are_few(count):
    source = random.Random(8)
    for idiom in (idiom for idiom in IDIOMS if idiom.name.endswith("_of_ranks")):
        for number in range(count // 5):
            made = draw_from_bytes(planted(Planned(idiom), True, number % 4), source.randbytes(BUFFER))
            if made is not None:
                relax.analysis.well_formed(made[0])


@pytest.mark.parametrize(("idiom", "near"), NEAR, ids=[f"{idiom.name}!{near.name}" for idiom, near in NEAR])
@PLANTS
def test_a_near_miss_is_left_alone(idiom, near, count):
    made = modules(Planned(idiom, near), count)
    assert len(made) >= count * LEAST
    for module in made:
        relax.analysis.well_formed(module)
    for name in idiom.acts_on if near.spares is None else near.spares:
        said = Counter(acts(name, made))
        if near.defect:  # when TVM is repaired, the row can say so
            assert said["same"] < len(made), (name, said)
        else:
            assert said == Counter(same=len(made)), (name, said)


def test_planted_idioms_are_named_and_several():
    described = list(drawn(described_modules(), 120))
    counts = Counter(name for each in described for name in each.idioms)
    known = {idiom.name for idiom in IDIOMS} | {f"{idiom.name}!{near.name}" for idiom, near in NEAR}
    assert set(counts) <= known
    assert len(counts) > 60
    assert sum(len(each.idioms) > 1 for each in described) > 30
    assert sum(SUFFIX in name for name in counts) > 10


def test_what_is_forbidden_is_not_aimed_at():
    source = random.Random(3)
    choices = Choices(lambda strategy: source.randbytes(8))
    forbidden = (Feature.WEIGHTS, Feature.KERNELS)
    for planned in aimed(choices, 300, aimed_weights(), forbidden, True):
        assert not planned.needs & set(forbidden)


def test_each_pass_is_aimed_at():
    source = random.Random(4)
    choices = Choices(lambda strategy: source.randbytes(8))
    chosen = aimed(choices, 3000, aimed_weights(), (), False)
    hit = {name for planned in chosen for name in planned.idiom.acts_on}
    assert hit == {name for idiom in IDIOMS for name in idiom.acts_on}
    assert 0.1 < sum(planned.near is not None for planned in chosen) / len(chosen) < 0.4


@pytest.mark.parametrize(
    "plant",
    [
        calls.nested_calls, calls.explicit_dims, stages.workspace, rare.fused_dims, rare.fused_products,
        rare.fused_in_place, rare.some_outputs,
    ],
)  # fmt: skip
def test_functions_with_types_of_the_host_are_planted_where_no_device_is(plant):
    def refused(scope):
        scope.frame.device = relax.VDevice("llvm", 0)
        with pytest.raises(Infeasible, match="bound to a device"):
            plant(scope)
        return True

    assert draw_from_bytes(with_scope(refused), bytes(BUFFER))


def test_a_concat_may_hold_what_each_operand_may_hold():
    def joined(scope):
        operands = [parts.fresh(scope, [2], "float32", Bounds(least, least + 1.0)) for least in (0.0, -9.0, 7.0)]
        return parts.concat(scope, operands, 0).known

    assert draw_from_bytes(with_scope(joined), bytes(BUFFER)) == Bounds(-9.0, 8.0)
