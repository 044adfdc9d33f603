"""Numeric oracle: the same inputs must give the same outputs before and after the passes."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import tvm

from fuzzer.repro_pieces.frame import first_line, run_passes
from fuzzer.repro_pieces.numeric_repeats import in_poisoned_memory, repeated
from oracles.abi.compose import call, prepare
from oracles.comparison import compare, exact
from oracles.execution.effects import trace
from oracles.execution.mode import ExecMode
from oracles.execution.run import cxx_available, plain_build
from oracles.execution.values import from_tvm


def check_numeric(
    module: Any,
    passes: list[Any],
    inputs: list[Any],
    adapters: tuple[Any, ...],
    kind: str,
    fragments: list[str],
    mode: str,
    lowered: bool,
    tolerances: dict[Any, Any],
) -> tuple[str, str]:
    """Build the module before and after the passes by plain ``relax.build`` and compare what they return.

    ``inputs`` holds (function, title, num_input, arguments), of each function the inputs that it is called on first
    before the others; ``adapters`` know how callers must change; ``kind`` is what goes wrong; ``tolerances`` holds the
    absolute tolerance of each element by (title, path of the output), measured when the script was written; nothing
    there means exact.
    """
    if not cxx_available():
        return "ENVIRONMENT", "plain relax.build needs a C++ compiler (g++, clang++ or $CXX) to link"
    try:
        original = plain_build(tvm.ir.load_json(str(tvm.ir.save_json(module))))
    except Exception:
        # A whole build pipeline answers for what it leaves behind, whether or not another one builds the module.
        if not (lowered and kind == "does-not-build"):
            raise
    output = run_passes(passes, module)
    prepare(adapters)
    try:
        program = plain_build(output, ExecMode(mode), lowered=lowered)
    except Exception as error:
        fits = kind == "does-not-build" and all(item in f"{type(error).__name__}: {error}" for item in fragments)
        return ("BUG" if fits else "DIFFERENT"), f"does not build: {type(error).__name__}: {first_line(error)}"
    other = ""
    for seen, text in _disagreements(original, program, inputs, adapters, fragments, tolerances):
        if seen == kind:
            return "BUG", text
        other = other or (f"{seen}: {text}" if seen else "")
    return ("DIFFERENT", other) if other else ("OK", "the results agree")


def _disagreements(
    original: Any,
    program: Any,
    inputs: list[Any],
    adapters: tuple[Any, ...],
    fragments: list[str],
    tolerances: dict[Any, Any],
) -> Any:
    """What goes wrong, one thing after the other, and a line about it each time; empty where nothing does."""
    for name, title, num_input, arguments in inputs:
        seen, text = _function(original, program, adapters, name, title, num_input, arguments, fragments, tolerances)
        yield seen, f"{title}: {text}"
    for first in dict.fromkeys(name for name, *_ in inputs):
        calls = [(name, num_input, arguments) for name, _, num_input, arguments in inputs if name == first]
        try:
            seen, text = repeated(program, adapters, calls)
            yield seen, f"{first}: {text}"
            seen, text = in_poisoned_memory(program, adapters, *calls[0])
            yield seen, f"{first}: {text}"
        except Exception as error:
            yield "run-error", f"{first}: {type(error).__name__}: {first_line(error)}"


def _function(
    original: Any,
    program: Any,
    adapters: tuple[Any, ...],
    name: str,
    title: str,
    num_input: int | None,
    arguments: tuple[Any, ...],
    fragments: list[str],
    tolerances: dict[Any, Any],
) -> tuple[str, str]:
    """What goes wrong with one function, and a line about it; empty when nothing does."""
    original.take_output()
    expected = original.call(name, arguments)
    wanted = original.take_output()
    tensors = program.arguments(arguments)
    program.take_output()
    try:
        observed = call(program, adapters, name, num_input, tensors)
        printed = program.take_output()
        again = call(program, adapters, name, num_input, arguments)
    except Exception as error:
        text = f"{type(error).__name__}: {first_line(error)}"
        return ("run-error" if all(item in f"{type(error).__name__}: {error}" for item in fragments) else "error"), text

    def tolerance(path: tuple[int, ...], left: Any, right: Any) -> Any:
        return tolerances.get((title, path), exact(path, left, right))

    found = compare(expected, observed, tolerance)
    if found is not None:
        return found.kind, f"output {list(found.path)}: expected {found.expected}, got {found.observed}"
    changed = compare(_plain(arguments), program.plain(tensors))
    if changed is not None:
        return "input-overwritten", f"input {list(changed.path)}: {changed.expected} became {changed.observed}"
    changed = compare(observed, again)
    if changed is not None:
        return "second-call-differs", f"output {list(changed.path)}: {changed.expected}, then {changed.observed}"
    words = (trace(wanted, not tolerances), trace(printed, not tolerances))
    if not adapters and words[0] != words[1]:
        return "other-effects", f"expected to print {words[0]}, got {words[1]}"
    return "", ""


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return tuple(_plain(item) for item in value) if type(value) in (tuple, list) else from_tvm(value)


def unpacked(text: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """An array from its compressed bytes in base 85."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape).copy()
