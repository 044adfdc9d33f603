"""The example workflows: valid by GitHub's schemas, consistent with the action beside them, and their scripts run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from github_runner import Runner, commands_of, read
from prepared_campaigns import CLEAN, campaign, finding_id

from fuzzer.cli.main import main

WORKFLOWS = Path(__file__).parents[2] / "docs" / "workflows"


def steps_of(name: str) -> list[dict[str, Any]]:
    values = read(WORKFLOWS / name)
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
    inputs = read(WORKFLOWS / "action.yml")["inputs"]
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


def run_script(campaigns: Path) -> str:
    """A ``relaxfuzz`` whose campaigns are there already, by the last digit of their seed; without one it fails."""
    return f"""#!/bin/bash
if [[ $1 != run ]]; then exec {sys.executable} -m fuzzer.cli.main "$@"; fi
echo "$@"
while [[ $1 != --out ]]; do if [[ $1 == --seed ]]; then seed=$2; fi; shift; done
cp -r "{campaigns}/${{seed: -1}}" "$2" || exit 2
"""


def act(folder: Path, **inputs: str) -> tuple[dict[str, int | None], Runner]:
    """Run the action in a repository whose campaign is ``folder / "campaigns" / "0"``."""
    runner = Runner(folder, folder / "home", run_script(folder / "campaigns"))
    given = {"requirement": "relaxfuzz", "policy": "policy.toml", "artifact": "kept", **inputs}
    codes = runner.call(WORKFLOWS / "action.yml", given)
    assert set(codes) == {
        "actions/setup-python@v6", "Cache", "Install", "Check", "Fuzz", "Judge", "Report", "Keep", "Save the cache",
        "Verdict",
    }  # fmt: skip
    assert codes["Save the cache"] == 0
    return {name: codes[name] for name in ("Fuzz", "Judge", "Report", "Keep", "Verdict")}, runner


def scripted(made: Path, failures: Iterable[str]) -> None:
    """Put a script of each finding, and of one that is known, into a campaign."""
    (made / "repros").mkdir(exist_ok=True)
    for name in ("x", *map(finding_id, failures)):
        (made / "repros" / f"{name}.py").write_text("pass\n")


REPORTS = {"gate.json", "baseline.json", "junit.xml", "relaxfuzz.sarif", "report.html"}


@pytest.mark.parametrize(
    ("failures", "least", "code", "word"),
    [({"boom": 3}, 1, 1, "failed"), ({}, 1, 0, "passed"), ({"boom": 3}, 10_000, 3, "not enough evidence")],
)
def test_the_actions_scripts_judge_and_report(
    tmp_path: Path, failures: dict[str, int], least: int, code: int, word: str
) -> None:
    scripted(campaign(tmp_path / "campaigns" / "0", CLEAN, failures), failures)
    accepted = "" if code == 1 else "[campaign]\nnew_findings = 'note'\n"
    (tmp_path / "policy.toml").write_text(f"{accepted}[oracles.crash]\nmin_checks = {least}\n")
    codes, runner = act(tmp_path)
    assert codes == {"Fuzz": 0, "Judge": 0, "Report": 0, "Keep": 0, "Verdict": code}
    assert ("is in the artifact kept." in runner.said) == bool(code)
    assert ("To reproduce a finding, unpack it as" in runner.said) == (code == 1), "nothing new exists otherwise"
    (summary,) = (tmp_path / "home").rglob("summary.md")
    assert f"relaxfuzz gate: {word}" in summary.read_text().partition("\n")[0]
    assert {path.name for path in (tmp_path / "home" / "artifacts" / "kept").iterdir()} >= REPORTS


@pytest.mark.parametrize(
    ("table", "fuzzed"),
    [("oracles.crush", None), ("passes.Mine", 0)],  # only the campaign says which passes of the user's there are
)
def test_a_policy_that_cannot_be_used_is_one_error_before_the_campaign_or_keeps_it(
    tmp_path: Path, table: str, fuzzed: int | None
) -> None:
    campaign(tmp_path / "campaigns" / "0", CLEAN, {})
    (tmp_path / "policy.toml").write_text(f"[{table}]\n")
    codes, runner = act(tmp_path)
    judged = None if fuzzed is None else 2
    assert codes == {"Fuzz": fuzzed, "Judge": judged, "Report": None, "Keep": 0, "Verdict": None}
    assert runner.uploaded == [] if fuzzed is None else ["kept"]
    line = runner.said.splitlines()[-1]
    assert line.startswith(f"::error title=relaxfuzz gate::relaxfuzz: error: policy.toml:1: '{table}' is not a")


def test_no_script_is_named_where_there_is_none(tmp_path: Path) -> None:
    campaign(tmp_path / "campaigns" / "0", CLEAN, {"boom": 3})
    (tmp_path / "policy.toml").write_text("[oracles.crash]\n")
    codes, runner = act(tmp_path)
    assert codes["Verdict"] == 1
    assert "To reproduce a finding" not in runner.said


def test_warnings_about_the_policy_are_in_the_log(tmp_path: Path) -> None:
    campaign(tmp_path / "campaigns" / "0", CLEAN, {})
    entry = '[[known]]\nid = "0000000001"\nreference = "#1"\nreason = "later"\nexpires = 2020-01-01\n'
    (tmp_path / "policy.toml").write_text(f"[oracles.crash]\n{entry}")
    _, runner = act(tmp_path)
    assert "warning: the entry for 0000000001 (#1) expired on 2020-01-01" in runner.said


def test_a_campaign_that_failed_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[oracles.crash]\n")
    codes, runner = act(tmp_path)
    assert codes == {"Fuzz": 2, "Judge": None, "Report": None, "Keep": 0, "Verdict": None}
    assert runner.uploaded == []
    assert re.search(r"^::error title=relaxfuzz::.*\S", runner.said, re.MULTILINE)


@pytest.mark.slow
def test_the_actions_inputs_reach_the_commands(tmp_path: Path) -> None:
    campaign(tmp_path / "campaigns" / "3", CLEAN, {"boom": 3})
    (tmp_path / "policy.toml").write_text("[regression]\naccept_findings = true\n")
    main(["baseline", str(tmp_path / "campaigns" / "3"), "--output", str(tmp_path / "base.json")])
    given = {"examples": "9", "seed": "13", "pass": "mine.py:make", "config": "campaign.toml", "known": "findings.toml",
             "out": "elsewhere"}  # fmt: skip
    codes, runner = act(tmp_path, baseline="base.json", install="-e ./python", **given)
    assert "-m pip install --quiet relaxfuzz -e ./python\n" in runner.said
    options = "--out elsewhere --pass mine.py:make --config campaign.toml --known findings.toml\n"
    assert re.search(rf"^run --max-examples 9 --seed 13 --workers \d+ {options}", runner.said, re.MULTILINE)
    assert codes["Verdict"] == 0
    assert not unrun([runner], steps_of("action.yml")) & (OF_INPUTS - {"tested=(-e .)"})


@pytest.mark.slow
def test_the_first_campaign_becomes_the_baseline_that_the_next_is_compared_with(tmp_path: Path) -> None:
    campaign(tmp_path / "campaigns" / "0", CLEAN, {})
    (tmp_path / "policy.toml").write_text('baseline = "base.json"\n\n[oracles.crash]\n')
    codes, runner = act(tmp_path)
    assert codes["Verdict"] == 0
    assert "commit baseline.json from the artifact kept instead" in runner.said
    written = (tmp_path / "base.json").read_text()
    for folder in (tmp_path / "campaign", tmp_path / "campaigns" / "0", tmp_path / "home"):
        shutil.rmtree(folder)
    campaign(tmp_path / "campaigns" / "0", CLEAN, {"boom": 3})
    codes, _ = act(tmp_path)
    assert codes == {"Fuzz": 0, "Judge": 0, "Report": 0, "Keep": 0, "Verdict": 1}
    assert (tmp_path / "base.json").read_text() == written


SHARDS = (1, 2)
OF_INPUTS = {
    'tested=(-e .)', 'options+=(--pass "$PASS")', 'options+=(--config "$CONFIG")', 'options+=(--known "$KNOWN")',
    'options+=(--baseline "$BASELINE")', 'budget=(--max-examples "$EXAMPLES")',
}  # fmt: skip
"""Commands that the inputs of the action bring, which the workflows that ``init`` writes do not all give."""


def unrun(runners: Iterable[Runner], steps: Iterable[dict[str, Any]]) -> set[str]:
    """Return the commands in the scripts of steps that no runner has run."""
    run: dict[str, str] = {}
    for runner in runners:
        for script, commands in runner.scripts.items():
            run[script] = run.get(script, "") + commands
    return {
        command
        for script in (step["run"] for step in steps if "run" in step)
        for command in commands_of(script)
        if command not in {" ".join(line.split()) for line in run.get(script, "").splitlines()}
    }


class Nights:
    """The nights of a repository in which ``relaxfuzz init`` was run."""

    def __init__(self, folder: Path, *arguments: str, **files: str) -> None:
        self.repository, self.folder = folder / "repository", folder
        self.repository.mkdir()
        for name, text in files.items():
            (self.repository / name).write_text(text)
        assert main(["init", str(self.repository), *arguments]) == 0
        self.runners: list[Runner] = []

    def night(
        self, failures: Iterable[dict[str, int] | None], scripts: bool = True, **facts: Any
    ) -> tuple[dict[str, Any], Runner]:
        """Run the workflow once: by shard, the failures that it meets, ``None`` where no campaign comes of it."""
        home = self.folder / f"night-{len(self.runners)}"
        for number, met in enumerate(failures, 1):
            if met is not None:
                made = campaign(home / "campaigns" / str(number), CLEAN, met, seed=str(number))
                if scripts:
                    scripted(made, met)
        runner = Runner(self.repository, home, run_script(home / "campaigns"), **facts)
        self.runners.append(runner)
        return self.again(runner), runner

    def again(self, runner: Runner) -> dict[str, Any]:
        """Run the jobs of a night once more, on what artifacts it has."""
        return runner.run(self.repository / ".github" / "workflows" / "relaxfuzz-nightly.yml", SHARDS)


def codes_of(jobs: dict[str, Any], *steps: str) -> list[int | None]:
    return [codes[name] for codes in jobs.values() if codes is not None for name in steps if name in codes]


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_each_branch_of_the_nightly_workflow_runs(tmp_path: Path) -> None:
    nights = Nights(tmp_path, "--passes", "FuseOps,LegalizeOps")
    baseline = nights.repository / ".relaxfuzz" / "baseline.json"
    judge, scan = "Judge and report", "Code scanning"
    # The first night has no baseline: the defects of the passes are new, and the gate says how to accept them.
    jobs, runner = nights.night([{"boom": 3}, {}])
    assert list(jobs) == ["campaign-1", "campaign-2", "night"]
    assert codes_of(jobs, "Fuzz and judge", judge) == [1, 0, 1]
    assert codes_of(jobs, scan) == [0, 0]
    assert runner.uploaded == [
        "relaxfuzz-1", "relaxfuzz-1", "relaxfuzz-2", "relaxfuzz-2", "relaxfuzz-night"
    ]  # fmt: skip
    assert "to accept all of them: `relaxfuzz baseline night --output .relaxfuzz/baseline.json`" in runner.said
    assert "::notice title=relaxfuzz::commit" not in runner.said, "a red night is no baseline"
    assert "is in the artifact relaxfuzz-night." in runner.said
    assert "unpack it as 'night' and run" in runner.said
    # A job that is run again may leave its artifact again.
    assert codes_of(nights.again(runner), "Keep") == [0]
    assert "Conflict" not in runner.said
    # It is committed: the next night is green, and what it met can be the next baseline.
    offered = tmp_path / "night-0" / "artifacts" / "relaxfuzz-night" / "baseline.json"
    baseline.write_text(offered.read_text())
    jobs, runner = nights.night([{"boom": 2}, {}], cached=True)
    assert codes_of(jobs, "Fuzz and judge", judge) == [0, 0, 0]
    assert "::notice title=relaxfuzz::commit" not in runner.said
    assert (tmp_path / "night-1" / "artifacts" / "relaxfuzz-night" / "baseline.json").is_file()
    # What is new is red, also beside a shard that came to nothing.
    jobs, runner = nights.night([None, {"bang": 1}])
    assert codes_of(jobs, "Fuzz and judge", judge) == [2, 1, 1]
    assert codes_of(jobs, scan) == [None, 0]
    # Nothing to join, nothing to judge: each job says so, and no step hides it.
    jobs, runner = nights.night([None, None])
    assert codes_of(jobs, "Fuzz and judge", "Merge", judge) == [2, 2, 2, None]
    assert runner.uploaded == []
    # A policy that cannot be read: before the campaign, unless only the campaign says which passes it tests.
    policy, project = nights.repository / ".relaxfuzz" / "policy.toml", nights.repository / "pyproject.toml"
    kept, configured = policy.read_text(), project.read_text()
    for table, configuration, joined in (
        ("oracles.crush", configured, None), ("passes.Mine", configured, None), ("passes.Mine", "", 2)
    ):  # fmt: skip
        policy.write_text(f"[{table}]\n")
        project.write_text(configuration)
        jobs, runner = nights.night([{}, {}])
        assert codes_of(jobs, "Fuzz and judge", scan, judge) == [2, None, 2, None, joined]
    policy.write_text(kept)
    project.write_text(configured)
    # A night that passes without a baseline can become the first one.
    baseline.unlink()
    jobs, runner = nights.night([{}, {}])
    assert codes_of(jobs, "Fuzz and judge", judge) == [0, 0, 0]
    assert "::notice title=relaxfuzz::commit baseline.json of the artifact relaxfuzz-night as" in runner.said
    # A night that fails, and no finding has a script.
    jobs, runner = nights.night([{"crack": 3}, {}], scripts=False)
    assert codes_of(jobs, judge) == [1]
    assert "is in the artifact relaxfuzz-night." in runner.said
    assert "unpack it as 'night' and run" not in runner.said
    # Nobody said what to install; somebody cancels.
    jobs, runner = nights.night([{}, {}], variables={})
    assert codes_of(jobs, "Fuzz and judge", "Install") == [2, 2, 2]
    jobs, _ = nights.night([{}, {}], cancelled=True)
    assert set(jobs.values()) == {None}
    decided: dict[str, set[bool]] = {}
    for each in nights.runners:
        for condition, values in each.decided.items():
            decided.setdefault(condition, set()).update(values)
    assert decided.pop("always()") == {True}
    assert list(decided.values()) == [{True, False}] * len(decided)
    assert unrun(nights.runners, steps_of("action.yml")) == OF_INPUTS - {'options+=(--known "$KNOWN")'}
    jobs = read(WORKFLOWS / "nightly.yml")["jobs"]
    assert not unrun(nights.runners, [*jobs["campaign"]["steps"], *jobs["night"]["steps"]])


OWN = """\
import tvm


