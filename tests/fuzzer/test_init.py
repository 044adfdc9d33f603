"""``relaxfuzz init``: what it writes can be used, and nothing that is there is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prepared_campaigns import CLEAN, campaign
from ruamel.yaml import YAML

from fuzzer.campaign.setup import configure, merged
from fuzzer.cli.main import main
from fuzzer.cli.options import parser_of
from fuzzer.cli.verbs import init as init_verb
from fuzzer.cli.verbs.baseline import VERB as BASELINE
from fuzzer.cli.verbs.gate import VERB as GATE
from fuzzer.cli.verbs.init import VERB
from fuzzer.cli.verbs.triage import VERB as TRIAGE
from fuzzer.core.config import ConfigError, project_config, project_file
from fuzzer.core.toml import read_toml
from fuzzer.core.verb import UsageError
from fuzzer.gate.policy import Weight, load_policy
from fuzzer.store.writer import Store

PASS = "clips.py:LowerClip"
SOURCE = "from tvm import relax\n\nLowerClip = LowerMore = relax.transform.Normalize\n"


MENDED = """
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator


RELU = tvm.ir.Op.get("relax.nn.relu")


@mutator
class _Twice(PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        return relax.op.nn.relu(self.builder_.emit(call)) if call.op == RELU else call


@relax.transform.function_pass(opt_level=0)
class Clip:
    def transform_function(self, function, module, context):
        return _Twice(module).visit_expr(function)
"""


@pytest.fixture(autouse=True)
def _untried(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not try the pass on modules in each test: two tests below are about that."""
    if request.function not in (
        test_a_pass_that_raises_is_told_at_once, test_in_an_empty_repository_pytest_needs_nothing_else
    ):  # fmt: skip
        monkeypatch.setattr(init_verb, "try_modules", lambda *_: "")


def init(folder: Path, *arguments: str) -> int:
    (folder / "clips.py").write_text(SOURCE)
    return VERB.run(parser_of(VERB).parse_args([str(folder), *arguments]))


def test_what_it_writes_for_a_pass_can_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    assert project_config(tmp_path) == {"pass": [f"{tmp_path}/{PASS}"], "operators": "auto"}
    policy = load_policy(tmp_path / ".relaxfuzz" / "policy.toml", ["LowerClip"], list)
    assert policy.baseline == tmp_path / ".relaxfuzz" / "baseline.json"
    assert policy.notes is Weight.FAIL
    test = (tmp_path / "tests" / "test_relaxfuzz.py").read_text()
    compile(test, "test", "exec")
    assert f'check(module, "{PASS}")' in test
    project = tmp_path / "pyproject.toml"
    project.unlink()
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert "relaxfuzz run" in capsys.readouterr().out


def test_operators_are_those_that_the_pass_names_when_it_is_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not those that it named when `init` ran."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "clips.py"
    assert init(tmp_path, "--pass", PASS) == 0
    assert f'ir_modules(operators="{PASS}")' in (tmp_path / "tests" / "test_relaxfuzz.py").read_text()
    for number, operator in enumerate(("relax.multiply", "relax.nn.layer_norm")):
        source.write_text(f'{SOURCE}\nNAME = "{operator}"\n{"#" * number}\n')
        config = configure({**merged({"config": tmp_path / "pyproject.toml"}), "max-examples": "1"})
        assert config.operators == ((operator, 30),)


def test_in_an_empty_repository_pytest_needs_nothing_else(tmp_path: Path) -> None:
    """No conftest.py, no package, and no directory to start it in: `pytest` alone finds the pass."""
    (tmp_path / "its_passes").mkdir()
    (tmp_path / "its_passes" / "clips.py").write_text(MENDED)
    assert VERB.run(parser_of(VERB).parse_args([str(tmp_path), "--pass", "its_passes.clips:Clip"])) == 0
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py"))
    assert written == ["its_passes/clips.py", "tests/test_relaxfuzz.py"]
    elsewhere = tmp_path / "tests"
    done = subprocess.run(
        [str(Path(sys.executable).parent / "pytest"), "-p", "no:cacheprovider", "--hypothesis-profile",
         "relaxfuzz-quick", "test_relaxfuzz.py"],
        cwd=elsewhere, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(("name", "head"), [("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")])
def test_a_file_that_pytest_reads_is_not_put_out_of_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, head: str
) -> None:
    """With a table of pytest's in pyproject.toml it would read that instead."""
    (tmp_path / name).write_text(f"{head}\naddopts = -q\n")
    assert init(tmp_path, "--pass", PASS) == 0
    assert (
        f"pytest reads {name} instead of pyproject.toml; add to {name}:\n  pythonpath = .\n" in capsys.readouterr().out
    )
    assert "pytest" not in (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-q'\n")
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert "relaxfuzz_known" in (tmp_path / "pyproject.toml").read_text()


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
    text = (tmp_path / ".github" / "workflows" / "relaxfuzz-nightly.yml").read_text()
    assert list(YAML(typ="safe", pure=True).load(text)["jobs"]) == ["campaign", "night"]
    assert not (tmp_path / ".github" / "workflows" / "relaxfuzz.yml").exists(), "no pull request changes TVM"
    assert "property tests" not in text


def test_the_requirement_is_the_default_of_the_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(tmp_path, "--pass", PASS, "--requirement", "relaxfuzz[dask]==1.0,<2#x") == 0
    assert "RELAXFUZZ" not in capsys.readouterr().out
    for name in ("relaxfuzz.yml", "relaxfuzz-nightly.yml"):
        text = (tmp_path / ".github" / "workflows" / name).read_text()
        jobs: Any = YAML(typ="safe", pure=True).load(text)["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        values = [{**step.get("with", {}), **step.get("env", {})} for step in steps]
        given = [value for each in values for key, value in each.items() if key.lower() == "requirement"]
        assert given
        assert set(given) == {"${{ vars.RELAXFUZZ || 'relaxfuzz[dask]==1.0,<2#x' }}"}
    for wrong in ("a b", "a'b", "a\nb", "}}"):
        with pytest.raises(UsageError, match="must not contain"):
            init(tmp_path, "--force", "--requirement", wrong)


def test_no_table_is_empty(tmp_path: Path) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    headers = [line for line in (tmp_path / "pyproject.toml").read_text().splitlines() if line.startswith("[")]
    assert headers == ["[tool.relaxfuzz]", "[tool.pytest.ini_options]"]


def test_a_table_that_is_there_gets_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        "[tool.relaxfuzz]  # ours\nworkers = 1\n\n[tool.pytest.ini_options]\naddopts = '-q'\n\n[tool.other]\nx = 1"
    )
    assert init(tmp_path, "--pass", PASS) == 0
    assert project_config(tmp_path) == {"pass": [f"{tmp_path}/{PASS}"], "operators": "auto", "workers": "1"}
    table = read_toml(project).table["tool"]
    assert table["pytest"]["ini_options"] == {
        "pythonpath": ["."], "relaxfuzz_min_changed": 1, "relaxfuzz_known": "findings.toml", "addopts": "-q"
    }  # fmt: skip
    assert "[tool.relaxfuzz]  # ours" in project.read_text()
    capsys.readouterr()
    assert init(tmp_path, "--pass", "clips.py:LowerMore", "--force") == 0
    assert project_config(tmp_path) == {
        "pass": [f"{tmp_path}/clips.py:LowerMore"], "operators": "auto", "workers": "1"
    }  # fmt: skip
    assert f"added to {project}" in capsys.readouterr().out


def test_keys_of_several_lines_are_replaced_and_others_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.relaxfuzz]\npass = [\n  "clips.py:LowerMore",\n]\nseed = 1\noperators = "auto"\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert init(tmp_path, "--pass", PASS) == 0
    said = capsys.readouterr().out
    assert f"kept {project}" in said
    assert f"keeps its 'pass'; --force replaces it with pass = [\"{PASS}\"]" in said
    keys = "  pythonpath = .\n  relaxfuzz_min_changed = 1\n  relaxfuzz_known = findings.toml\n"
    assert f"add to pytest.ini:\n{keys}" in said
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert read_toml(project).table == {"tool": {"relaxfuzz": {"pass": [PASS], "seed": 1, "operators": "auto"}}}
    assert project.read_text().startswith(f'[tool.relaxfuzz]\npass = ["{PASS}"]\n')
    project.write_text("tool.relaxfuzz = {seed = 1}\n")
    capsys.readouterr()
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert read_toml(project).table == {"tool": {"relaxfuzz": {"seed": 1, "pass": [PASS], "operators": "auto"}}}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--pass", "nofile.py:make"), "is not a file"),
        (("--pass", "nocolon"), "is not FILE.py:FACTORY"),
        (("--pass", "clips.py:LowerClop"), "did you mean LowerClip"),
        (("--passes", "FoldConstnt"), "did you mean FoldConstant"),
    ],
)
def test_what_cannot_be_tested_is_not_written(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        init(tmp_path, *arguments)
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["clips.py"]


RAISES = """
from tvm import relax


@relax.transform.function_pass(opt_level=0)
class LowerClip:
    def transform_function(self, func, mod, ctx):
        return undefined
"""


def test_a_pass_that_raises_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raises.py").write_text(RAISES)
    assert VERB.run(parser_of(VERB).parse_args([str(tmp_path), "--pass", "raises.py:LowerClip"])) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning: ")]
    assert line.startswith("warning: LowerClip fails on a generated module: RuntimeError: name 'undefined' is not ")
    assert line.endswith(f"({tmp_path}/raises.py:8 in transform_function: return undefined)")
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert "warning: " not in capsys.readouterr().out


def test_a_file_of_findings_is_never_overwritten_and_triage_adds_to_the_one_that_the_policy_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert init(Path(), "--pass", PASS) == 0
    reason = ["--reference", "apache/tvm#1", "--reason", "clipped"]
    assert TRIAGE.run(parser_of(TRIAGE).parse_args(["known", "0123456789", *reason])) == 0
    assert init(Path(), "--pass", PASS, "--force") == 0
    (entry,) = load_policy(Path(".relaxfuzz/policy.toml"), ["LowerClip"], list).known.entries
    assert entry.id == "0123456789"


def test_tvms_passes_reach_green_in_three_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands are those that are printed; the campaign is a small one that failed."""
    monkeypatch.chdir(tmp_path)
    assert init(Path()) == 0
    campaign(tmp_path / "campaign-1", CLEAN, {"boom": 3})
    gate = ["campaign-1", "--policy", ".relaxfuzz/policy.toml"]
    assert GATE.run(parser_of(GATE).parse_args(gate)) == 1
    keep = ["campaign-1", "--output", ".relaxfuzz/baseline.json"]
    assert BASELINE.run(parser_of(BASELINE).parse_args(keep)) == 0
    assert GATE.run(parser_of(GATE).parse_args(gate)) == 0


@pytest.mark.parametrize(("changed", "code"), [(5, 3), (600, 0)])
def test_a_pass_that_hardly_acted_is_not_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: int, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    assert init(Path(), "--pass", PASS) == 0
    tallies = {(oracle, "LowerClip", *rest): count for (oracle, _, *rest), count in CLEAN.items()}
    campaign(tmp_path / "campaign-1", tallies, triggers={"LowerClip": (1000, changed)}, passes='["LowerClip"]')
    assert GATE.run(parser_of(GATE).parse_args(["campaign-1", "--policy", ".relaxfuzz/policy.toml"])) == code


def test_a_campaign_of_the_other_gate_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert init(Path(), "--pass", PASS) == 0
    assert init(Path(), "--passes", "FoldConstant", "--name", "tvm") == 0
    campaign(tmp_path / "campaign-1", CLEAN)
    assert main(["gate", "campaign-1", "--policy", ".relaxfuzz/policy-tvm.toml"]) == 3
    assert "SHORT FoldConstant: 0 checks, at least 1 needed" in capsys.readouterr().out
    assert main(["gate", "campaign-1", "--policy", ".relaxfuzz/policy.toml"]) == 2
    said = "'passes.LowerClip' is not a pass of TVM or of the campaign"
    assert said in capsys.readouterr().err
    assert not list(Path(".relaxfuzz").glob("baseline*"))


def test_gates_of_one_repository_share_no_file_but_findings_and_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    with pytest.raises(
        UsageError, match=r"policy.toml, .*nightly.yml would be overwritten; .*--name to add a second gate"
    ):
        init(tmp_path)
    with pytest.raises(UsageError, match="--name must consist of"):
        init(tmp_path, "--name", "../x")
    assert init(tmp_path, "--passes", "FuseOps", "--name", "tvm") == 0
    assert "relaxfuzz run --config .relaxfuzz/campaign-tvm.toml --time 30m --seed 1 --out campaign-tvm-1\n" in (
        capsys.readouterr().out
    )
    assert init(tmp_path, "--pass", "clips.py:LowerMore", "--name", "more") == 0
    assert {path: path.read_text() for path in before} == before, "nothing of the first gate was changed"
    monkeypatch.chdir(tmp_path)
    tested = {"tvm": {"passes": "FuseOps"}, "more": {"pass": ["clips.py:LowerMore"], "operators": "auto"}}
    for name, options in tested.items():
        assert merged({"config": f".relaxfuzz/campaign-{name}.toml"}) == options
        policy = load_policy(Path(f".relaxfuzz/policy-{name}.toml"), ["FuseOps", "LowerMore"], list)
        assert policy.baseline is not None
        assert policy.baseline.name == f"baseline-{name}.json"
    assert "LowerMore" in (tmp_path / "tests" / "test_relaxfuzz_more.py").read_text()
    assert not (tmp_path / "tests" / "test_relaxfuzz_tvm.py").exists()
    workflows: list[Any] = [YAML(typ="safe", pure=True).load(each) for each in Path(".github/workflows").iterdir()]
    assert len(workflows) == 5
    assert len({each["name"] for each in workflows}) == 5
    assert len({each["concurrency"]["group"] for each in workflows}) == 5
    steps = [
        step["with"] for each in workflows for job in each["jobs"].values() for step in job["steps"] if "with" in step
    ]
    assert len({each["category"] for each in steps if "category" in each}) == 3
    assert {(each["policy"], each.get("config")) for each in steps if "policy" in each} == {
        (".relaxfuzz/policy.toml", None),
        (".relaxfuzz/policy-tvm.toml", ".relaxfuzz/campaign-tvm.toml"),
        (".relaxfuzz/policy-more.toml", ".relaxfuzz/campaign-more.toml"),
    }
    nightly = Path(".github/workflows/relaxfuzz-nightly-more.yml").read_text()
    assert "relaxfuzz/policy.toml" not in nightly
    assert ".relaxfuzz/baseline.json" not in nightly
    assert "relaxfuzz-nightly tests/test_relaxfuzz_more.py" in nightly


def test_it_says_what_it_tried_and_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    assert (
        "\nLowerClip ran on 10 generated modules without an exception\n"
        "set up a gate for LowerClip; its requirements are in .relaxfuzz/policy.toml\n\nNext:\n"
        f"  cd {tmp_path}\n  python -m pip install pytest && python -m pytest tests/test_relaxfuzz.py\n"
    ) in capsys.readouterr().out
    assert init(tmp_path, "--pass", PASS) == 0, "there is nothing to overwrite"
    assert "wrote" not in capsys.readouterr().out


def test_campaigns_are_ignored_by_git_once(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.o")
    for force in ([], ["--force"]):
        assert init(tmp_path, "--pass", PASS, *force) == 0
    assert (tmp_path / ".gitignore").read_text() == "*.o\n/campaign*/\n/night*/\n.hypothesis/\n__pycache__/\n"


def test_it_says_what_comes_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert init(tmp_path) == 0
    said = capsys.readouterr().out
    assert f"  cd {tmp_path}\n  relaxfuzz run" in said
    assert "  relaxfuzz baseline campaign-1 --output .relaxfuzz/baseline.json" in said
    assert "repository variable RELAXFUZZ" in said
    assert "-m pytest" not in said


def test_it_keeps_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "mine"\n')
    assert init(tmp_path, "--pass", PASS) == 0
    assert f"added to {project}\n" in capsys.readouterr().out
    assert project.read_text().startswith('[project]\nname = "mine"\n')
    before = project.read_text()
    policy = tmp_path / ".relaxfuzz" / "policy.toml"
    policy.write_text(f"{policy.read_text()}# mine\n")
    with pytest.raises(UsageError, match=r"policy\.toml would be overwritten; use --force to allow that"):
        init(tmp_path, "--pass", PASS)
    assert init(tmp_path, "--pass", PASS, "--force") == 0
    assert project.read_text() == before
    assert "# mine" not in policy.read_text()


@pytest.mark.parametrize(("elapsed", "said"), [("600", "; commit it\n"), ("599", "run one of at least ten minutes")])
def test_the_first_campaign_that_passes_becomes_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], elapsed: str, said: str
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('baseline = "baseline.json"\n')
    gate = [str(campaign(tmp_path / "night", CLEAN)), "--policy", str(policy)]
    with Store.open(tmp_path / "night", read_only=False) as store:
        store.set_meta(elapsed=elapsed)
    assert main(["gate", *gate]) == 0
    assert said in capsys.readouterr().err
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
    with pytest.raises(ConfigError, match=r"pyproject\.toml:4: 'tool\.relaxfuzz\.tme' is not an option.*time"):
        project_config(tmp_path)


def test_the_command_line_outranks_what_a_file_tests(tmp_path: Path) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    values = merged({"config": tmp_path / "pyproject.toml", "passes": "FoldConstant"})
    assert values == {"passes": "FoldConstant", "operators": "auto"}
    assert configure(values).operators == (), "there is no source of the user's to read"


def test_a_project_file_above_is_used_within_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(tmp_path, "--pass", PASS) == 0
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    run = ("run", "--oracles", "crash", "--max-examples", "2", "--workers", "1", "--regress", "off", "--out", "c")
    assert main([*run]) == 0
    assert "options from [tool.relaxfuzz] in ../../pyproject.toml: pass" in capsys.readouterr().err
    assert (inner / "c").is_dir()
    (tmp_path / "src" / ".git").mkdir()
    assert project_file(inner) == inner / "pyproject.toml"


def test_a_module_of_the_project_is_found_from_below_also_if_the_file_names_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.relaxfuzz]\nseed = 1\nworkers = 1\n")
    (tmp_path / "found_from_below.py").write_text(
        "from tvm import relax\n\n\ndef make():\n    return relax.transform.Normalize()\n"
    )
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    run = ("run", "--pass", "found_from_below:make", "--oracles", "crash", "--regress", "off", "--max-examples", "2")
    assert main([*run, "--out", "c"]) == 0


def test_what_pytest_reads_is_not_read_where_nothing_is_written_for_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "tox.ini").write_bytes(b"[pytest]\n# Andr\xe9\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "tox.ini").symlink_to("../elsewhere/tox.ini")
    (tmp_path / "home" / "pytest.ini").write_bytes(b"[pytest]\n# Andr\xe9\n")
    assert init(tmp_path / "home", "--passes", "FuseOps") == 0
    assert init(tmp_path / "home", "--pass", PASS, "--force") == 0, "whatever is in pytest.ini, pytest reads it"


@pytest.mark.parametrize("name", [".relaxfuzz/policy.toml", ".gitignore", "pyproject.toml", "findings.toml", ".github"])
def test_nothing_is_read_or_written_through_links(tmp_path: Path, name: str) -> None:
    home, victim = tmp_path / "home", tmp_path / "victim"
    (home / name).parent.mkdir(parents=True)
    if name == ".github":
        victim.mkdir()
    elif name != ".relaxfuzz/policy.toml":  # the target of that one is not even there
        victim.write_text("password hunter2\n")
    (home / name).symlink_to(victim)
    with pytest.raises(UsageError, match="a link, or outside of") as caught:
        init(home, "--pass", PASS, "--force")
    assert "hunter2" not in str(caught.value)
    assert name == ".github" or not victim.exists() or victim.read_text() == "password hunter2\n"
    assert name != ".github" or not [*victim.iterdir()]


@pytest.mark.parametrize("name", [".gitignore", "pyproject.toml"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match="not a regular file"):
        init(tmp_path, "--pass", PASS)


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nrelaxfuzz = 3", "[[tool]]", "[[tool.relaxfuzz]]"])
def test_a_value_where_a_table_belongs_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=r"pyproject.toml: '\w+' is not a table; write \[tool.relaxfuzz\]"):
        init(tmp_path, "--passes", "FuseOps")


def test_nothing_of_a_repository_is_imported_unless_it_is_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TVM imports `torch` where it finds one."""
    monkeypatch.setattr(sys, "path", before := list(sys.path))
    assert main(["init", str(tmp_path)]) == 0
    (tmp_path / "pyproject.toml").write_text("[tool.relaxfuzz]\nseed = 1\npasses = ['FuseOps']\nmax-examples = 1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--workers", "1", "--oracles", "crash"]) == 0
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"x = {'[' * 101}{']' * 101}\n", "nested too deeply"),
        (f"x = {{{'a.' * 100}a = 1}}\n", "nested too deeply"),
        ("".join(f"a{number} = 1\n" for number in range(50_000)), "is too large to be changed: 526 KiB, at most 256"),
    ],
)
def test_a_project_file_that_would_take_too_long_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        init(tmp_path, "--pass", PASS)
