"""Numeric oracle: one call, held against what the operator is documented to compute."""

from __future__ import annotations

from math import inf, nan  # noqa: F401  (literals of scripts have them)
from typing import Any

from fuzzer.repro_pieces.frame import run_passes
from oracles.comparison import compare
from oracles.execution.poison import PATTERNS, poisoned
from oracles.execution.run import cxx_available, plain_build


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
