"""Gradient's arguments: of the module they are drawn for, and rebuilt from their text."""

from __future__ import annotations

import random

import tvm
from tvm import relax

from strategies.constructs.differentiable import Loss, differentiable_operators, draw_gradient, loss_of
from strategies.constructs.losses import draw_loss
from strategies.detect.module_facts import facts_of
from strategies.scope.choices import Choices
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, ModuleFrame
from strategies.scope.from_bytes import draws_of
from strategies.scope.scope import Scope

FLOAT, INT = relax.TensorType((2, 3), "float32"), relax.TensorType((2,), "int64")


def module(dataflow=True, tuple_result=False, operator=relax.op.exp):
    bb = relax.BlockBuilder()
    x, i = relax.Var("x", FLOAT), relax.Var("i", INT)
    with bb.function("f", [x, i]):
        if dataflow:
            with bb.dataflow():
                total = bb.emit_output(relax.op.sum(bb.emit(operator(x))))
        else:
            total = bb.emit(relax.op.sum(bb.emit(operator(x))))
        bb.emit_func_output(relax.Tuple([x, total]) if tuple_result else total)
    return bb.finalize()


def test_a_loss_is_known_by_its_form():
    assert loss_of("f", module()["f"]) == Loss("f", ("x",), (0,), True, True)
    assert loss_of("f", module(tuple_result=True)["f"]).targets == (1,)
    assert loss_of("f", module(dataflow=False)["f"]) is None
    assert not loss_of("f", module(operator=relax.op.floor)["f"]).differentiable
    assert facts_of(module()).losses == (Loss("f", ("x",), (0,), True, True),)


def test_operators_with_a_gradient_are_those_of_the_registry():
    names = differentiable_operators()
    assert {"relax.add", "relax.matmul", "relax.nn.conv2d"} <= names
    assert not {"relax.floor", "relax.gather_nd"} & names


def test_drawn_arguments_build_and_differentiate():
    seen = set()
    for number in range(24):
        choices = Choices(draws_of(random.Random(number)))
        made = module(tuple_result=bool(number % 2))
        text = draw_gradient(choices, facts_of(made).losses, ("f",))
        after = eval(text, {"tvm": tvm, "relax": relax})(made)
        gradients = after["f_adjoint"].body.body.fields[1].fields
        seen.add(len(gradients))
        assert str(gradients[0].ty.dtype) == "float32"
    assert seen == {1, 2}  # by the float parameter, or by all


def test_without_a_loss_the_name_of_a_function_is_drawn():
    assert draw_gradient(Choices(draws_of(random.Random(1))), (), ("main",)) == 'relax.transform.Gradient("main")'


def test_drawn_losses_are_well_formed_and_mostly_differentiable():
    fine = 0
    for number in range(20):
        source = draws_of(random.Random(number))
        frame = ModuleFrame(relax.BlockBuilder(), frozenset({Feature.TUPLES, Feature.CONSTANTS}), True)
        scope = Scope(source, frame, FunctionFrame())
        with frame.builder_scope():
            draw_loss(scope, 1 + number % 4)
        made = frame.builder.get()
        assert relax.analysis.check_well_formed(made)
        (loss,) = facts_of(made).losses
        assert loss.parameters
        fine += loss.differentiable
    assert fine >= 16
