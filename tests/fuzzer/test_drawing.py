"""What a shard draws: a pure function of its arguments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import tvm_ffi
from sample_records import META

from fuzzer.campaign.setup import pass_names
from fuzzer.cli.verbs.run import _announce as announce
from fuzzer.core.config import Config, ConfigError, parse_operators
from fuzzer.shard.draw import draw_subjects, subjects_per_module
from fuzzer.store.writer import Store
from relaxkit.ir.walk import operators_of
from relaxkit.passes.contract import OracleName
from strategies import Feature

COUNT = 24


def config() -> Config:
    return Config(3, pass_names(), (), tuple(OracleName), 1, None, 1)


def test_equal_arguments_give_equal_subjects() -> None:
    again = draw_subjects(config(), 1, 7)
    first = draw_subjects(config(), 1, 7)
    assert first is not None
    assert again is not None
    assert tvm_ffi.structural_equal(first.module, again.module)
    assert first.pipelines == again.pipelines
    assert tvm_ffi.structural_hash(first.module) == tvm_ffi.structural_hash(again.module)


def test_each_module_has_all_its_subjects() -> None:
    found = [draw_subjects(config(), 1, number) for number in range(COUNT)]
    assert None not in found
    for subjects in found:
        assert subjects is not None
        assert len(subjects.pipelines) == subjects_per_module(config())
        singles = [row[0].name for row in subjects.pipelines if len(row) == 1]
        assert len(singles) == len(set(singles))


def test_an_aimed_campaign_draws_more_of_its_operators_and_is_another_one() -> None:
    aimed = replace(config(), operators=parse_operators("relax.erf=20, relax.split=1"))
    plain, more = (
        sum("relax.erf" in operators_of(drawn.module) for number in range(COUNT)
            if (drawn := draw_subjects(each, 1, number)) is not None)
        for each in (config(), aimed)
    )  # fmt: skip
    assert more > COUNT / 2 > plain
    assert aimed.identity != config().identity
    assert Config.from_json(aimed.to_json()) == aimed


def test_a_campaign_says_which_operators_are_generated_more_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.create(tmp_path / "campaign", META) as store:
        announce(config(), store, tmp_path, False)
        assert "generated more often" not in capsys.readouterr().err
        announce(replace(config(), operators=parse_operators("relax.erf=20, relax.split=1")), store, tmp_path, False)
    assert "generated more often: relax.erf and relax.split" in capsys.readouterr().err


def test_operators_may_be_nested_calls() -> None:
    text = "relax.add(_, relax.matmul(_, relax.exp))=20, split=1"
    assert parse_operators(text) == (("relax.add(_, relax.matmul(_, relax.exp))", 20), ("relax.split", 1))


@pytest.mark.parametrize(
    ("names", "least", "most"),
    [
        (("LegalizeOps", "FuseOps"), 0, 0),
        (("PropagateSharding",), COUNT // 4, 3 * COUNT // 4),
        (("PropagateSharding", *["FuseOps"] * 3), 1, COUNT // 3),
    ],
)
def test_features_on_demand_are_drawn_as_often_as_passes_look_for_them(
    names: tuple[str, ...], least: int, most: int
) -> None:
    each = replace(config(), passes=names)
    drawn = [draw_subjects(each, 1, number) for number in range(COUNT)]
    spread = [subjects for subjects in drawn if subjects and Feature.DISTRIBUTED in subjects.drawn.features]
    assert least <= len(spread) <= most


@pytest.mark.parametrize(
    ("names", "least", "most"),
    [(("Normalize", "FuseOps"), 0, 0), (("ConvertLayout",), COUNT // 4, 3 * COUNT // 4)],
)
def test_rare_idioms_are_drawn_as_often_as_passes_look_for_them(names: tuple[str, ...], least: int, most: int) -> None:
    each = replace(config(), passes=names)
    drawn = [subjects.drawn for number in range(COUNT) if (subjects := draw_subjects(each, 1, number)) is not None]
    asked = [module for module in drawn if module.rare]
    assert least <= len(asked) <= most
    assert len([module for module in asked if module.rare in module.idioms]) > 2 * len(asked) // 3 - 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("permute_dim=3", "--operators: unknown operator 'permute_dim'; did you mean relax.permute_dims"),
        ("split", "--operators: the weight of split, '' is not a whole number"),
    ],
)
def test_what_operators_cannot_mean_is_said(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_operators(text)


def test_a_misspelled_auto_is_suggested() -> None:
    with pytest.raises(ConfigError, match="did you mean auto"):
        parse_operators("atuo")
