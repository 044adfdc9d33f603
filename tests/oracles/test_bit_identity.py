"""Generated modules give the same bits through the kernel cache as through plain ``relax.build``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from oracles.abi.compose import public_functions
from oracles.comparison import compare
from oracles.execution import ExecMode, Program, cxx_available, plain_build, session
from oracles.inputs import materialize
from strategies import ir_modules

pytestmark = pytest.mark.skipif(not cxx_available(), reason="plain relax.build needs a C++ compiler to link")


def outputs(program: Program, module: Any) -> tuple[Any, ...]:
    return tuple(program.call(name, materialize(module, name, 3)) for name in sorted(public_functions(module)))


def check(count: int, first: int) -> None:
    drawn: list[Any] = []

    @seed(first)
    @settings(
        max_examples=5 * count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(ir_modules(executable=True))
    def draw(module: Any) -> None:
        drawn.append(module)

    draw()
    for module in drawn[::5]:  # neighbours are variations of one another
        cached = outputs(session().build(module), module)
        assert compare(outputs(plain_build(module), module), cached) is None
        assert compare(outputs(session().build(module, ExecMode.COMPILED), module), cached) is None


def test_a_few_generated_modules() -> None:
    check(12, 1)


@pytest.mark.slow
def test_some_hundreds_of_generated_modules() -> None:
    check(250, 2)
