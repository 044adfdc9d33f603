"""Run workflows as GitHub's runner does: jobs after those that they need, steps, conditions, expressions, outputs.

What runs on GitHub's side is replaced: each action of others is a function of its inputs, and every job has a folder of
its own. Whatever a workflow uses that is not known here raises an error, so that no condition is passed over.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

Codes = dict[str, int | None]
"""The exit code of each step by its name; ``None`` where its condition left it out."""

RELAXFUZZ = f'#!/bin/bash\nexec {sys.executable} -m fuzzer.cli.main "$@"\n'
"""``relaxfuzz`` itself."""

_TOKEN = re.compile(r"'[^']*'|&&|\|\||!=|==|!|[()]|[a-zA-Z_][\w.-]*|\s+")
_SAME = {"&&": " and ", "||": " or ", "!": " not "}
_COMMAND = 'trap \'printf "%s\\n" "${BASH_COMMAND//$\'\\n\'/ }" >> "$RUN_COMMANDS"\' DEBUG\nset -T\n'


@dataclass
class Runner:
    """A repository on GitHub.

    Attributes:
        repository: What is checked out.
        home: Where jobs and artifacts are.
        relaxfuzz: The script that a step installs as ``relaxfuzz``.
        variables: The variables of the repository.
        event: What started the workflow, as the context ``github`` has it.
        cancelled: Whether somebody cancels the workflow before its first job.
        cached: Whether the cache has what is asked of it.
        scans: Whether the repository takes SARIF files.
        said: What the scripts printed.
        uploaded: Names of artifacts and categories of SARIF files.
        decided: Conditions, with what they were.
        scripts: Scripts that were run, with the commands of them that were.
    """

    repository: Path
    home: Path
    relaxfuzz: str = RELAXFUZZ
    variables: Mapping[str, str] = field(default_factory=lambda: {"RELAXFUZZ": "relaxfuzz"})
    event: Mapping[str, Any] = field(default_factory=dict)
    cancelled: bool = False
    cached: bool = False
    scans: bool = True
    said: str = ""
    uploaded: list[str] = field(default_factory=list)
    decided: dict[str, set[bool]] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)

    def run(self, workflow: Path, shards: tuple[int, ...] | None = None) -> dict[str, Codes | None]:
        """Run a workflow: the codes of the steps of each job, ``None`` where a job's condition left it out."""
        jobs = read(workflow)["jobs"]
        done: dict[str, Codes | None] = {}
        failed: dict[str, bool] = {}
        for name, job in jobs.items():
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            state = _Job({}, failed=any(failed[each] for each in needs), cancelled=self.cancelled)
            failed[name] = True
            if not self._holds(job.get("if", "success()"), state):
                done[name] = None
                continue
            matrix = job.get("strategy", {}).get("matrix", {})
            if shards is not None and "shard" in matrix:
                matrix = {**matrix, "shard": shards}
            failed[name] = False
            for values in itertools.product(*matrix.values()):
                row = dict(zip(matrix, values, strict=True))
                title = "-".join([name, *map(str, values)])
                state = self._job(title, {"matrix": row}, cancelled=self.cancelled)
                done[title] = self._steps(job["steps"], state)
                failed[name] |= state.failed
        return done

    def call(self, action: Path, inputs: Mapping[str, str], failed: bool = False) -> Codes:
        """Run a composite action with these inputs in the repository itself, without some of its steps."""
        state = self._job("action", {}, cancelled=False)
        state.folder, state.failed = self.repository, failed
        return self._action(action, inputs, state)[0]

    def _job(self, title: str, contexts: Mapping[str, Any], *, cancelled: bool) -> _Job:
        place = self.home / "jobs" / f"{title}-{len(list(self.home.glob('jobs/*')))}"
        for name in ("temp", "bin"):
            (place / name).mkdir(parents=True)
        for name, text in (("python", _PYTHON.format(python=sys.executable)), ("relaxfuzz", self.relaxfuzz)):
            (place / "bin" / name).write_text(text)
            (place / "bin" / name).chmod(0o755)
        known = {"vars": self.variables, "runner": {"os": "Linux"}, "github": {"token": "", **self.event}, **contexts}
        return _Job(known, place / "work", place, cancelled=cancelled)

    def _steps(self, steps: list[dict[str, Any]], state: _Job) -> Codes:
        codes: Codes = {}
        state.contexts["steps"] = {}
        for step in steps:
            name = step.get("name") or step.get("uses") or step["run"]
            assert set(step) <= _KEYS, f"unknown keys of {name}"
            codes[name] = None
            if not self._holds(step.get("if", "success()"), state):
                continue
            outputs: Mapping[str, str] = {}
            given = {key: _filled(_text(value), state) for key, value in step.get("with", {}).items()}
            if "run" in step:
                codes[name], outputs = self._script(step, state)
            elif step["uses"].startswith("./"):
                inner, outputs = self._action(state.folder / step["uses"] / "action.yml", given, state.copy())
                codes[name] = max(code or 0 for code in inner.values())
            else:
                codes[name], outputs = getattr(self, _ACTIONS[step["uses"].partition("@")[0]])(given, state)
            state.failed |= codes[name] != 0 and not step.get("continue-on-error")
            if "id" in step:
                state.contexts["steps"][step["id"]] = {"outputs": outputs}
        return codes

    def _action(self, file: Path, given: Mapping[str, str], state: _Job) -> tuple[Codes, dict[str, str]]:
        action = read(file)
        assert set(given) <= set(action["inputs"])
        inputs = {name: given.get(name, row.get("default", "")) for name, row in action["inputs"].items()}
        state.contexts["inputs"] = inputs
        codes = self._steps(action["runs"]["steps"], state)
        return codes, {name: _filled(row["value"], state) for name, row in action["outputs"].items()}

    def _script(self, step: Mapping[str, Any], state: _Job) -> tuple[int, dict[str, str]]:
        assert step.get("shell", "bash") == "bash"
        place = state.place
        output, commands, trap = place / "output", place / "commands", place / "trap"
        for path in (output, commands):
            path.write_text("")
        trap.write_text(_COMMAND)
        environment = {
            **os.environ, "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(place / "temp"), "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(place / "summary.md"), "BASH_ENV": str(trap), "RUN_COMMANDS": str(commands),
            **{key: _filled(_text(value), state) for key, value in step.get("env", {}).items()},
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=state.folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.said += done.stdout + done.stderr
        ran = commands.read_text().replace(" 1>&2", " >&2")  # as bash prints it
        self.scripts[step["run"]] = self.scripts.get(step["run"], "") + ran
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        return done.returncode, {key: value for key, _, value in pairs}

    def _holds(self, condition: str, state: _Job) -> bool:
        text = condition.strip().removeprefix("${{").removesuffix("}}").strip()
        alone = text if re.search(r"\b(always|success|failure|cancelled)\(", text) else f"success() && ({text})"
        holds = bool(_value(alone, state))
        if text != "success()":
            self.decided.setdefault(text, set()).add(holds)
        return holds

    # What the actions of others do, as far as a step after them can tell.

    def checkout(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        shutil.copytree(self.repository, state.folder, ignore=shutil.ignore_patterns(".git"))
        return 0, {}

    def nothing(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        return 0, {}

    def cache(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        assert given["key"]
        return 0, {"cache-hit": str(self.cached).lower()}

    def upload(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        source, target = state.folder / given["path"], self.home / "artifacts" / given["name"]
        files = [path for path in source.rglob("*") if path.is_file()]
        assert not [path for path in files if re.search(r'[":<>|*?\r\n]', str(path))], "no artifact has such names"
        if not files:
            assert given["if-no-files-found"] != "error"
            return 0, {}
        if target.exists() and given.get("overwrite") != "true":
            self.said += "(409) Conflict: an artifact with this name already exists on the workflow run\n"
            return 1, {}
        shutil.rmtree(target, ignore_errors=True)
        # Hidden files stay behind unless they are asked for.
        hidden = None if given.get("include-hidden-files") == "true" else shutil.ignore_patterns(".*")
        shutil.copytree(source, target, ignore=hidden)
        self.uploaded.append(given["name"])
        return 0, {}

    def download(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        for artifact in sorted((self.home / "artifacts").glob(given["pattern"])):
            shutil.copytree(artifact, state.folder / given["path"] / artifact.name)
        return 0, {}

    def sarif(self, given: Mapping[str, str], state: _Job) -> tuple[int, dict[str, str]]:
        found = (state.folder / given["sarif_file"]).is_file()
        self.uploaded += [given["category"]] * found
        return (0 if found and self.scans else 1), {}


@dataclass
class _Job:
    """A job while it runs; the steps of an action share its folder and know their own contexts."""

    contexts: dict[str, Any]
    folder: Path = field(default_factory=Path)
    place: Path = field(default_factory=Path)
    failed: bool = False
    cancelled: bool = False

    def copy(self) -> _Job:
        return _Job(dict(self.contexts), self.folder, self.place, self.failed, self.cancelled)


_KEYS = {"name", "id", "if", "uses", "with", "run", "shell", "env", "continue-on-error"}
_ACTIONS: dict[str, str] = {
    "actions/checkout": "checkout",
    "actions/setup-python": "nothing",
    "actions/cache": "cache",
    "actions/cache/restore": "cache",
    "actions/cache/save": "cache",
    "actions/upload-artifact": "upload",
    "actions/download-artifact": "download",
    "github/codeql-action/upload-sarif": "sarif",
}

# `python -m venv DIR` makes a Python like itself, pip only says what it is asked for, and pytest tries few modules.
_PYTHON = """#!/bin/bash
case $2 in
venv)
  mkdir -p "$3/bin"; cp "$(dirname "$0")"/* "$3/bin" ;;
pip) echo "$@" ;;
*) exec {python} "${{@//relaxfuzz-nightly/relaxfuzz-quick}}" ;;
esac
"""


def read(file: Path) -> Any:
    """Read a YAML file."""
    return YAML(typ="safe", pure=True).load(file)


def commands_of(script: str) -> Iterator[str]:
    """List the commands of a script, without the words that only steer; each is to be run some day."""
    for line in re.sub(r"\\\n\s*|\s#.*", " ", script).splitlines():
        for part in re.split(r";|&&|\|\||\s\|\s", line):
            found = re.sub(r"^\s*(?:(?:if|then|do|while|else|elif|\{|!)\s+)*", "", part).strip(" {}")
            if found not in ("", "fi", "done", "else", "then") and not found.startswith("for "):
                yield " ".join(found.split())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(text: str, state: _Job) -> str:
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: str(_value(found[1], state)), text)


def _value(expression: str, state: _Job) -> Any:
    """Evaluate an expression: strings, comparisons, the words that join them, contexts, functions of a job's state."""
    words = _TOKEN.findall(expression)
    assert "".join(words) == expression, f"no such expression is known here: {expression}"
    functions: dict[str, Callable[..., Any]] = {
        "always": lambda: True,
        "success": lambda: not state.failed and not state.cancelled,
        "failure": lambda: state.failed,
        "cancelled": lambda: state.cancelled,
        "hashFiles": lambda name: name,
        "look": lambda name: _look(name, state.contexts),
    }
    names = (f"look({word!r})" if word[0].isalpha() and word not in functions else word for word in words)
    return eval("".join(_SAME.get(word, word) for word in names).strip(), {"__builtins__": {}}, functions)


def _look(name: str, contexts: Mapping[str, Any]) -> Any:
    value: Any = contexts
    for part in name.split("."):
        value = value.get(part, "") if isinstance(value, Mapping) else ""
    return value
