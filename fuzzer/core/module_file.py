"""A module from a file of the user's: TVMScript, a Python file that defines one, or TVM's JSON."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from fuzzer.core.verb import UsageError
from relaxkit.files import read_text


class ModuleFileError(UsageError, ValueError):
    """A file that gives no module; the message is one line for the user."""


def read_module(path: str) -> str:
    """The module in a file, as JSON; runs the user's Python, so call it inside an isolated worker.

    TVMScript is parsed as text first (import lines left out); where that fails and the file is Python, it is imported
    and its only ``IRModule`` is taken, preferring one named ``Module`` or ``module``.

    Raises:
        ModuleFileError: The file cannot be read, or there is no module in it, or it is ill formed.
    """
    import tvm
    from tvm import relax

    try:
        text = read_text(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ModuleFileError(f"'{path}' cannot be read: {_line(error)}") from error
    module = _json(path, text) if text.lstrip().startswith("{") else _script(path, text)
    if not relax.analysis.check_well_formed(module):
        try:
            relax.analysis.well_formed(module)
        except Exception as error:
            raise ModuleFileError(f"the module in '{path}' is ill-formed: {_line(error)}") from error
    return str(tvm.ir.save_json(module))


def _json(path: str, text: str) -> Any:
    import tvm

    try:
        module = tvm.ir.load_json(text)
    except Exception as error:
        raise ModuleFileError(f"'{path}' is not TVM's JSON: {_line(error)}") from error
    if not isinstance(module, tvm.IRModule):
        raise ModuleFileError(f"'{path}' contains a {type(module).__name__}, not an IRModule")
    return module


def _script(path: str, text: str) -> Any:
    import tvm

    lines = [line for line in text.splitlines() if not line.startswith(("import ", "from "))]
    try:
        module = tvm.script.from_source("\n".join(lines))
        if isinstance(module, tvm.IRModule):
            return module
    except Exception as error:
        problem = _line(error)
    else:
        problem = f"it defines a {type(module).__name__}"
    try:
        found = _imported(path)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ModuleFileError(
            f"'{path}' is not TVMScript ({problem}) and cannot be imported: {type(error).__name__}: {_line(error)}"
        ) from error
    for name in ("Module", "module"):
        if name in found:
            return found[name]
    if len(found) != 1:
        raise ModuleFileError(
            f"'{path}' defines {len(found) or 'no'} modules; it must define one, or name one of them 'Module'"
        )
    return next(iter(found.values()))


def _imported(path: str) -> dict[str, Any]:
    import tvm

    spec = importlib.util.spec_from_file_location("relaxfuzz_module_file", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for what their annotations mention
    spec.loader.exec_module(module)
    found = {name: value for name, value in vars(module).items() if isinstance(value, tvm.IRModule)}
    if not found and callable(given := getattr(module, "given_module", None)):  # a repro script
        found["module"] = given()
    return found


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200]
