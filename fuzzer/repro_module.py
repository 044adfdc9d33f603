"""A module as a literal of a repro script: TVMScript where that survives the round trip, else JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi

_METADATA = re.compile(r'(?<=tvm\.ir\.load_json\(""").*?(?="""\))', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """Text of a module.

    Attributes:
        literal: A Python string literal.
        loader: Name of the script's function that makes a module of the string.
        remarks: Comment lines for the script.
    """

    literal: str
    loader: str
    remarks: tuple[str, ...] = ()


def module_source(module: Any) -> ModuleSource:
    """The text from which a structurally equal module can be made."""
    try:
        text = _METADATA.sub(_compact, str(module.script(show_meta=True)))
        parsed = tvm.script.from_source(text)
    except Exception as error:
        why = f"TVMScript does not round-trip here: {type(error).__name__}: {_first_line(error)}"
    else:
        if tvm_ffi.structural_equal(parsed, module):
            return ModuleSource(_literal(text), "load_script")
        found = tvm_ffi.get_first_structural_mismatch(parsed, module)
        why = f"TVMScript does not round-trip here: it differs at {_first_line(found[0]) if found else 'some part'}"
    remarks = [why, "so the module is given as JSON, which only this release of TVM can load.  For people:"]
    try:
        remarks += str(module.script()).splitlines()
    except Exception as error:
        remarks.append(f"(it cannot be printed either: {type(error).__name__})")
    return ModuleSource(_literal(str(tvm.ir.save_json(module))), "load_json", tuple(remarks))


def _compact(found: re.Match[str]) -> str:
    """The printed metadata on one line: it is JSON with escaped quotes, and of no interest to people."""
    return json.dumps(json.loads(found.group().replace('\\"', '"')), separators=(",", ":")).replace('"', '\\"')


def _literal(text: str) -> str:
    if '"""' not in text and not text.endswith(('"', "\\")):
        return f'r"""\n{text}\n"""'
    if "'''" not in text and not text.endswith(("'", "\\")):
        return f"r'''\n{text}\n'''"
    return repr(text)


def _first_line(text: object) -> str:
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return (lines[0] if lines else "")[:200]
