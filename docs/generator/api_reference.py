"""Pages of the public Python interface, read out of the source without importing it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe

_FACE = "relaxfuzz"
_TITLE = "what to test (Hypothesis strategies for modules, passes and pipelines), and how to judge (`check`, contracts)"
_NAMES = "relaxkit/passes/contract.py"
_ROLE = re.compile(r":(?:func|class|meth|mod|data|attr|exc):`~?([^`]+)`")


def api_pages(root: Path) -> dict[str, str]:
    """Return pages by their place in the site: the public names, the tolerance, the oracles one by one."""
    return {
        f"reference/{_FACE}.md": _public_names(root),
        "reference/tolerance.md": f"# Tolerance\n\n{_prose(_module_docstring(root / 'oracles/measure/tolerance.py'))}",
        "reference/oracles-in-detail.md": _oracles(root),
    }


def _public_names(root: Path) -> str:
    lines = [f"# Python: `{_FACE}`", "", f"From `import {_FACE}`: {_TITLE}.", ""]
    for name in sorted(_exported(root / _FACE / "__init__.py"), key=str.lower):
        lines += _member(name, _definition(root, name))
    return "\n".join(lines)


def _exported(init: Path) -> list[str]:
    """``__all__`` as it is written."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return [str(name) for name in ast.literal_eval(node.value)]
    raise SystemExit(f"{init} has no __all__")


def _definition(root: Path, name: str) -> Any:
    """Follow a public name's imports to its definition, through all packages.

    By the imports, not the members: a file of the same name is a member, too.
    """
    path = f"{_FACE}.{name}"
    for _ in range(10):
        package, _, rest = path.partition(".")
        holder, _, last = rest.rpartition(".")
        module = _package(root, package)[holder] if holder else _package(root, package)
        if last not in module.imports:
            return module.members[last]
        path = module.imports[last]
    raise SystemExit(f"{_FACE}.{name} is imported in a circle")


@cache
def _package(root: Path, name: str) -> Any:
    return griffe.load(name, search_paths=[str(root)], docstring_parser="google", resolve_aliases=False)


def _member(name: str, member: Any) -> list[str]:
    lines = [f"## {name}", ""]
    if member.is_function or member.is_class:
        lines += ["```python", _signature(name, member), "```", ""]
    if member.docstring is None:
        raise SystemExit(f"{member.path} has no docstring")
    lines += _sections(member.docstring)
    if member.is_class:
        for below in member.members.values():
            public = not below.is_alias and below.is_function and not below.name.startswith("_")
            if public and below.docstring is not None:
                lines += [f"### {name}.{below.name}", ""]
                kind = "" if "property" not in below.labels else " (property)"
                lines += ["```python", _signature(below.name, below) + kind, "```", "", *_sections(below.docstring)]
    return lines


def _signature(name: str, member: Any) -> str:
    function = member.members.get("__init__") if member.is_class else member
    if function is None or function.is_alias:
        return f"class {name}" if member.is_class else name
    shown, star = [], False
    for parameter in function.parameters:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and not star:
            shown.append("*")
            star = True
        mark = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        star = star or mark == "*"
        text = mark + parameter.name
        text += f": {parameter.annotation}" if parameter.annotation is not None else ""
        if parameter.default is not None and not mark:
            text += f" = {parameter.default}"
        shown.append(text)
    returns = f" -> {function.returns}" if not member.is_class and function.returns is not None else ""
    one_line = f"{name}({', '.join(shown)}){returns}"
    if len(one_line) <= 88:
        return one_line
    return "\n".join([f"{name}(", *(f"    {each}," for each in shown), f"){returns}"])


def _sections(docstring: Any) -> list[str]:
    lines: list[str] = []
    for section in docstring.parsed:
        kind = section.kind
        if kind is griffe.DocstringSectionKind.text:
            lines += [_prose(section.value), ""]
        elif kind is griffe.DocstringSectionKind.examples:
            for what, text in section.value:
                code = what is griffe.DocstringSectionKind.examples
                lines += ["```pycon", text, "```", ""] if code else [_prose(text), ""]
        elif kind is griffe.DocstringSectionKind.admonition:
            lines += [f"**{section.title}:** {_prose(section.value.description)}", ""]
        elif isinstance(section.value, list):
            lines += [f"**{(section.title or kind.value).capitalize()}**", ""]
            for item in section.value:
                label = getattr(item, "name", "") or str(getattr(item, "annotation", "") or "")
                lines.append(f"- {f'`{label}`: ' if label else ''}{' '.join(_prose(item.description).split())}")
            lines.append("")
    return lines


def _oracles(root: Path) -> str:
    """The docstrings of the oracles' files, which argue what each one asks, and what it cannot see."""
    lines = ["# The oracles in detail", ""]
    lines += [
        "[oracles.md](../oracles.md) says how far to trust each oracle. This page shows the docstrings of their files.",
        "",
    ]
    for name in _oracle_names(root):
        path = _oracle_file(root / "oracles", name.replace("-", "_"))
        lines += [f"## {name}", "", _prose(_module_docstring(path)), ""]
    return "\n".join(lines)


def _oracle_file(room: Path, name: str) -> Path:
    """Find the file that argues an oracle: named after it, in part or whole, or with a docstring that explains it."""
    files = [path for path in sorted(room.rglob("*.py")) if path.parent != room]
    exact = [path for path in files if path.stem == name or (path.parent.name == name and path.stem == "oracle")]
    partly = [path for path in files if name in path.stem.split("_and_")]
    told = [path for path in files if f"{name.capitalize()}:" in _module_docstring(path)]
    return (exact or partly or told)[0]


def _oracle_names(root: Path) -> list[str]:
    for node in ast.parse((root / _NAMES).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == "OracleName":
            return [str(ast.literal_eval(each.value)) for each in node.body if isinstance(each, ast.Assign)]
    raise SystemExit(f"{_NAMES} has no OracleName")


def _module_docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise SystemExit(f"{path} has no docstring")
    return text


def _prose(text: str) -> str:
    """Docstrings as Markdown: double backquotes become single ones, roles the names that they refer to."""
    text = _ROLE.sub(r"`\1`", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.DOTALL)
    return re.sub(r"(?<=\S)\n(\* )", r"\n\n\1", text)  # a list needs an empty line before it
