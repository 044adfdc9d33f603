"""What most scripts contain: loading the module, running passes, looking at what they give."""

from __future__ import annotations

import traceback
from typing import Any

import tvm
import tvm_ffi
from tvm import relax


def load(text: str) -> Any:
    """The module in a text: TVM's JSON, which only one release can read, or TVMScript with or without imports."""
    if text.lstrip().startswith("{"):
        return tvm.ir.load_json(text)
    lines = [line for line in text.splitlines() if not line.startswith(("import ", "from "))]
    return tvm.script.from_source("\n".join(lines))


def run_passes(passes: list[Any], module: Any) -> Any:
    """Apply passes one after the other, under the same target as a build for the CPU."""
    for item in passes:
        with tvm.target.Target("llvm"):
            module = item(module)
    return module


def equal(left: Any, right: Any) -> bool:
    """Structural equality of two modules."""
    return bool(tvm_ffi.structural_equal(left, right))


def complaint(module: Any) -> str:
    """What TVM's checker says against the module, function by function in the order of their names; empty: nothing."""
    functions = dict(module.functions_items())
    try:
        relax.analysis.well_formed(tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos))
    except Exception as error:
        return str(error)
    return ""


def first_line(text: object) -> str:
    """The first line that says something, shortened."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return (lines[0] if lines else "")[:300]


def raised_in(release: str, file: str, function: str) -> list[tuple[str, str]]:
    """A place that an exception must have come through, in the release of TVM that it was seen in: others differ."""
    return [(file, function)] if tvm.__version__ == release else []


def expected_error(error: BaseException, name: str, fragments: list[Any]) -> bool:
    """Whether an exception is the one of the defect: its type, distinctive parts of its message, and of its place."""
    places = [f"{file} {function}" for file, _, function, _ in traceback.extract_tb(error.__traceback__)]
    return type(error).__name__ == name and all(
        item in str(error) if isinstance(item, str) else any(all(word in place for word in item) for place in places)
        for item in fragments
    )
