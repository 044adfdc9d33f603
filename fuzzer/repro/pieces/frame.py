"""The definitions that most scripts contain: load the module and passes, run them, look at what they give."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import tvm
import tvm_ffi
from tvm import relax


def load(text: str) -> Any:
    """Load the module in a text: TVM's JSON, which only one release can read, or TVMScript, with imports or without."""
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
    """Return TVM's complaint about the module, function by function in the order of their names; empty for none."""
    functions = dict(module.functions_items())
    try:
        relax.analysis.well_formed(tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos))
    except Exception as error:
        return str(error)
    return ""


def first_line(text: object) -> str:
    """Return the first line that says something, shortened."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return (lines[0] if lines else "")[:300]


def raised_in(release: str, file: str, function: str) -> list[tuple[str, str]]:
    """List the place that an exception must have come through; none in other releases of TVM, where places differ."""
    return [(file, function)] if tvm.__version__ == release else []


def expected_error(error: BaseException, name: str, fragments: list[Any]) -> bool:
    """Say whether an exception is that of the defect: its type, distinctive parts of its message, and its place."""
    places = [f"{file} {function}" for file, _, function, _ in traceback.extract_tb(error.__traceback__)]
    return type(error).__name__ == name and all(
        item in str(error) if isinstance(item, str) else any(all(word in place for word in item) for place in places)
        for item in fragments
    )


def attempted(run: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | None]:
    """Return what a call gives, or what it raises."""
    try:
        return run(*arguments), None
    except Exception as error:
        return None, error


def error_seen(error: BaseException, name: str, fragments: list[Any], before: str = "") -> tuple[str, str]:
    """Say whether an exception is that of the defect or another one, and tell it behind some words."""
    outcome = "BUG" if expected_error(error, name, fragments) else "DIFFERENT"
    return outcome, f"{before}{type(error).__name__}: {first_line(error)}"


def user_pass(where: str, factory: str, *arguments: Any, **named: Any) -> Any:
    """Return the pass that ``factory`` in a file (or an importable module) builds, or is."""
    found = getattr(user_module(where), factory)
    return found if isinstance(found, tvm.ir.transform.Pass) else found(*arguments, **named)


def user_module(where: str) -> Any:
    """Return the module in a file, or the one of a name, which may stand behind the directory that it is in."""
    if where.endswith(".py"):
        sys.path.append(os.path.dirname(where))  # what lies beside it may be imported, as for `python FILE`
        spec = importlib.util.spec_from_file_location("user_pass_module", where)
        if spec is None or spec.loader is None:
            raise ImportError(where)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look for what their annotations mention
        spec.loader.exec_module(module)
        return module
    root, name = os.path.split(where)
    sys.path += [root] * bool(root)
    return importlib.import_module(name)
