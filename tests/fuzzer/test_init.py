"""``relaxfuzz init``: what it writes can be used, and nothing that is there is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, campaign
from ruamel.yaml import YAML

from fuzzer.campaign.setup import merged
from fuzzer.cli.options import parser_of
from fuzzer.cli.verbs.gate import VERB as GATE
from fuzzer.cli.verbs.init import VERB
from fuzzer.core.config import ConfigError, parse_operators, project_config
from fuzzer.core.verb import UsageError
from fuzzer.gate.policy import load_policy

PASS = "mycompiler.clips:LowerClip"


def init(folder: Path, *arguments: str) -> int:
    return VERB.run(parser_of(VERB).parse_args([str(folder), *arguments]))


def test_what_it_writes_for_a_pass_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    assert project_config(tmp_path) == {"pass": [PASS]}
    policy = load_policy(tmp_path / "relaxfuzz" / "policy.toml", ["LowerClip"], list)
    assert policy.baseline == tmp_path / "relaxfuzz" / "baseline.json"
    test = (tmp_path / "tests" / "test_relaxfuzz.py").read_text()
    compile(test, "test", "exec")
    assert f'check(module, "{PASS}")' in test
    project = tmp_path / "pyproject.toml"
    project.write_text(project.read_text().replace("# operators", "operators"))
    assert parse_operators(str(project_config(tmp_path)["operators"])) == (("relax.permute_dims", 30),)
    assert "relaxfuzz run" in capsys.readouterr().out


def test_the_workflows_test_what_the_project_names(tmp_path: Path) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    for name in ("relaxfuzz.yml", "relaxfuzz-nightly.yml"):
        text = (tmp_path / ".github" / "workflows" / name).read_text()
        jobs: Any = YAML(typ="safe", pure=True).load(text)["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"] if "relaxfuzz" in str(step.get("uses"))]
        assert steps
        assert all("pass" not in step["with"] for step in steps)


def test_for_tvms_passes_there_is_no_test(tmp_path: Path) -> None:
    assert init(tmp_path, "--passes", "FoldConstant,FuseOps") == 0
    assert project_config(tmp_path) == {"passes": "FoldConstant,FuseOps"}
    assert not (tmp_path / "tests").exists()


def test_it_keeps_what_is_there(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "mine"\n')
    assert init(tmp_path, "--pass", PASS) == 0
    assert project.read_text().startswith('[project]\nname = "mine"\n')
    before = project.read_text()
    with pytest.raises(UsageError, match=r"policy\.toml.* would be overwritten; give --force to allow that"):
        init(tmp_path, "--pass", PASS)
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert project.read_text() == before


def test_the_first_campaign_that_passes_becomes_the_baseline(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('baseline = "baseline.json"\n')
    gate = [str(campaign(tmp_path / "night", CLEAN)), "--policy", str(policy)]
    assert GATE.run(parser_of(GATE).parse_args(gate)) == 0
    kept = (tmp_path / "baseline.json").read_text()
    assert GATE.run(parser_of(GATE).parse_args(gate)) == 0
    assert (tmp_path / "baseline.json").read_text() == kept


def test_a_campaign_that_fails_becomes_none(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('baseline = "baseline.json"\n')
    gate = [str(campaign(tmp_path / "night", CLEAN, {"boom": 1})), "--policy", str(policy)]
    assert GATE.run(parser_of(GATE).parse_args(gate)) == 1
    assert not (tmp_path / "baseline.json").exists()


def test_a_wrong_key_of_the_project_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n\n[tool.relaxfuzz]\ntme = '1m'\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml:4: 'tool\.relaxfuzz\.tme' is no option.*time"):
        project_config(tmp_path)


def test_the_command_line_outranks_what_a_file_tests(tmp_path: Path) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    values = merged({"config": tmp_path / "pyproject.toml", "passes": "FoldConstant"})
    assert values == {"passes": "FoldConstant"}
