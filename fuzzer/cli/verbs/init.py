"""``relaxfuzz init``: write policy, workflows, test and configuration into a repository."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from fuzzer.campaign.setup import PROBE_MODULES, SOURCE, configure, try_modules
from fuzzer.cli.options import file_errors
from fuzzer.core.config import Config
from fuzzer.core.text import enumerated, printable, quoted_path, to_json
from fuzzer.core.toml import parse_toml
from fuzzer.core.verb import OK, UsageError, Verb
from fuzzer.findings.file import DEFAULT_FILE, HEAD
from relaxkit.files import confine, make_directory, read_text, write_atomically

_FILE, _BASELINE, _CONFIG = ".relaxfuzz/policy.toml", ".relaxfuzz/baseline.json", ".relaxfuzz/campaign.toml"
_POLICY = """\
# What `relaxfuzz gate CAMPAIGN --policy .relaxfuzz/policy.toml` requires: see docs/gate.md in the relaxfuzz repository.
# A finding that is not listed in findings.toml makes the gate fail; to list one, run `relaxfuzz triage known`.
# Flaky findings do not, unless they are almost all that an oracle says of a pass.
known = "../findings.toml"
"""
_OF_OWN = """\
notes = "fail" # also fail if a pass does something that no contract covers, such as dropping attributes
baseline = "baseline.json" # the first campaign that passes becomes the baseline; commit it

[oracles."*"] # every applicable oracle
min_checks = 20

[oracles.numeric] # compares the results of each module that the pass changed or rebuilt, by proof or by running it
min_checks = 30

[passes."*"]
min_changed = 20 # the number of modules that a pass must change; fewer are not enough evidence
"""
_OF_TVM = """\
baseline = "baseline.json" # `relaxfuzz baseline CAMPAIGN --output .relaxfuzz/baseline.json` writes it; commit it

[campaign]
min_checks = 1000 # a campaign of ten minutes makes more; one that ended early is not enough evidence (exit code 3)

[regression]
accept_findings = true # findings in the baseline are accepted, too; longer campaigns find more
"""
_TEST_FILE = "tests/test_relaxfuzz.py"
_TEST = '''\
"""Test passes with relaxfuzz."""

from hypothesis import given
from relaxfuzz import check, ir_modules
'''
_TEST_OF = """

# This generates more of the operators that are named in the source of the pass. To choose them yourself, write
# operators={{"relax.split": 30}}. To find subtle bugs, run more examples, or also insert the pattern that the pass
# looks for: plant=Fragment(code, shapes=((2, 3),)). See docs/drawing-modules.md in the relaxfuzz repository.
@given(ir_modules(operators="{target}"))
def test_{name}(module):
    check(module, "{target}")
