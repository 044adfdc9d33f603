"""No reduction is slow on a large module: candidates are computed while a query's worker waits."""

from __future__ import annotations

import time

import samples
import tvm
from tvm import relax

from fuzzer.minimizer.propose import facts, propose
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.search.messages import ProposalRequest
from relaxkit.ir.sketch.sketch import bindings_of

op = relax.op
_SECONDS = 2.0  # of the processor; 0.6 was measured for the slowest


def large() -> tvm.IRModule:
    """Two hundred and twenty bindings with a symbolic dim, tuples, constants, and twenty outputs."""
    builder = relax.BlockBuilder()
    x, w = samples.var("x", tvm.tirx.Var("n", "int64"), 4), samples.var("w", 4, 8)
    with builder.function("main", [x, w]):
        with builder.dataflow():
            outputs, value = [], x
            for _ in range(20):
                total = builder.emit(op.add(samples.chain(builder, value, 6), x))
                scaled = builder.emit(op.multiply(total, relax.const([1.0, 2.0, 3.0, 4.0], "float32")))
                pair = builder.emit(relax.Tuple([total, scaled]))
                value = builder.emit(relax.TupleGetItem(pair, 1))
                outputs.append(builder.emit_output(op.matmul(value, w)))
        builder.emit_func_output(relax.Tuple(outputs))
    return builder.finalize()


def test_candidates_of_a_large_module_come_quickly() -> None:
    module = large()
    assert bindings_of(module) == 220
    text = str(tvm.ir.save_json(module))
    hazards = facts(text).hazards
    slow = {}
    for index, reduction in enumerate(REDUCTIONS):
        begun = time.process_time()
        propose(ProposalRequest(text, index, hazards=hazards))
        took = time.process_time() - begun
        if took > _SECONDS:
            slow[reduction.name] = took
    assert not slow
