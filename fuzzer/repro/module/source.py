"""A module in a script: TVMScript where an equal module comes back from it, else Python that builds it, else JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi

from fuzzer.repro.module.builder import Unsayable, building
from fuzzer.repro.module.tvmscript import comes_back, readable, shared_constants
from fuzzer.repro.pieces.frame import load


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A module as source of a script.

    Attributes:
        text: TVMScript or JSON; empty when ``builder`` builds the module.
        builder: Source of a function ``given_module``.
        remarks: Comment lines for the script: why the module is not given as TVMScript.
    """

    text: str
    builder: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def is_script(self) -> bool:
        """Say whether it is TVMScript."""
        return bool(self.text) and not self.text.startswith("{")


def module_source(module: Any) -> ModuleSource:
    """Return the source from which a structurally equal module can be made."""
    alike = ""
    try:
        text = readable(module)
        parsed = load(text)
        if comes_back(parsed, module):
            if not shared_constants(module):
                return ModuleSource(text)
            alike, why = text, "two uses of one constant are read back as two constants"
        else:
            found = tvm_ffi.get_first_structural_mismatch(parsed, module)
            why = f"what is read back differs at {_first_line(found[0]) if found else 'the name of a local function'}"
    except Exception as error:
        why = f"{type(error).__name__}: {_first_line(error)}"
    why = f"TVM's own TVMScript of this module does not give it back: {why}"
    shown = _shown(module)
    try:
        builder = building(module)
    except Unsayable as error:
        if alike:
            return ModuleSource(alike)
        nor = f"nor can it be built node by node ({_first_line(error)})"
        remarks = (why, f"{nor}: it is given as TVM's JSON, which only this")
        return ModuleSource(str(tvm.ir.save_json(module)), "", (*remarks, "release can read.  For readers:", *shown))
    return ModuleSource("", builder, (why, "so it is built node by node.  For readers:", *shown))


def _shown(module: Any) -> list[str]:
    try:
        return readable(module).splitlines()
    except Exception as error:
        return [f"(it cannot be printed either: {type(error).__name__})"]


def literal_of(text: str) -> str:
    """Return a Python string literal, over several lines where that is readable."""
    if "\n" not in text and len(text) < 80:
        return repr(text)
    if '"""' not in text and not text.endswith(('"', "\\")):
        return f'r"""\n{text}\n"""'
    if "'''" not in text and not text.endswith(("'", "\\")):
        return f"r'''\n{text}\n'''"
    return repr(text)


def _first_line(text: object) -> str:
    lines = [line.strip().removeprefix("error:").strip() for line in str(text).splitlines()]
    line = next((line for line in lines if line), "")
    return line.partition(". If this is deliberate")[0][:200]