"""
_PYTEST = (
    ("relaxfuzz_min_changed", 1, "a test fails if the pass changed no module"),
    ("relaxfuzz_known", str(DEFAULT_FILE), "the tests accept the findings that the gate accepts"),
)
_INI = (("pytest.ini", ""), (".pytest.ini", ""), ("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]"))
"""Files that pytest reads instead of pyproject.toml: always, or with this section if pyproject.toml has no table."""
_AIM = 'generate more of the operators that the source of the pass names; or give a list: ["relax.split=30"]'
_MOST_TEXT = 256 << 10  # of a pyproject.toml, whose style is kept with work that grows with its square
_IGNORED = ("/campaign*/", "/night*/", ".hypothesis/", "__pycache__/")
"""What campaigns, nights, tests and Python leave behind."""
_EXTENDED = ("pyproject.toml", ".gitignore")
_EXAMPLE = "mycompiler.py:make_pass"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, nargs="?", default=Path(), metavar="DIR",
                        help="the repository (default: the current directory)")  # fmt: skip
    parser.add_argument(
        "--pass", action="append", default=[], metavar="FILE.py:FACTORY", dest="own",
        help="a pass of your own to test: its class, or a function that returns the pass, as FILE.py:FACTORY or "
        "package.module:FACTORY; repeatable (default, without --passes: all of TVM's passes that have a contract)",
    )  # fmt: skip
    parser.add_argument("--passes", default="", metavar="NAME,NAME", help="TVM passes to test")
    parser.add_argument("--name", default="", metavar="NAME",
                        help="a name for this gate, which becomes part of its file names; needed if the repository "
                        "already has a gate")  # fmt: skip
    parser.add_argument("--requirement", default="", metavar="REQ",
                        help="the pip requirement specifier with which the workflows install relaxfuzz, such as "
                        "git+https://github.com/OWNER/relaxfuzz@TAG; the repository variable RELAXFUZZ overrides "
                        "it")  # fmt: skip
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def _run(options: argparse.Namespace) -> int:
    directory: Path = options.directory
    if not re.fullmatch(r"[^\s'\"{}]*", options.requirement):
        raise UsageError("--requirement must not contain spaces, quotes or braces")
    if not re.fullmatch(r"\w*", options.name, re.ASCII):
        raise UsageError("--name must consist of letters, digits and underscores")
    config = _try(directory, options.own, options.passes)
    texts = dict(_texts(options, config.names() if config else ()))
    there = [name for name in texts if os.path.lexists(directory / name) and _text(directory, name) != texts[name]]
    if there and not options.force:
        raise UsageError(
            f"{', '.join(there)} would be overwritten; use --force to allow that, or --name to add a second gate"
        )
    project, left = _project(directory, options)
    findings, ignored = _text(directory, str(DEFAULT_FILE)), _text(directory, ".gitignore")
    texts |= {"pyproject.toml": project, str(DEFAULT_FILE): findings or HEAD}
    lacking = [line for line in _IGNORED if line not in ignored.splitlines()]
    texts[".gitignore"] = "\n".join([*ignored.splitlines(), *lacking, ""])
    for name, text in texts.items():
        path = directory / name
        if (before := _text(directory, name)) == text:
            print(*[f"kept {path}"] if before else [], sep="", end="\n" if before else "")
            continue
        with file_errors("write", path):
            make_directory(path.parent, links=True)
            write_atomically(path, text)
        print(f"{'added to' if before and name in _EXTENDED else 'wrote'} {path}")
    for ref in config.user_passes if config else ():
        how = try_modules(ref)
        told = f"warning: {ref.name} fails on a generated module: {printable(how)}"
        left.append(told if how else f"{ref.name} ran on {PROBE_MODULES} generated modules without an exception")
    tested = enumerated(config.names()) if config else "all of TVM's passes that have a contract"
    left.append(f"set up a gate for {tested}; its requirements are in {_of(_FILE, options.name)}")
    print("\n".join([*left, "", "Next:", *_next(directory, options)]))
    return OK


def _try(directory: Path, own: list[str], passes: str) -> Config | None:
    """Hold what is to be tested against what `relaxfuzz run` in that directory would say; return what it would test."""
    if own:  # as `run` does there; else nothing of the directory is run: TVM imports `torch` where there is one
        sys.path.append(str(directory.resolve()))
    elif not passes:
        return None
    targets = [str(directory / each) if ".py:" in each else each for each in own]
    return configure({"pass": targets, **({"passes": passes} if passes else {})})


def _of(path: str, name: str) -> str:
    """Return the path of a file of a gate: with the gate's name, if it has one, so that several do not collide."""
    stem, dot, suffix = path.rpartition(".")
    return f"{stem}{'_' if suffix == 'py' else '-'}{name}{dot}{suffix}" if name else path


def _next(directory: Path, options: argparse.Namespace) -> Iterator[str]:
    own, name = options.own, options.name
    run, out = (f"run --config {_of(_CONFIG, name)}", f"campaign-{name}-1") if name else ("run", "campaign-1")
    if directory.resolve() != Path.cwd():
        yield f"  cd {quoted_path(directory)}"
    if own:
        yield f"  python -m pip install pytest && python -m pytest {_of(_TEST_FILE, name)}"
    yield f"  relaxfuzz {run} --time {'2m' if own else '30m'} --seed 1 --out {out}"
    if not own:
        yield f"  relaxfuzz baseline {out} --output {_of(_BASELINE, name)}  # accepts the current defects of TVM"
    yield f"  relaxfuzz gate {out} --policy {_of(_FILE, name)}"
    yield "Use a separate --out directory for each campaign."
    if own:
        yield "A short campaign can miss defects. Before you commit a baseline, run a campaign of ten minutes or more."
    if not options.requirement:
        yield "On GitHub, set the repository variable RELAXFUZZ to the requirement that pip should install, such as"
        yield "  git+https://github.com/OWNER/relaxfuzz@TAG  (Settings, Secrets and variables, Actions, Variables)"
        yield "Pull requests from forks cannot read it; `init --requirement REQ` writes a default into the workflows."


