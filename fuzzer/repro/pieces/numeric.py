"""Numeric oracle: the same inputs must give the same outputs before and after the passes, also when called again."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import tvm

from fuzzer.repro.pieces.frame import first_line, run_passes
from oracles.calling.compose import call, call_raw, prepare
from oracles.measure.comparison import compare, exact
from oracles.measure.finite_differences import adjoint_fault, target_value
from relaxkit.runtime.poison import PATTERNS, poisoned
from relaxkit.runtime.run import cxx_available, plain_build
from relaxkit.runtime.values import ExecMode, from_tvm, trace


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
    """Tell what goes wrong, one thing after the other, and a line about it each time; empty where nothing does."""
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
    """Tell what goes wrong with one function, and a line about it; empty when nothing does."""
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
    """Return an array from its compressed bytes in base 85."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape).copy()


def repeated(program: Any, adapters: tuple[Any, ...], calls: list[Any]) -> tuple[str, str]:
    """Return what calls on other inputs do to the first one's result, held meanwhile, and to the same call afterwards.

    ``calls`` holds (function, num_input, arguments), the first call first.
    """
    name, num_input, arguments = calls[0]
    held = call_raw(program, adapters, name, num_input, arguments)
    before = from_tvm(held)
    for other, other_input, others in calls[1:]:
        call(program, adapters, other, other_input, others)
    changed = compare(before, from_tvm(held))
    if changed is not None:
        return "output-overwritten", f"output {list(changed.path)}: {changed.expected}, then {changed.observed}"
    changed = compare(before, call(program, adapters, name, num_input, arguments))
    if changed is not None:
        return "later-call-differs", f"output {list(changed.path)}: {changed.expected}, then {changed.observed}"
    return "", ""


def in_poisoned_memory(
    program: Any, adapters: tuple[Any, ...], name: str, num_input: int | None, arguments: tuple[Any, ...]
) -> tuple[str, str]:
    """Say whether the result depends on what was in memory before the program wrote into it."""
    values, errors = [], []
    for pattern in PATTERNS:
        try:
            with poisoned(program, pattern):
                values.append(call(program, adapters, name, num_input, arguments))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {first_line(error)}")
    if errors:
        return "uninitialized-read", f"in memory full of {PATTERNS}: {errors[0]}"
    changed = compare(values[0], values[1])
    if changed is None:
        return "", ""
    where = f"output {list(changed.path)}: {changed.expected}, {changed.observed}"
    return "uninitialized-read", f"in memory full of {PATTERNS[0]:#x} and of {PATTERNS[1]:#x}, {where}"


# Numeric oracle: one call, held against what the operator is documented to compute.


def check_documented(
    module: Any, passes: list[Any], arguments: tuple[Any, ...], documented: Any, uninitialized: bool
) -> tuple[str, str]:
    """Lower and build the module by plain ``relax.build``, call it, and compare with what is documented.

    ``documented`` is an ``Expectation``; ``uninitialized`` says that the result is expected to hang on what was in
    memory before.
    """
    if not cxx_available():
        return "ENVIRONMENT", "plain relax.build needs a C++ compiler (g++, clang++ or $CXX) to link"
    program = plain_build(run_passes(passes, module))
    results = []
    for pattern in PATTERNS:
        with poisoned(program, pattern):
            results.append(program.call("main", arguments))
    found = documented.mismatch(results[0])
    if found is None:
        return "OK", "the result is as documented"
    text = f"output {list(found.path)}: {found.expected} is documented, {found.observed}"
    if uninitialized and compare(results[0], results[1]) is None:
        return "DIFFERENT", f"{text}, whatever was in memory before"
    return "BUG", text


# Numeric oracle, of Gradient: the adjoint must return derivatives of its function.


def check_gradient(
    module: Any,
    passes: list[Any],
    gradient: Any,
    later: tuple[Any, ...],
    num_input: int | None,
    arguments: tuple[Any, ...],
    noise: float,
    exact: bool,
) -> tuple[str, str]:
    """Build the module before and after the passes and compare an adjoint with differences of its function.

    ``gradient`` says what was differentiated, ``later`` how callers must change for the passes behind it, ``noise`` how
    far one value of the target may be off by rounding, measured when the script was written.
    """
    if not cxx_available():
        return "ENVIRONMENT", "plain relax.build needs a C++ compiler (g++, clang++ or $CXX) to link"
    original = plain_build(tvm.ir.load_json(str(tvm.ir.save_json(module))))
    output = run_passes(passes, module)
    prepare((gradient, *later))
    program = plain_build(output)
    expected = original.call(gradient.function, arguments)
    try:
        result = call(program, later, gradient.adjoint, num_input, arguments)
    except Exception as error:
        return "DIFFERENT", f"the adjoint raises {type(error).__name__}: {first_line(error)}"
    wrong, _ = adjoint_fault(
        lambda values: target_value(original.call(gradient.function, values), gradient.target),
        gradient,
        arguments,
        expected,
        result,
        noise,
        exact,
    )
    if wrong is None:
        return "OK", "gradients agree with differences"
    return (
        "BUG",
        f"{gradient.adjoint}: {wrong.what}: by parameter {list(wrong.path)}: {wrong.expected}, got {wrong.observed}",
    )
