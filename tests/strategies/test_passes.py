from __future__ import annotations

import itertools

import pytest
import tvm
from drawing import drawn, in_tiers, missing
from hypothesis import strategies as st

from relaxkit.passes.pass_ref import PassRef
from strategies import Feature, ir_modules, module_and_passes, passes, passes_for, pipelines
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import PASS_ROWS
from strategies.passes import BUILDS, _weighted
from strategies.scope.choices import Choices


def test_the_table_has_the_passes_of_the_catalogue():
    assert len(PASS_ROWS) >= 50
    assert {
        "LiftTransformParams",
        "FuseOpsByPattern",
        "ConvertLayout",
        "ToMixedPrecision",
        "RunCodegen",
        *BUILDS,
    } <= set(PASS_ROWS)


@pytest.mark.parametrize("name", list(PASS_ROWS))
def test_every_pass_is_constructed(name):
    for drawn_pass in drawn(passes([name]), 8):
        assert drawn_pass.name == name
        assert isinstance(drawn_pass.build(), tvm.ir.transform.Pass)


@in_tiers(4, 10)
def test_arguments_suit_the_module(count):
    rich = [Feature.SYMBOLIC_SHAPES, Feature.WEIGHTS, Feature.VDEVICE, Feature.KERNELS]
    for module in drawn(ir_modules(demand=rich), count):
        for name in PASS_ROWS:
            for drawn_pass in drawn(passes_for(module, [name]), 2):
                drawn_pass.build()


def test_bound_parameters_are_those_of_the_module():
    for module in drawn(ir_modules(demand=[Feature.SYMBOLIC_SHAPES]), 40):
        for drawn_pass in drawn(passes_for(module, ["BindParams"]), 3):
            bound = drawn_pass.build()(module)
            before = sum(len(f.params) for f in module.functions.values())
            assert sum(len(f.params) for f in bound.functions.values()) < before


def test_arguments_vary():
    texts = {p.expression for p in drawn(passes(["TopologicalSort", "ConvertLayout", "FuseOps"]), 120)}
    assert len(texts) >= 12


def test_pipelines_have_the_size_asked_for_and_no_whole_build():
    for pipeline in drawn(pipelines(), 200):
        assert 2 <= len(pipeline) <= 6
        assert not {p.name for p in pipeline} & set(BUILDS)


def test_a_module_comes_with_different_passes_that_can_act():
    for module, chosen in drawn(module_and_passes(), 60):
        names = [p.name for p in chosen]
        assert len(set(names)) == len(names) == 8
        if Feature.WEIGHTS.value and not any(f.num_input >= 0 for f in facts_of(module).functions):
            assert "BundleModelParams" not in names


def test_all_passes_are_reached():
    rich = ir_modules(demand=[Feature.KERNELS, Feature.WEIGHTS, Feature.VDEVICE, Feature.SYMBOLIC_SHAPES])
    drawings = drawn(module_and_passes(count=60), 120), drawn(module_and_passes(count=20, modules=rich), 120)
    names = ({each.name for each in chosen} for _, chosen in itertools.chain(*drawings))
    assert not missing(PASS_ROWS, names)


def test_only_passes_with_a_row_are_drawn():
    for _, chosen in drawn(module_and_passes(count=60), 20):
        assert {each.name for each in chosen} <= set(PASS_ROWS)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown passes: Nonsense"):
        passes(["Nonsense"])
    with pytest.raises(ValueError, match="no passes"):
        passes([])
    with pytest.raises(ValueError, match="no pipelines"):
        pipelines(min_size=3, max_size=2)
    with pytest.raises(ValueError, match="whole build"):
        pipelines(["build:zero"])


def test_a_drawn_pass_is_text():
    assert PassRef("Normalize", "relax.transform.Normalize()").build().info.name == "Normalize"


def test_entries_draw_for_a_module_or_none():
    @st.composite
    def one(draw):
        assert (
            PASS_ROWS["BindSymbolicVars"]
            .draw(Choices(draw), facts_of(None))
            .startswith("relax.transform.BindSymbolicVars(")
        )
        return PASS_ROWS["LegalizeOps"].draw(Choices(draw), facts_of(None))

    assert list(drawn(one(), 1)) == ["relax.transform.LegalizeOps()"]


def test_weights_beyond_one_draw_leave_nobody_out() -> None:
    weights = [1, 900_000, 1, 100_000, 1]
    halves = [1 << 15] * 8  # of each byte pair of a pocket: the middle
    assert _weighted(_Fixed(halves), weights) == 1
    total = sum(weights)
    for index, at in ((0, 0), (2, 900_001), (4, total - 1)):
        number = -(-(at << 32) // total)
        assert _weighted(_Fixed([number >> 16, number & 0xFFFF]), weights) == index


class _Fixed(Choices):
    """Gives these indices of 65536."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = iter(numbers)

    def index(self, count: int) -> int:
        assert count == 1 << 16
        return next(self._numbers)
