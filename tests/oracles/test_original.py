"""The original program's side: on which arguments it may be run."""

from __future__ import annotations

import tvm
from tvm import relax

from oracles.measure.original import DRAWN_ANEW, Original
from relaxkit.ir.domain import Given


def test_a_lifted_index_is_not_drawn_out_of_range() -> None:
    """6627a158fe: what LiftTransformParams makes a parameter was in range, and a kernel wrote outside of its result."""
    x, weight = (relax.Var(name, relax.TensorType([4], "float32")) for name in ("x", "w"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, weight], attrs={"num_input": 1}):
        with builder.dataflow():
            whole = builder.emit(relax.op.astype(weight, "int64"))
            index = builder.emit(relax.op.clip(whole, 0, 3))
            result = builder.emit_output(relax.op.take(x, index, axis=0, mode="fast"))
        builder.emit_func_output(result)
    module = builder.finalize()
    lifted = relax.transform.LiftTransformParams()(module)
    source = (module, str(tvm.ir.save_json(module)))
    problems = set()
    for seed in range(6):
        given = Original(lifted, str(tvm.ir.save_json(lifted)), seed, Given(), source=lambda: source)
        (entry,) = [each for each in given.entries if each.symbol == "main"]
        in_range = all(0 <= int(number) <= 3 for number in entry.arguments[1])
        assert entry.problem == ("" if in_range else DRAWN_ANEW)
        problems.add(entry.problem)
    assert DRAWN_ANEW in problems
