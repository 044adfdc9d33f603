"""``relaxfuzz init``: write policy, workflows, test and configuration into a repository."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fuzzer.cli.options import file_errors
from fuzzer.core.toml import read_toml
from fuzzer.core.verb import OK, UsageError, Verb

_POLICY = """\
# Requirements of `relaxfuzz gate CAMPAIGN --policy relaxfuzz/policy.toml`. All keys: docs/gate.md of relaxfuzz.
# A finding that is not listed in known.toml fails the gate. Suspects (flaky or without a script) do not.
known = "known.toml"
baseline = "baseline.json" # the first campaign that passes becomes the baseline; commit it

[oracles."*"] # each oracle that applies
min_checks = 20

[oracles.numeric] # judges only what the pass changed
min_checks = 1

[passes."*"]
min_trigger_rate = 0.01 # share of modules that a pass changed
"""
_KNOWN = """\
# Findings that are accepted. `relaxfuzz findings CAMPAIGN` shows their ids.
#
# [[known]]
# id = "0123456789"
# reference = "https://github.com/OWNER/REPOSITORY/issues/1"
# reason = "bounds are truncated"
"""
_TEST = '''\
"""Tests of passes with relaxfuzz: `python -m pytest {file}`."""

# Draw what your pass acts on: ir_modules(operators=..., plant=...), see docs/drawing-modules.md of relaxfuzz.

from hypothesis import given
from relaxfuzz import check, ir_modules
'''
_TEST_OF = """

@given(ir_modules())
def test_{name}(module):
    check(module, "{target}")
"""
_PYTEST = """
[tool.pytest.ini_options]
pythonpath = ["."]
relaxfuzz_min_changed = 1 # a test whose pass changed no module fails
"""
_AIM = '# operators = ["relax.permute_dims=30"] # draw more of what your pass acts on'
_EXAMPLE = "mycompiler.py:make_pass"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, nargs="?", default=Path(), metavar="DIR", help="the repository (.)")
    parser.add_argument(
        "--pass", action="append", default=[], metavar="FILE.py:FACTORY", dest="own",
        help="your own pass to test; repeatable (default: all of TVM's passes)",
    )  # fmt: skip
    parser.add_argument("--passes", default="", metavar="NAME,NAME", help="TVM passes to test")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def _run(options: argparse.Namespace) -> int:
    directory: Path = options.directory
    texts = dict(_texts(options.own))
    there = [name for name in texts if (directory / name).exists()]
    if there and not options.force:
        raise UsageError(f"{', '.join(there)} would be overwritten; give --force to allow that")
    project = directory / "pyproject.toml"
    texts["pyproject.toml"] = _project(project, options.own, options.passes)
    for name, text in texts.items():
        with file_errors("write", directory / name):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text, encoding="utf-8")
        print(f"wrote {directory / name}")
    print("\nNext:\n  relaxfuzz run --time 2m --seed 1 --out campaign")
    print("  relaxfuzz gate campaign --policy relaxfuzz/policy.toml")
    if options.own:
        print("or, to test your pass locally:\n  python -m pytest tests/test_relaxfuzz.py")
    return OK


def _texts(own: list[str]) -> list[tuple[str, str]]:
    texts = [("relaxfuzz/policy.toml", _POLICY), ("relaxfuzz/known.toml", _KNOWN)]
    for source, target in (
        ("action.yml", ".github/actions/relaxfuzz/action.yml"),
        ("pull-request.yml", ".github/workflows/relaxfuzz.yml"),
        ("nightly.yml", ".github/workflows/relaxfuzz-nightly.yml"),
    ):
        # Options, passes among them, are in pyproject.toml.
        text = re.sub(r"( +# Leave it out.*\n)? +pass: " + re.escape(_EXAMPLE) + r"\n", "", _template(source))
        texts.append((target, text))
    file = "tests/test_relaxfuzz.py"
    names = [(target, re.sub(r"\W+", "_", target.rpartition(":")[2]).strip("_").lower()) for target in own]
    tests = "".join(_TEST_OF.format(name=name, target=target.replace('"', "'")) for target, name in names)
    return [*texts, (file, _TEST.format(file=file) + tests)] if own else texts


def _template(name: str) -> str:
    """Return a workflow: from the wheel, or in a checkout from its documentation."""
    home = files("fuzzer")
    places = (home.joinpath("templates", name), Path(str(home)).parent / "docs" / "workflows" / name)
    return next(place for place in places if place.is_file()).read_text(encoding="utf-8")


def _project(path: Path, own: list[str], passes: str) -> str:
    """Return pyproject.toml with what it lacks."""
    text = ""
    table: Mapping[str, Any] = {}
    if path.exists():
        text, table = path.read_text(encoding="utf-8"), read_toml(path).table
    tools = table.get("tool", {})
    chosen = [("pass", own), ("passes", [each for each in passes.split(",") if each])]
    if "relaxfuzz" not in tools and (own or passes):
        lines = [f"{key} = [{', '.join(map(_quoted, names))}]" for key, names in chosen if names]
        text += "\n".join(["", "[tool.relaxfuzz] # options of `relaxfuzz run`", *lines, *[_AIM] * bool(own), ""])
    if own and "pytest" not in tools:
        text += _PYTEST
    return text


def _quoted(text: str) -> str:
    return f"'{text}'" if '"' in text else f'"{text}"'


VERB = Verb(
    name="init",
    help="write a gate's policy, workflows, a test and the configuration into a repository",
    example="relaxfuzz init --pass mycompiler/passes.py:make_pass",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
