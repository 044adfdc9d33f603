"""Code of the user's that a campaign plants, and files that lie beside the user's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzer.campaign.setup import configure, open_campaign
from fuzzer.core.config import Config, ConfigError
from fuzzer.core.installed import installed
from fuzzer.shard.draw import draw_subjects
from relaxkit.ir.walk import operators_of

COUNT = 12
PLANTED = """
import numpy
from tvm import relax

from steps_beside import last
from relaxfuzz import Fragment


def rounded(x):
    return last(relax.op.erf(x))


wide = Fragment(rounded, shapes=((4, 5),), dtype="float64")


def broken(x):
    return x.nothing


def empty(x):
    return relax.op.add(x, relax.op.sum(relax.const(numpy.zeros((2, 0), "float32"))))


number = 3


def make_pass():
    return relax.transform.FoldConstant()
"""
BESIDE = """
from tvm import relax


def last(x):
    return relax.op.round(x)
"""
GIVEN = {"seed": "3", "max-examples": "4", "workers": "1"}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "planted.py").write_text(PLANTED)
    (tmp_path / "steps_beside.py").write_text(BESIDE)
    yield tmp_path / "planted.py"
    sys.modules.pop("steps_beside", None)


def configured(file: Path, *names: str) -> Config:
    return configure({**GIVEN, "passes": "FoldConstant", "plant": [f"{file}:{name}" for name in names]})


def share_with(config: Config, operator: str) -> float:
    drawn = [draw_subjects(config, 1, number) for number in range(COUNT)]
    return sum(each is not None and operator in operators_of(each.module) for each in drawn) / COUNT


@pytest.mark.parametrize("name", ["rounded", "wide"])
def test_a_campaign_plants_code_of_the_users_in_most_modules(file: Path, name: str) -> None:
    config = configured(file, name)
    assert config.plants == (f"{file}:{name}",)
    plain = replace(config, plants=())
    assert share_with(plain, "relax.erf") < 0.3
    assert share_with(config, "relax.erf") > 0.6
    assert Config.from_json(config.to_json()) == config


def test_a_campaign_goes_on_with_the_code_it_began_with_only(file: Path, tmp_path: Path) -> None:
    config = configured(file, "rounded")
    assert [name for name, _ in config.code] == ["planted.py", "steps_beside.py"]
    assert config.identity != configured(file, "wide").identity
    open_campaign(tmp_path / "campaign", config, installed()).store.close()
    again = open_campaign(tmp_path / "campaign", configured(file, "rounded"), installed())
    again.store.close()
    assert again.resumed
    with pytest.raises(ConfigError, match="with other planted code"):
        open_campaign(tmp_path / "campaign", configured(file, "wide"), installed())
    (tmp_path / "steps_beside.py").write_text(BESIDE.replace("round", "floor"))
    with pytest.raises(ConfigError, match=r"steps_beside\.py has changed"):
        open_campaign(tmp_path / "campaign", configured(file, "rounded"), installed())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", r"--plant the planted function `broken` \(planted\.py:\d+\) raised AttributeError"),
        ("empty", "--plant TVM cannot read back the JSON of what the planted function `empty` makes: .*relax.op.zeros"),
        ("number", r"--plant '.*planted\.py:number' is not callable: it is an int"),
        ("rouned", r"--plant '.*planted\.py' has no 'rouned'; did you mean rounded"),
    ],
)
def test_what_cannot_be_planted_is_one_line(file: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        configured(file, name)
    assert "\n" not in str(caught.value)


def test_a_users_file_imports_what_lies_beside_it_wherever_the_campaign_is_started(
    file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = configure({**GIVEN, "pass": ["../planted.py:make_pass"]})
    assert json.loads(config.to_json())["user_passes"][0]["name"] == "make_pass"
