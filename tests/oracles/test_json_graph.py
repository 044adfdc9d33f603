"""A module's JSON in memory is what its text says."""

from __future__ import annotations

import pytest
import sample_modules as samples
import tvm
from tvm import relax

from relaxkit.ir.equality import graph_of, same_graph, text_of


@pytest.mark.parametrize("build", samples.MODULES.values(), ids=list(samples.MODULES))
def test_the_text_of_a_graph_is_what_tvm_saves(build):
    module = build()
    assert text_of(graph_of(module)) == str(tvm.ir.save_json(module))


def test_a_graph_stays_when_the_module_changes():
    module = samples.dataflow()
    before, text = graph_of(module), str(tvm.ir.save_json(module))
    (var, function), *_ = module.functions_items()
    module.update_func(var, function.with_attr("visited", 1))
    assert text_of(before) == text
    assert not same_graph(before, graph_of(module))
    assert same_graph(graph_of(module), graph_of(module))


@pytest.mark.parametrize(("left", "right"), [(0.0, -0.0), (1.0, 2.0)])
def test_constants_that_differ_are_seen(left, right):
    def made(number):
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType([], "float64"))
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(number, "float64"))))
        return graph_of(builder.finalize())

    assert not same_graph(made(left), made(right))
    assert same_graph(made(left), made(left))
