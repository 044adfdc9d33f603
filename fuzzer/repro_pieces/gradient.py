"""Numeric oracle, of Gradient: the adjoint must return derivatives of its function."""

from __future__ import annotations

from typing import Any

import tvm

from fuzzer.repro_pieces.frame import first_line, run_passes
from oracles.abi.compose import call, prepare
from oracles.execution.run import cxx_available, plain_build
from oracles.gradient import adjoint_fault, target_value


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
