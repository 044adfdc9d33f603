"""Names for a script on older releases: those that it uses and that they call otherwise, and no others.

Scripts are written in the names of the newest release. The rows of ``relaxkit.compat.tables`` whose new name a script
mentions are copied into it with the code that applies them, where a name is missing; a script that mentions none has
nothing of this. The module is in words of its own: ``fuzzer.repro.module.dialect``.
"""

from __future__ import annotations

import ast
from dataclasses import MISSING, fields
from typing import Any

from fuzzer.repro.bundle import Selection, select
from relaxkit.compat.tables import ALIASES, ARGUMENTS, ATTRIBUTES, DEMANDS, KEYWORDS

_PIECES = tuple(f"relaxkit/compat/{name}.py" for name in ("tables", "shims", "adoption"))
_REMARK = "# Names of above and below that older releases of TVM lack, and what they call the same there.\n"
_ADOPTIONS = {
    "adopt_scalars()": {"PrimType", "BlockBuilder"},  # it may build with scalars, or ask whether something is one
    "adopt_remaps()": {"set_var_remap"},
    "adopt_walks()": {"structural_walk"},
}
"""Calls that a script needs where it mentions one of the names."""
_SINFO = """\
if {condition}hasattr(relax, "StructInfo"):
    {name} = {name}.replace("{ours}=", "{theirs}=")
"""


def names_for_older(script: str) -> Selection:
    """Definitions and calls that give an older TVM the names in a script; empty where it needs none.

    They are to stand behind the script's module, and before anything that is defined by means of the names.
    """
    tree = ast.parse(script)
    said = _said(tree)
    calls = [
        *_applied("_alias", [row for row in ALIASES if _last(row.new) in said]),
        *_applied("_attribute", [row for row in ATTRIBUTES if row.new in said]),
        *_applied("_keyword", [row for row in KEYWORDS if {row.new, _last(row.function)} <= said]),
        *_applied("_argument", [row for row in ARGUMENTS if _last(row.function) in said]),
        *_applied("_demand", [row for row in DEMANDS if _last(row.function) in said]),
        *(call for call, names in _ADOPTIONS.items() if said & names),
        *_words_of_texts(tree),
    ]
    if not calls:
        return Selection("", (), ())
    call = "\n".join(calls)
    found = select(_PIECES, call)
    return Selection("\n\n\n".join(part for part in (_REMARK + found.text, call) if part), found.standard, found.tvm)


def _said(tree: ast.Module) -> frozenset[str]:
    """Names that a script may look up in TVM: attributes, keywords of calls, what it imports."""
    said = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            said.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            said.add(node.arg)
        elif isinstance(node, ast.alias):
            said.add(node.name)
    return frozenset(said)


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _applied(function: str, rows: list[Any]) -> list[str]:
    """Write calls of a function of ``relaxkit.compat.adoption``: no loop, whose variable the script may use."""
    return [f"{function}({_source(row)})" for row in rows]


def _source(row: Any) -> str:
    """Return a row as it stands in the table, without what it has by default."""
    given = [(field, getattr(row, field.name)) for field in fields(row)]
    parts = [repr(value) if field.default is MISSING else f"{field.name}={value!r}"
             for field, value in given if field.default is MISSING or value != field.default]  # fmt: skip
    return f"{type(row).__name__}({', '.join(parts)})".replace("'", '"')


def _words_of_texts(tree: ast.Module) -> list[str]:
    """For TVMScript with types that only a keyword can say: the keyword of the other releases."""
    made = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
            if "ty_args=" in text:
                made.append(_SINFO.format(condition="", name=name, ours="ty_args", theirs="sinfo_args"))
            elif "sinfo_args=" in text:
                made.append(_SINFO.format(condition="not ", name=name, ours="sinfo_args", theirs="ty_args"))
    return made
