"""A module as TVMScript for people: constants where they are used, long lines wrapped, no lines that say nothing."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.module.dialect import common
from fuzzer.repro.module.format import wrapped
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.walk import expressions_in, is_constant, name_of, operands_of, places

_WHOLE = re.compile(r'\Ametadata = tvm\.ir\.load_json\("""(.*?)"""\)\n', re.DOTALL)
_USE = re.compile(r'metadata\["([\w.]+)"\]\[(\d+)\]')
# Comments of the printer: what a file that defined the module would import.
_IMPORTS = re.compile(r"^ *# from (?:tvm|typing)[\w. ]* import [^\n]*\n(?: *\n)?", re.MULTILINE)
_DEVICE = re.compile(r"I\.vdevice\((\{[^{}]*\}), ")
_OFFSET = re.compile(r"\belem_offset=(elem_offset\w*)(?=[,)])")
_LARGE = re.compile(r"\bT\.float64\((-?\d{39,}\.0)\)")
"""What TVM prints and does not read again: a number beyond those of float32."""
_LONG = re.compile(r"(?<![\w.])\d+\.\d{15,}(?:e[+-]\d+)?")
_INLINE_ELEMENTS = 64
_SUMMARY_ELEMENTS = 8
_LISTED_ELEMENTS = 4096
"""A constant of one value may be written as ``[[1.0] * 8] * 8``, but not without end."""


def readable(module: Any) -> str:
    """Return the module's TVMScript, which ``tvm.script.from_source`` reads; raises what the printer raises.

    Whether an equal module comes back is for the caller to see.
    """
    return wrapped(unwrapped(module, constant_source))


def plain_lines(module: Any) -> list[str]:
    """Return lines to compare with those of another module, as TVM prints them, but constants where they are used."""
    return [line for line in unwrapped(module, _summary, str).splitlines() if not line.startswith(("#", "metadata = "))]


def _summary(item: Any) -> str:
    """Write a small constant as it is, of a larger one what people tell it by; empty for what is none."""
    value = getattr(item, "value", None)
    if not isinstance(value, tvm.runtime.Tensor):
        return ""
    array = value.numpy()
    if array.size <= _SUMMARY_ELEMENTS and (text := constant_source(item)):
        return text
    first = ", ".join(map(str, array.flat[:_SUMMARY_ELEMENTS]))
    return f'R.const([{first}{", ..." * (array.size > _SUMMARY_ELEMENTS)}] of shape {array.shape}, "{value.dtype}")'


def unwrapped(module: Any, constant: Callable[[Any], str], words: Callable[[str], str] = common) -> str:
    """Return the module's TVMScript for people with lines as long as they are.

    Args:
        module: The module.
        constant: Writes an object of the metadata where it is used; empty where it cannot.
        words: Puts the text into other words, by default into those that all releases read.
    """
    text = str(module.script(show_meta=True))
    found = _WHOLE.match(text)
    if found is not None:
        rest = text[found.end() :]
        objects = tvm.ir.load_json(found.group(1).replace('\\"', '"').replace("\\\\", "\\"))
        rest = _USE.sub(lambda use: constant(objects[use.group(1)][int(use.group(2))]) or use.group(), rest)
        text = f"{_compact(found)}{rest}" if _USE.search(rest) else rest
    text = _DEVICE.sub(lambda found: f"I.vdevice({target_text(found.group(1))}, ", text)
    return _OFFSET.sub(_free_offset, words(shortest(_IMPORTS.sub("", text).strip("\n"))))


def _free_offset(found: re.Match[str]) -> str:
    """Write the offset of a buffer, a variable that nothing else names, so that TVM's parser makes one."""
    return found[0] if len(re.findall(rf"\b{found[1]}\b(?!=)", found.string)) > 1 else "offset_factor=1"


def comes_back(read: Any, module: Any) -> bool:
    """Say whether an equal module was read, in which local functions have the same names: passes name what they lift
    after them, and TVMScript gives no two of a function one name.
    """
    names = [
        [name_of(place.var) for _, function in relax_functions(each) for place in places(function)
         if isinstance(place.value, tvm.relax.Function)]
        for each in (read, module)
    ]  # fmt: skip
    return bool(tvm_ffi.structural_equal(read, module)) and names[0] == names[1]


def shared_constants(module: Any) -> set[Any]:
    """Return the constants that stand in several places: a pattern may ask for one value twice, and TVMScript gives
    each place a constant of its own.
    """
    uses = [place.value for _, function in relax_functions(module) for place in places(function)]
    for expr in expressions_in(module):
        uses += [expr.body] if isinstance(expr, relax.SeqExpr) else operands_of(expr)
    return {each for each, times in Counter(filter(is_constant, uses)).items() if times > 1}


def shortest(text: str) -> str:
    """Write long floats with the fewest digits that give them back: 1e-05 for 1.0000000000000001e-05."""
    text = _LARGE.sub(lambda found: f'T.FloatImm("float64", {float(found[1])!r})', text)
    return _LONG.sub(lambda found: repr(float(found[0])), text)


def target_text(printed: str) -> str:
    """Return a target by the name of its kind alone where that says all of it, on any machine."""
    kind = ast.literal_eval(printed).get("kind", "")
    named = tvm.target.Target(kind)
    return f'"{kind}"' if tvm_ffi.structural_equal(tvm.target.Target(ast.literal_eval(printed)), named) else printed


def _compact(found: re.Match[str]) -> str:
    """Return the printed metadata on one line: it is JSON with escaped quotes, and of no interest to people."""
    body = json.dumps(json.loads(found.group(1).replace('\\"', '"')), separators=(",", ":")).replace('"', '\\"')
    return f'metadata = tvm.ir.load_json("""{body}""")\n'


def constant_source(item: Any) -> str:
    """Return the source of a constant tensor; empty when it is none, or not short."""
    value = getattr(item, "value", None)
    if not isinstance(value, tvm.runtime.Tensor):
        return ""
    array, dtype = value.numpy(), str(value.dtype)
    if array.dtype.name != dtype or array.dtype.kind not in "fiub":  # what NumPy has no name for, such as bfloat16
        return ""
    if array.size == 0 or not np.all(np.isfinite(array)):
        return ""
    if array.dtype.kind == "f" and array.size <= _LISTED_ELEMENTS:
        array = np.array([float(str(item)) for item in array.flat]).reshape(array.shape)
    if array.size <= _INLINE_ELEMENTS:
        return f'R.const({array.tolist()!r}, "{dtype}")'
    first = array.flat[0]
    if array.size <= _LISTED_ELEMENTS and bool(np.all(array == first)):
        source = repr(first.item())
        for dim in reversed(array.shape):
            source = f"[{source}] * {dim}"
        return f'R.const({source}, "{dtype}")'
    return ""
