"""Make a case of a module that a campaign found."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi

from corpus.case import CaseError
from corpus.check import CheckResult, Observation, check_case, tvm_version
from corpus.loader import CASES, load, load_module
from oracles.passref import PassRef
from oracles.verdict import OracleName, Outcome

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_HEADER = """# mypy: ignore-errors
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

"""


@dataclass(frozen=True, slots=True)
class NewCase:
    """What a case is made of.

    Attributes:
        slug: Name of its directory: lower-case words joined by hyphens.
        title, explanation, upstream: See ``corpus.case.KnownCase``.
        oracle: Who judges.
        module_json: The module, as ``tvm.ir.save_json`` gives it.
        passes: The passes.
        input_seed: Seed of the inputs that the numeric oracle draws.
        culprit: Who is to blame when that is none of the passes.
    """

    slug: str
    title: str
    explanation: str
    oracle: OracleName
    module_json: str
    passes: tuple[PassRef, ...]
    input_seed: int = 0
    upstream: str = ""
    culprit: str = ""


def add_case(new: NewCase, root: Path = CASES) -> list[CheckResult]:
    """Write the case, measure its verdict in a child process and record that as expected of the installed TVM.

    The module is kept as TVMScript when that reads back structurally equal, else as JSON.  A process that dies makes
    the case ``isolated``.

    Raises:
        CaseError: For a bad or taken slug, an unreadable module, or a verdict that is neither pass nor fail; then
            nothing is left behind.
    """
    if not _SLUG.fullmatch(new.slug):
        raise CaseError(f"'{new.slug}' is no name for a case: lower-case words joined by hyphens")
    directory = root / new.slug
    if directory.exists():
        raise CaseError(f"the corpus has a case '{new.slug}' already")
    for name, text in (("title", new.title), ("explanation", new.explanation), ("upstream", new.upstream)):
        if "\n" in text or (not text.strip() and name != "upstream"):
            raise CaseError(f"the {name} must be one line that says something")
    try:
        module = tvm.ir.load_json(new.module_json)
    except Exception as error:
        raise CaseError(f"the module does not load: {type(error).__name__}") from error
    directory.mkdir(parents=True)
    try:
        return _write(new, module, directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def _write(new: NewCase, module: Any, directory: Path) -> list[CheckResult]:
    version, toml = tvm_version(), directory / "case.toml"
    toml.write_text(_case_toml(new, version, Outcome.FAIL, isolated=False), encoding="utf-8")
    _write_module(directory, module)
    seen = _measure(directory)
    died = seen.oracle is OracleName.CRASH and (seen.kind == "hang" or seen.kind.startswith(("signal ", "exit ")))
    if died:
        if new.oracle is not OracleName.CRASH:
            raise CaseError(f"the process died, so the oracle is crash, not {new.oracle}: {seen.text}")
    elif new.oracle is OracleName.CRASH and seen.outcome is not Outcome.FAIL:
        # The death may come from running the executable, which only an isolated case does.
        toml.write_text(_case_toml(new, version, Outcome.FAIL, isolated=True), encoding="utf-8")
        isolated = _measure(directory)
        died = isolated.outcome is Outcome.FAIL
        seen = isolated if died else seen
    if seen.outcome not in (Outcome.PASS, Outcome.FAIL):
        raise CaseError(f"{new.oracle} says nothing of it: {seen.text}")
    toml.write_text(_case_toml(new, version, seen.outcome, isolated=died, seen=seen), encoding="utf-8")
    (case,) = load([directory.name], directory.parent)
    return check_case(case)


def _measure(directory: Path) -> Observation:
    (case,) = load([directory.name], directory.parent)
    (result,) = check_case(case)
    return result.observation


def _write_module(directory: Path, module: Any) -> None:
    path = directory / "module.py"
    try:
        path.write_text(_HEADER + _code(str(module.script(show_meta=True))), encoding="utf-8")
        (case,) = load([directory.name], directory.parent)
        if tvm_ffi.structural_equal(load_module(case), module):
            return
    except Exception:  # TVM's printer or parser cannot hold it: JSON can
        pass
    path.unlink(missing_ok=True)
    (directory / "module.json").write_text(str(tvm.ir.save_json(module)), encoding="utf-8")


def _code(script: str) -> str:
    """TVM's script without the imports that it only hints at in comments."""
    lines = [line for line in script.splitlines() if not line.startswith("# from tvm")]
    return "\n".join(lines).strip() + "\n"


def _case_toml(new: NewCase, version: str, outcome: Outcome, *, isolated: bool, seen: Observation | None = None) -> str:
    lines = [
        f"title = {_quoted(new.title)}",
        f"explanation = {_quoted(new.explanation)}",
        f"oracle = {_quoted(str(new.oracle))}",
        f"upstream = {_quoted(new.upstream)}",
    ]
    if new.culprit:
        lines.append(f"culprit = {_quoted(new.culprit)}")
    if new.input_seed:
        lines.append(f"input_seed = {new.input_seed}")
    if isolated:
        lines.append("isolated = true")
    if seen is not None and outcome is Outcome.FAIL:
        lines.append(f"pattern = {_quoted(_pattern(seen))}")
    for ref in new.passes:
        lines += ["", "[[passes]]", f"name = {_quoted(ref.name)}", f"expression = {_quoted(ref.expression)}"]
    lines += ["", "[expected]", f"{_quoted(version)} = {_quoted(str(outcome))}"]
    return "\n".join(lines) + "\n"


def _pattern(seen: Observation) -> str:
    """A pattern of the evidence that does not hang on names and numbers of the module."""
    line = next((line.strip() for line in seen.message.splitlines() if line.strip()), "")
    words = re.split(r"[\"'].*?[\"']|\S*\d\S*", line)
    longest = max(words, key=len).strip()
    return re.escape(seen.kind) + (".*" + re.escape(longest[:80].strip()) if len(longest) >= 8 else "")


def _quoted(text: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which JSON leaves bare.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def refs_of(rows: Sequence[Any]) -> tuple[PassRef, ...]:
    """Passes from their JSON form, ``[{"name", "expression"}]``; raises ``CaseError``."""
    try:
        refs = tuple(PassRef(str(row["name"]), str(row["expression"])) for row in rows)
    except (KeyError, TypeError) as error:
        raise CaseError("the case's passes are not a list of name and expression") from error
    if not refs:
        raise CaseError("the case has no passes")
    return refs


def make_slug(pass_name: str, title: str) -> str:
    """A directory name of the pass and the first words of the title."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", pass_name) + re.findall(r"[A-Za-z0-9]+", title)
    seen: list[str] = []
    for word in (word.lower() for word in words):
        if word not in seen:
            seen.append(word)
    return "-".join(seen)[:60].strip("-")
