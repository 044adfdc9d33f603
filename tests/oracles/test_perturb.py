# ruff: noqa: RET504 -- the sample is TVMScript, not Python
"""Perturbed runs end, whatever the program decides on its moved floats."""

from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from oracles.measure.original import Original
from oracles.measure.tolerance import unit_of
from relaxkit.ir.domain import Given
from relaxkit.passes.contract import NumericPromise


@I.ir_module
class CountingDown:
    """Counts a float down to zero, which it never meets when it is moved."""

    @R.function(private=True)
    def loop(n: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = CountingDown
        more = R.not_equal(n, R.const(0.0, "float32"))
        if more:
            less = R.subtract(n, R.const(1.0, "float32"))
            r = cls.loop(less)
        else:
            r = n
        return r

    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = CountingDown
        end = cls.loop(R.const(3.0, "float32"))
        y = R.add(x, end)
        return y


def test_a_recursion_that_counts_floats_is_cut() -> None:
    original = Original(CountingDown, tvm.ir.save_json(CountingDown), 0, Given())
    (entry,) = original.entries
    assert not entry.problem
    assert original.measured(entry, unit_of(NumericPromise.REASSOCIATION, original.float_dtypes)) is None
