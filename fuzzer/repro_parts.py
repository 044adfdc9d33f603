"""What a repro script is made of, read out of its source: the script is all that triage leaves of a finding."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from fuzzer.repro_nearest import Nearest, nearest_of
from fuzzer.repro_words import Words

_GIVEN = "given_module"


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """The parts of a script that people want to see.

    Attributes:
        module: The failing module: TVMScript, or Python that builds it; empty when it is given as JSON only.
        python: Whether ``module`` is Python.
        passes: Expressions of the passes, those that only prepare the module first.
        judged: How many of them, from the end, are judged.
        nearest: The nearest module that passes.
        words: What is wrong, as its first lines say it; ``None`` where they do not.
    """

    module: str
    python: bool
    passes: tuple[str, ...]
    judged: int
    nearest: Nearest | None
    words: Words | None = None

    @property
    def lines(self) -> int:
        """Lines of the module."""
        return len(self.module.splitlines())


def parts_of(script: str) -> ScriptParts:
    """The parts of a script; raises ``ValueError`` where it is none of ours."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"not a repro script: {error}") from error
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "judged_passes" not in functions:
        raise ValueError("not a repro script: it has no judged_passes")
    judged = _listed(script, functions["judged_passes"])
    prepared = _listed(script, functions["preparing_passes"]) if "preparing_passes" in functions else ()
    text = next((_text(node) for node in tree.body if _text(node)), "")
    python = not text and _GIVEN in functions
    if python:
        text = ast.get_source_segment(script, functions[_GIVEN]) or ""
    shown = "" if text.startswith("{") else text
    return ScriptParts(shown, python, (*prepared, *judged), len(judged), nearest_of(script), _words(tree))


def _words(tree: ast.Module) -> Words | None:
    """The words of the header: its first line, and facts of a line or more each."""
    head, _, rest = (ast.get_docstring(tree) or "").partition("\n\n")
    title = re.fullmatch(r"\[Bug\]\[(\w+)\] (.*)", head)
    facts: dict[str, str] = {}
    key = ""
    for line in rest.partition("\n\n")[0].splitlines():
        if not line.startswith(" "):
            key, _, line = line.partition(":")
        facts[key] = f"{facts.get(key, '')} {line.strip()}".strip()
    if title is None or not {"expected", "observed"} <= facts.keys():
        return None
    return Words(title.group(2), facts["expected"], facts["observed"], title.group(1))


def _text(node: ast.stmt) -> str:
    """The text of the module, where a statement gives it."""
    if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != "MODULE":
        return ""
    return str(node.value.value).strip("\n") if isinstance(node.value, ast.Constant) else ""


def _listed(script: str, function: ast.FunctionDef) -> tuple[str, ...]:
    """Source of the elements of the list that a function returns."""
    last = function.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    if not isinstance(value, ast.List):
        return ()
    return tuple(textwrap.dedent(ast.get_source_segment(script, item, padded=True) or "") for item in value.elts)