@tvm.transform.module_pass(opt_level=0, name="Nothing")
class Nothing:
    def transform_module(self, module, context):
        return module
"""


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_workflows_for_a_pass_of_ones_own_run(tmp_path: Path) -> None:
    nights = Nights(tmp_path, "--pass", "mine.py:Nothing", **{"mine.py": OWN})
    policy = nights.repository / ".relaxfuzz" / "policy.toml"
    policy.write_text(policy.read_text().replace('[passes."Nothing"]\n', ""))  # the campaigns test others
    project = nights.repository / "pyproject.toml"
    # Without a table of the project nothing but relaxfuzz is installed; the property tests say what they judged.
    jobs, runner = nights.night([{}, {}])
    assert codes_of(jobs, "Fuzz and judge", "Judge and report") == [0, 0, 0]
    assert "-m pip install --quiet relaxfuzz pytest\n" in runner.said
    assert "::notice title=relaxfuzz::commit baseline.json of the artifact relaxfuzz-night as" in runner.said
    # A pass that changes nothing is no pass that was tested: it is red, and its failing examples are kept.
    assert codes_of(jobs, "Test", "Keep failing examples") == [1, 0]
    assert "of them changed by the pass" in runner.said
    project.write_text(project.read_text().replace("relaxfuzz_min_changed = 1", "relaxfuzz_min_changed = 0"))
    project.write_text(f'[project]\nname = "mine"\n\n{project.read_text()}')
    jobs, runner = nights.night([{}, {}])
    assert codes_of(jobs, "Test", "Keep failing examples") == [0, 0]
    assert "-m pip install --quiet relaxfuzz pytest -e .\n" in runner.said
    jobs, runner = nights.night([{}, {}], variables={})
    assert codes_of(jobs, "Install") == [2, 2]
    assert not unrun(nights.runners, read(WORKFLOWS / "nightly.yml")["jobs"]["properties"]["steps"])


@pytest.mark.slow
def test_the_workflow_of_pull_requests_runs(tmp_path: Path) -> None:
    nights = Nights(tmp_path, "--pass", "mine.py:Nothing", **{"mine.py": OWN})
    (nights.repository / ".relaxfuzz" / "policy.toml").write_text("[oracles.crash]\n")
    workflow = nights.repository / ".github" / "workflows" / "relaxfuzz.yml"
    for failures, code in (({}, 0), ({"boom": 1}, 1)):
        home = tmp_path / str(code)
        campaign(home / "campaigns" / "7", CLEAN, failures)
        runner = Runner(
            nights.repository, home, run_script(home / "campaigns"), event={"event": {"pull_request": {"number": 17}}}
        )
        assert runner.run(workflow) == {"gate": {"actions/checkout@v5": 0, "./.github/actions/relaxfuzz": code}}
        assert "run --max-examples 3000 --seed 17 " in runner.said
        assert runner.uploaded == ["relaxfuzz"]


def test_a_repository_without_code_scanning_is_not_red(tmp_path: Path) -> None:
    for keeps_going in (True, False):
        folder = tmp_path / str(keeps_going)
        folder.mkdir()
        scan = "{uses: github/codeql-action/upload-sarif@v4, with: {sarif_file: x, category: y}"
        scan += ", continue-on-error: true}" if keeps_going else "}"
        (folder / "w.yml").write_text(
            f"jobs: {{a: {{steps: [{{uses: actions/checkout@v5}}, {scan}, {{run: echo next}}]}}}}"
        )
        (folder / "repository").mkdir()
        (folder / "repository" / "x").write_text("{}")
        runner = Runner(folder / "repository", folder / "home", scans=False)
        (codes,) = runner.run(folder / "w.yml").values()
        assert codes is not None
        assert codes["echo next"] == (0 if keeps_going else None)
    (scan_step,) = (step for step in steps_of("nightly.yml") if "upload-sarif" in step.get("uses", ""))
    assert scan_step["continue-on-error"] is True


def test_our_own_workflow_runs(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / ".ci").mkdir(parents=True)
    for code in (0, 1):
        run = repository / ".ci" / "run"
        run.write_text(f"#!/bin/bash\necho checked\nexit {code}\n")
        run.chmod(0o755)
        runner = Runner(repository, tmp_path / str(code))
        jobs = runner.run(WORKFLOWS.parents[1] / ".github" / "workflows" / "ci.yml")
        assert list(jobs) == ["check-3.10", "check-3.13"]
        assert codes_of(jobs, ".ci/run") == [code, code]


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
    said = "::error title=relaxfuzz::set the repository variable RELAXFUZZ to what pip should install for relaxfuzz"
    assert done.stdout.splitlines()[0] == said


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
