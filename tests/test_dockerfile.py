"""The Dockerfile, which nothing here can build: in step with pyproject.toml, the workflows and the command line."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from ruamel.yaml import YAML

from fuzzer.cli.main import main
from fuzzer.core.toml import read_toml

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "Dockerfile").read_text()
PROJECT: dict[str, Any] = read_toml(ROOT / "pyproject.toml").table
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"^\s*#.*\n|\\\n", "", TEXT, flags=re.MULTILINE).splitlines()
    if line.strip()
]


def all_of(name: str) -> list[str]:
    return [value for keyword, value in INSTRUCTIONS if keyword == name]


def only(name: str) -> str:
    (value,) = all_of(name)
    return value


def python() -> str:
    found = re.fullmatch(r"python:(\d+\.\d+)-slim", only("FROM"))
    assert found is not None
    return found[1]


def supported() -> set[str]:
    prefix = "Programming Language :: Python :: 3."
    names = PROJECT["project"]["classifiers"]
    return {f"3.{name.removeprefix(prefix)}" for name in names if name.startswith(prefix)}


def yaml(path: str) -> Any:
    return YAML(typ="safe", pure=True).load(ROOT / path)


def test_every_instruction_is_one_and_the_image_comes_first() -> None:
    assert INSTRUCTIONS[0][0] == "FROM"
    assert {keyword for keyword, _ in INSTRUCTIONS} == {
        "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"
    }  # fmt: skip


def test_one_set_of_python_releases_is_supported_everywhere() -> None:
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert supported() == {f"3.{minor}" for minor in range(8, 30) if f"3.{minor}" in allowed}
    assert python() in supported()
    first, last = sorted(supported(), key=lambda release: int(release[2:]))[:: len(supported()) - 1]
    matrix = yaml(".github/workflows/ci.yml")["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert matrix == [first, last]
    given = yaml("docs/workflows/action.yml")["inputs"]["python-version"]
    assert given["default"] == python()
    assert given["description"] == f"{first} to {last}"
    run = (ROOT / ".ci" / "run").read_text()
    assert f"Python {first} to {last}" in run
    assert set(re.findall(r"python(3\.\d+)", run)) == supported()


def test_it_installs_the_project_and_an_extra_only_by_its_name() -> None:
    commands = [shlex.split(part) for text in all_of("RUN") for part in text.split("&&")]
    (install,) = (words for words in commands if words[:2] == ["pip", "install"])
    target = install[-1]
    assert [word for word in install[2:] if not word.startswith("--")] == [target]
    extras = re.fullmatch(r"/src(?:\[(.+)\])?", target)
    assert extras is not None
    assert set((extras[1] or "").split(",")) - {""} <= set(PROJECT["project"]["optional-dependencies"])
    assert only("COPY") == ". /src"
    assert ["rm", "-rf", "/src"] in commands
    # The compiler that docs/environment.md names first.
    assert any(words[:2] == ["apt-get", "install"] and "g++" in words for words in commands)


def test_what_the_wheel_is_built_of_is_copied() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = ["pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]]
    needed += [*wheel["packages"], *wheel["force-include"]]
    assert [pattern for pattern in ignored if "/" in pattern] == ["**/__pycache__"]
    for path in needed:
        assert (ROOT / path).exists()
        # Docker holds a pattern without a slash against the names at the top, and against no others.
        assert not any(fnmatch.fnmatchcase(Path(path).parts[0], pattern) for pattern in ignored)


def test_it_runs_as_a_user_whose_home_anybody_may_write() -> None:
    user = only("USER")
    run = " && ".join(all_of("RUN"))
    assert re.search(rf"useradd --create-home {user}\b", run)
    assert only("WORKDIR") == f"/home/{user}"
    assert only("ENV") == f"HOME=/home/{user}"
    assert f"chmod 1777 /out /home/{user}" in run
    assert [keyword for keyword, _ in INSTRUCTIONS].index("USER") > max(
        number for number, (keyword, _) in enumerate(INSTRUCTIONS) if keyword in ("RUN", "COPY")
    )


def test_it_starts_a_program_of_the_project_and_its_comments_run(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = json.loads(only("ENTRYPOINT"))
    assert program in PROJECT["project"]["scripts"]
    assert main(json.loads(only("CMD"))) == 0
    commands = re.findall(rf"^#   docker run .* {program} (.+)$", TEXT, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["doctor", "run"]
    for command in commands:
        verb, *rest = command.split()
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        offered = capsys.readouterr().out
        assert [word for word in rest if word.startswith("--") and word not in offered] == []
    assert f"-w /home/{only('USER')}/work" in TEXT
