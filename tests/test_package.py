"""The package: what is written beside the code is true, and the wheel alone does what README says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from ruamel.yaml import YAML

from fuzzer.core.toml import read_toml

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus", "relaxfuzz")
EXAMPLE = """
import pytest
import tvm
from hypothesis import given, settings
from relaxfuzz import check, ir_modules


@tvm.transform.module_pass(opt_level=0, name="Nothing")
class Nothing:
    def transform_module(self, module, context):
        return module


@pytest.mark.relaxfuzz(min_changed=0)
@settings(max_examples=5)
@given(ir_modules())
def test_my_pass(module):
    check(module, Nothing())
"""
TYPED = """
from hypothesis import given

from relaxfuzz import Contract, Feature, Fragment, Idempotence, check, ir_modules
from relaxfuzz import checks  # type: ignore[attr-defined]  # a wrong name is refused

CONTRACT: Contract = Contract("Mine", idempotence=Idempotence.NEVER)


@given(ir_modules(demand=[Feature.IF], operators={"relax.split": 5}, plant=Fragment(abs)))
def test_mine(module: object) -> None:
    outcomes: list[str] = [str(verdict.outcome) for verdict in check(module, "FoldConstant", known=["crash"])]
    assert outcomes
"""


def generator(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "generator" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schemas_are_those_of_the_code() -> None:
    for name, text in generator("schemas").texts().items():
        assert (ROOT / "docs" / "schema" / name).read_text() == text, "python docs/generator/schemas.py"


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('[oracles."*"]\nmin_checks = 3\n', True),
        ("[passes.Mine.numeric]\nmin_pass_rate = 1.0\n", True),
        ("[oracles.crash]\nmin_check = 3\n", False),
        ('suspects = "perhaps"\n', False),
    ],
)
def test_the_schema_of_policies_knows_right_from_wrong(tmp_path: Path, text: str, valid: bool) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    schema = ROOT / "docs" / "schema" / "policy.schema.json"
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema), str(policy)]
    assert (subprocess.run(command, capture_output=True, check=False).returncode == 0) is valid


def test_our_workflow_is_valid_and_runs_what_ci_runs() -> None:
    workflow = ROOT / ".github" / "workflows" / "ci.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(workflow)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "run: .ci/run" in workflow.read_text()


def test_the_citation_is_that_of_the_project() -> None:
    citation = YAML(typ="safe", pure=True).load(ROOT / "CITATION.cff")
    project = read_toml(ROOT / "pyproject.toml").table["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert citation["authors"] == project["authors"]


def test_every_variable_is_documented_and_no_other() -> None:
    code = [path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    read = {name for text in code for name in re.findall(r'"(RELAXFUZZ_\w+)"', text)}
    assert read == set(
        re.findall(r"^\| `(RELAXFUZZ_\w+)`", (ROOT / "docs" / "environment.md").read_text(), re.MULTILINE)
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_tells_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_alone_does_what_readme_says(tmp_path: Path) -> None:
    def run(*command: str, cwd: Path = tmp_path) -> str:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run(sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(ROOT))
    wheel, source = sorted((tmp_path / "dist").iterdir(), key=lambda path: path.suffix, reverse=True)
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(source))
    names = zipfile.ZipFile(wheel).namelist()
    assert "fuzzer/templates/action.yml" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "docs/"))]
    home = tmp_path / "fresh"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    run(python, "-m", "pip", "install", "--quiet", str(wheel), "pytest", "mypy")
    installed = run(python, "-m", "pip", "list", "--format", "freeze")
    assert "ruff" not in installed
    (tmp_path / "test_mine.py").write_text(EXAMPLE)
    assert "5 modules judged" in run(python, "-m", "pytest", "-q", "test_mine.py")
    (tmp_path / "typed.py").write_text(TYPED)
    run(python, "-m", "mypy", "--strict", "typed.py")
    relaxfuzz = str(home / "bin" / "relaxfuzz")
    run(relaxfuzz, "init", "--pass", "test_mine.py:Nothing")
    run(relaxfuzz, "run", "--max-examples", "20", "--seed", "1", "--workers", "1", "--out", "campaign")
    assert "Nothing" in run(relaxfuzz, "passes", "--campaign", "campaign")