def _texts(options: argparse.Namespace, passes: Sequence[str]) -> Iterator[tuple[str, str]]:
    own, name, requirement = options.own, options.name, options.requirement
    policy, test, config = (_of(path, name) for path in (_FILE, _TEST_FILE, _CONFIG))
    text = (_POLICY + (_OF_OWN if own else _OF_TVM)).replace(_FILE, policy)
    if passes:
        text += "\n# A campaign that did not test these passes does not pass the gate.\n"
        text += "".join(f"[passes.{to_json(each)}]\n" for each in passes)
    yield policy, text.replace("baseline.json", _of("baseline.json", name))
    if name:
        yield (
            config,
            f"# Options of `relaxfuzz run --config {config}`.\n"
            + "".join(f"{key} = {to_json(value)}\n" for key, value in _tested(own, options.passes)),
        )
    files = {"action.yml": "actions/relaxfuzz/action.yml", "nightly.yml": "workflows/relaxfuzz-nightly.yml"}
    if own:  # a pull request changes nothing of TVM
        files["pull-request.yml"] = "workflows/relaxfuzz.yml"
    for source, place in files.items():
        target = f".github/{place}"
        # Options, passes among them, are in pyproject.toml, or of a gate with a name in a file of its own.
        told = rf"\1config: {config}\n" if name else ""
        text = re.sub(r"(?: +# Leave it out.*\n)?( +)pass: " + re.escape(_EXAMPLE) + r"\n", told, _template(source))
        if name and source != "action.yml":  # which all gates share
            target = _of(target, name)
            text = re.sub(r"(?m)^(name: |  group: | +category: )relaxfuzz", rf"\1relaxfuzz-{name}", text)
            text = text.replace("relaxfuzz-nightly tests", f"relaxfuzz-nightly {test}")
            for path in (_FILE, _BASELINE):
                text = text.replace(path, _of(path, name))
        if requirement:
            text = re.sub(r" +# Pull requests from forks cannot.*\n", "", text)
            text = text.replace("${{ vars.RELAXFUZZ }}", f"${{{{ vars.RELAXFUZZ || '{requirement}' }}}}")
        yield (
            target,
            text if own else re.sub(r"#\n# The third job.*?(?=name:)|\n  properties:\n.*", "", text, flags=re.S),
        )
    if own:
        names = [(target, re.sub(r"\W+", "_", target.rpartition(":")[2]).strip("_").lower()) for target in own]
        tests = [_TEST_OF.format(name=said, target=target.replace('"', "'")) for target, said in names]
        yield test, _TEST + "".join(tests)


def _template(name: str) -> str:
    """Return a workflow: from the wheel, or in a checkout from its documentation."""
    home = files("fuzzer")
    places = (home.joinpath("templates", name), Path(str(home)).parent / "docs" / "workflows" / name)
    return next(place for place in places if place.is_file()).read_text(encoding="utf-8")


def _tested(own: list[str], passes: str) -> list[tuple[str, Any]]:
    """Return the options of ``run`` that say what is tested, and with which modules."""
    chosen = (("pass", own), ("passes", [each for each in passes.split(",") if each]))
    return [(key, names) for key, names in chosen if names] + [("operators", SOURCE)] * bool(own)


def _project(directory: Path, options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return pyproject.toml with what it lacks, and what to say of the keys that it does not get."""
    import tomlkit

    own, path, left = options.own, directory / "pyproject.toml", []
    text = _text(directory, "pyproject.toml")
    tested = [] if options.name else _tested(own, options.passes)
    keys: list[tuple[str, str, Any, str]] = [
        ("relaxfuzz", key, value, _AIM if key == "operators" else "") for key, value in tested
    ]
    rows = [row for row in _INI if own and (directory / row[0]).exists() and not (row[1] and "[tool.pytest" in text)]
    ini = next((name for name, head in rows if not head or head in _text(directory, name).splitlines()), "")
    if ini:
        left = [f"pytest reads {ini} instead of pyproject.toml; add to {ini}:", "  pythonpath = ."]
        left += [f"  {key} = {value}" for key, value, _ in _PYTEST]
    elif own:
        keys += [("pytest.ini_options", *row) for row in (("pythonpath", ["."], ""), *_PYTEST)]
    parse_toml(path, text)  # says where what is no TOML is wrong
    if len(text) > _MOST_TEXT:
        raise UsageError(f"{path} is too large to be changed: {len(text) >> 10} KiB, at most {_MOST_TEXT >> 10}")
    document = tomlkit.parse(text)
    for name, key, value, why in keys:
        table: Any = document
        for part in ("tool", *name.split(".")):
            table = table.setdefault(part, tomlkit.table(is_super_table=part in ("tool", "pytest")))
            if not isinstance(table, MutableMapping):
                raise UsageError(f"{path}: '{part}' is not a table; write [tool.{name}]")
        if key in table and (table[key] == value or name != "relaxfuzz"):
            continue
        if key in table and not options.force:
            line = f"{key} = {tomlkit.item(value).as_string()}"
            left.append(f"[tool.{name}] in {path} keeps its '{key}'; --force replaces it with {line}")
            continue
        table[key] = tomlkit.item(value).comment(why) if why else value
    return tomlkit.dumps(document), left


def _text(directory: Path, name: str) -> str:
    """Read a file of the repository, empty where there is none; refuse one that leads elsewhere."""
    path = directory / name
    with file_errors("read", path):
        confine(path, directory)
        return read_text(path) if path.exists() else ""


VERB = Verb(
    name="init",
    help="write a gate policy, workflows, a test and a configuration into a repository",
    example="relaxfuzz init --pass mycompiler/passes.py:make_pass",
    add_arguments=_add_arguments,
    run=_run,
)
