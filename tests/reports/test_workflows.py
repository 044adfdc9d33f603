"""The example workflows: valid by GitHub's schemas, consistent with the action beside them, and their scripts run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, campaign
from ruamel.yaml import YAML

from fuzzer.cli.main import main

WORKFLOWS = Path(__file__).parents[2] / "docs" / "workflows"


def read(name: str) -> Any:
    return YAML(typ="safe", pure=True).load(WORKFLOWS / name)


def steps_of(name: str) -> list[dict[str, Any]]:
    values = read(name)
    jobs = values["jobs"].values() if "jobs" in values else [values["runs"]]
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("vendor.github-workflows", "pull-request.yml"),
        ("vendor.github-workflows", "nightly.yml"),
        ("vendor.github-actions", "action.yml"),
    ],
)
def test_valid_by_githubs_schema(schema: str, name: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(WORKFLOWS / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["pull-request.yml", "nightly.yml"])
def test_the_action_is_called_with_its_inputs(name: str) -> None:
    inputs = read("action.yml")["inputs"]
    calls = [step["with"] for step in steps_of(name) if step.get("uses") == "./.github/actions/relaxfuzz"]
    assert calls
    for given in calls:
        assert set(given) <= set(inputs)
        assert {key for key, value in inputs.items() if value.get("required")} <= set(given)


@pytest.mark.parametrize("name", ["action.yml", "pull-request.yml", "nightly.yml"])
def test_scripts_are_bash_and_take_nothing_from_expressions(name: str) -> None:
    for step in steps_of(name):
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
            assert "${{" not in step["run"], "an expression in a script is a way in for whoever writes its value"


@pytest.mark.parametrize("name", ["action.yml", "pull-request.yml", "nightly.yml"])
def test_every_verb_and_option_exists(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for step in steps_of(name):
        script = step.get("run", "").replace("\\\n", " ")
        offered = {}
        for verb in re.findall(r'relaxfuzz"? (run|merge|gate|baseline|report) ', script):
            with pytest.raises(SystemExit):
                main([verb, "--help"])
            offered[verb] = capsys.readouterr().out
        for verb, rest in re.findall(r'relaxfuzz"? (run|merge|gate|baseline|report) (.*)', script):
            assert [option for option in re.findall(r"--[a-z-]+", rest) if option not in offered[verb]] == []
            if '"${options[@]}"' in rest:
                kept = re.findall(r"--[a-z-]+", " ".join(re.findall(r"options\+?=\(.*?\)", script)))
                assert [option for option in kept if option not in offered[verb]] == []


def ran(folder: Path, fuzz: int = 0) -> tuple[dict[str, int | None], str]:
    """Run the action's steps as a runner does, from a campaign on: the code of each, ``None`` where it is left out.

    A step runs while none before it has failed; one with ``if: always()`` runs in any case.
    """
    (folder / "relaxfuzz").unlink(missing_ok=True)
    (folder / "relaxfuzz").symlink_to(Path(sys.prefix))
    given = {"policy": "policy.toml", "baseline": "", "out": "campaign"}
    outputs, summary = folder / "outputs", folder / "summary.md"
    outputs.write_text("")
    codes: dict[str, int | None] = {}
    said, failed = "", bool(fuzz)
    for step in steps_of("action.yml"):
        name, condition = step.get("name"), step.get("if", "success()")
        if name not in ("Judge", "Report", "Keep", "Verdict"):
            continue
        assert condition in ("success()", "always()"), "a condition that this runner does not know"
        codes[name] = None
        if failed and condition != "always()":
            continue
        codes[name] = 0
        if "run" not in step:
            continue
        environment = {**os.environ, "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(outputs)}
        environment["GITHUB_STEP_SUMMARY"] = str(summary)
        for variable, value in step["env"].items():
            environment[variable] = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value)
            if "steps.gate.outputs.exit-code" in value:
                environment[variable] = outputs.read_text().strip().removeprefix("exit-code=")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        codes[name] = done.returncode
        failed = failed or bool(done.returncode)
        said += done.stdout + done.stderr
    return codes, said


REPORTS = {"gate.json", "baseline.json", "junit.xml", "relaxfuzz.sarif", "report.html"}


@pytest.mark.parametrize(("failures", "code", "word"), [({"boom": 3}, 1, "failed"), ({}, 0, "passed")])
def test_the_actions_scripts_judge_and_report(tmp_path: Path, failures: dict[str, int], code: int, word: str) -> None:
    campaign(tmp_path / "campaign", CLEAN, failures)
    (tmp_path / "policy.toml").write_text("[oracles.crash]\n")
    codes, _ = ran(tmp_path)
    assert codes == {"Judge": 0, "Report": 0, "Keep": 0, "Verdict": code}
    assert f"relaxfuzz gate: {word}" in (tmp_path / "summary.md").read_text().partition("\n")[0]
    assert {path.name for path in (tmp_path / "campaign").iterdir()} >= REPORTS


def test_a_policy_that_cannot_be_used_is_one_error_and_the_campaign_is_kept(tmp_path: Path) -> None:
    campaign(tmp_path / "campaign", CLEAN, {})
    (tmp_path / "policy.toml").write_text("[oracles.crush]\n")
    codes, said = ran(tmp_path)
    assert codes == {"Judge": 2, "Report": None, "Keep": 0, "Verdict": None}
    (line,) = said.splitlines()
    assert line.startswith("::error title=relaxfuzz gate::relaxfuzz: error: policy.toml:1: 'oracles.crush' is not")


def test_a_campaign_that_failed_is_kept_and_not_judged(tmp_path: Path) -> None:
    campaign(tmp_path / "campaign", CLEAN, {})
    assert ran(tmp_path, fuzz=2)[0] == {"Judge": None, "Report": None, "Keep": 0, "Verdict": None}


@pytest.mark.slow
def test_the_first_campaign_becomes_the_baseline_that_the_next_is_compared_with(tmp_path: Path) -> None:
    campaign(tmp_path / "campaign", CLEAN, {})
    (tmp_path / "policy.toml").write_text('baseline = "base.json"\n\n[oracles.crash]\n')
    assert ran(tmp_path)[0]["Verdict"] == 0
    written = (tmp_path / "base.json").read_text()
    (tmp_path / "campaign").rename(tmp_path / "before")
    campaign(tmp_path / "campaign", CLEAN, {"boom": 3})
    codes, _ = ran(tmp_path)
    assert codes == {"Judge": 0, "Report": 0, "Keep": 0, "Verdict": 1}
    assert (tmp_path / "base.json").read_text() == written


FAKE_PIP = """#!/bin/bash
if [[ $2 == venv ]]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; else echo "$@"; fi
"""


@pytest.mark.parametrize(
    ("project", "given", "installed"),
    [("[project]\n", "", " -e ."), ("[tool.relaxfuzz]\n", "", ""), ("[project]\n", "./one two", " ./one two")],
)
def test_the_repository_is_installed_beside_relaxfuzz(tmp_path: Path, project: str, given: str, installed: str) -> None:
    done = _install(tmp_path, project, REQUIREMENT="git+somewhere", INSTALL=given)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"-m pip install --quiet git+somewhere{installed}"


@pytest.mark.parametrize("name", ["action.yml", "nightly.yml"])
def test_nothing_is_installed_under_an_unclaimed_name(tmp_path: Path, name: str) -> None:
    done = _install(tmp_path, "", name, REQUIREMENT="", INSTALL="")
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "::error title=relaxfuzz::set the repository variable RELAXFUZZ to what pip is to install as relaxfuzz"
    ]


def _install(folder: Path, project: str, name: str = "action.yml", **given: str) -> subprocess.CompletedProcess[str]:
    """Run a step that installs, with a Python that only says what it is asked for."""
    (folder / "pyproject.toml").write_text(project)
    (folder / "python").write_text(FAKE_PIP)
    (folder / "python").chmod(0o755)
    script = next(step["run"] for step in steps_of(name) if step.get("name") == "Install")
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env={**os.environ, "PATH": path, "RUNNER_TEMP": str(folder), **given},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_profiles_load_with_and_without_a_token(tmp_path: Path) -> None:
    code = "import conftest, hypothesis; hypothesis.settings.load_profile('relaxfuzz-nightly'); "
    code += "print(type(hypothesis.settings().database).__name__, hypothesis.settings().max_examples)"
    for token, expected in (("", "DirectoryBasedExampleDatabase"), ("x", "MultiplexedDatabase")):
        environment = {**os.environ, "PYTHONPATH": str(WORKFLOWS), "GITHUB_TOKEN": token}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout.strip() == f"{expected} 5000", done.stderr
