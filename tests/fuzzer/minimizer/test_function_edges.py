"""Parameters, conditions, purity and local functions: what functions are made of beside their bindings."""

from __future__ import annotations

import pytest
import samples
import tvm
from reduced import candidates
from tvm import relax

from fuzzer.minimizer.reductions.branches import conditions
from fuzzer.minimizer.reductions.functions import local_functions, purity, same_params, tuple_params
from fuzzer.minimizer.reductions.values import constants
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.params import add_param, can_add
from relaxkit.ir.sketch.sketch import bindings_of, take
from relaxkit.ir.sketch.slots import Substitute, drop, slots_of

op = relax.op


def with_pair() -> tvm.IRModule:
    """A private function of a tuple and what calls it with one."""
    builder = relax.BlockBuilder()
    x = samples.var("x", 3)
    pair = relax.Var("pair", relax.TupleType([x.ty, x.ty]))
    with builder.function("helper", [pair], private=True):
        helper = builder.emit_func_output(builder.emit(op.exp(builder.emit(relax.TupleGetItem(pair, 1)))))
    y = samples.var("y", 3)
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(tvm.ir.Call(helper, [relax.Tuple([x, y])])))
    return builder.finalize()


def test_a_tuple_parameter_becomes_several_and_so_do_arguments() -> None:
    (only,) = candidates(tuple_params, with_pair())
    assert [type(param.ty) for param in only["helper"].params] == [relax.TensorType] * 2
    assert len(only["main"].body.blocks[0].bindings[0].value.args) == 2


def test_two_parameters_of_a_type_become_one() -> None:
    (only,) = candidates(same_params, with_pair())
    assert len(only["main"].params) == 1


def test_a_condition_becomes_a_parameter_or_a_constant() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3)
    with builder.function("main", [x]):
        condition = builder.emit(op.less(builder.emit(op.sum(x)), relax.const(0.0)))
        branch = relax.SeqExpr([], x)
        builder.emit_func_output(builder.emit(relax.If(condition, branch, branch)))
    found = list(candidates(conditions, builder.finalize()))
    assert [len(item["main"].params) for item in found] == [2, 1, 1]
    assert list(candidates(conditions, samples.branches())) == []  # a parameter already


def test_an_impure_function_becomes_pure_where_it_can() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3)
    with builder.function("main", [x], pure=False):
        builder.emit_func_output(builder.emit(op.exp(x)))
    with builder.function("other", [x], pure=False):
        builder.emit(op.print(x, format="{}"))
        builder.emit_func_output(x)
    (only,) = candidates(purity, builder.finalize())
    assert [bool(only[name].is_pure) for name in ("main", "other")] == [True, False]


def test_a_local_function_loses_attributes_and_parameters_with_their_arguments() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3)
    with builder.function("main", [x]):
        p, q = samples.var("p", 3), samples.var("q", 3)
        body = relax.Var("b", p.ty)
        block = relax.BindingBlock([relax.VarBinding(body, op.exp(p))])
        local = relax.Function([p, q], relax.SeqExpr([block], body), p.ty).with_attr("Composite", "some.exp")
        closure = builder.emit(local)
        builder.emit_func_output(builder.emit(tvm.ir.Call(closure, [x, x])))
    module = builder.finalize()
    first, second = candidates(local_functions, module)
    assert "Composite" not in first.script()
    assert "Composite" in second.script()
    call = second["main"].body.blocks[0].bindings[1].value
    assert len(call.args) == 1
    assert bindings_of(second) == bindings_of(module)


def test_a_parameter_can_be_added_to_what_others_call() -> None:
    module = samples.private_symbolic()
    sketch = take(module)
    called = uses.callers(sketch)
    (index,) = [
        place
        for place, slot in enumerate(slots_of(sketch))
        if slot.function == "helper" and slot.binding.value.op.name == "relax.full"
    ]
    assert not can_add(sketch, "helper", sketch.functions["helper"].params[0].ty, called)  # of a dim of its own
    assert can_add(sketch, "helper", samples.var("x", 3).ty, called)
    add_param(sketch, "helper", samples.var("x", 3))
    smaller = emit(sketch)
    assert [len(smaller[name].params) for name in ("helper", "main", "other")] == [2, 2, 2]
    with pytest.raises(Invalid):  # no constant fits either
        drop(take(module), [index], Substitute.PARAMETER)


def test_a_constant_of_a_private_function_becomes_a_parameter_of_its_caller() -> None:
    builder = relax.BlockBuilder()
    with builder.function("helper", [], private=True):
        helper = builder.emit_func_output(relax.const([1.0, 2.0], "float32"))
    with builder.function("main", [samples.var("x", 2)]):
        builder.emit_func_output(builder.emit(tvm.ir.Call(helper, [])))
    first = next(candidates(constants, builder.finalize()))
    assert [len(first[name].params) for name in ("helper", "main")] == [1, 2]
