"""Generated modules give the same bits through the kernel cache as through plain ``relax.build``."""

from __future__ import annotations

from typing import Any

import numeric_samples as samples
import numpy as np
import pytest
from shared.drawn_examples import examples_of
from tvm import relax

from oracles.measure.comparison import compare
from oracles.measure.inputs import materialize
from relaxkit.ir.functions import public_functions
from relaxkit.runtime import ExecMode, KernelCache, Program, Session, cxx_available, plain_build, session
from relaxkit.runtime.compile.lowering import target
from strategies import ir_modules

pytestmark = pytest.mark.skipif(not cxx_available(), reason="plain relax.build needs a C++ compiler to link")


def outputs(program: Program, module: Any) -> tuple[Any, ...]:
    return tuple(program.call(name, materialize(module, name, 3)) for name in sorted(public_functions(module)))


def optimised() -> Session:
    """A session whose kernels LLVM optimises as ``relax.build`` has it."""
    made = Session()
    made.kernels = KernelCache(None, target=target())
    return made


def check(count: int, first: int) -> None:
    built = 0
    for module in examples_of(ir_modules(executable=True), count, first):
        try:
            program = plain_build(module)
        except Exception as error:  # a defect of TVM, as an If that loses a shape: then both refuse the module
            with pytest.raises(type(error)):
                session().build(module)
            continue
        built += 1
        cached = outputs(session().build(module), module)
        plain = outputs(program, module)
        if compare(plain, cached) is not None:  # by what kernels.py says of llvm.fmuladd, or else it is an error
            assert compare(plain, outputs(optimised().build(module), module)) is None
        assert compare(outputs(session().build(module, ExecMode.COMPILED), module), cached) is None
    assert built >= 0.98 * count


def test_a_few_generated_modules() -> None:
    check(6, 1)


@pytest.mark.slow
def test_some_hundreds_of_generated_modules() -> None:
    check(250, 2)


def test_multiply_and_add_of_constants_is_rounded_twice_here_and_once_by_the_optimiser() -> None:
    theta = relax.Var("theta", relax.TensorType((1, 2, 3), "float16"))
    module = samples.function([theta], lambda builder: builder.emit(relax.op.image.affine_grid(theta, (4, 4))))
    half = np.float16
    given_theta = np.array([[[0.25, 0.5, 0.125], [0.75, 0.5, 0.25]]], half)
    # Coordinates from -1 to 1: the third is 3 * 0.6665 - 1, and 3 * 0.6665 has no place in float16.
    steps = half(-1) + np.arange(4, dtype=half) * half(2 / 3)
    along, down = np.meshgrid(steps, steps)
    expected = np.stack([(row[2] + row[1] * down) + row[0] * along for row in given_theta[0]])[np.newaxis]
    ours = session().build(module).call("main", [given_theta])
    plain = plain_build(module).call("main", [given_theta])
    assert compare(expected, ours) is None
    assert compare(plain, ours) is not None, "if it is the same, kernels.py and numeric_pairs.py say too much"
    assert compare(plain, optimised().build(module).call("main", [given_theta])) is None
