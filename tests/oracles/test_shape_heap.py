"""The claims on the shape heap: what the pass gives is right, and each way to misuse a slot is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relax, tirx

from relaxkit.passes.claims.shape_heap import heap_misused, shapes_differ, symbolic_shapes_left
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.plan import preparing


def applied(module: Any, *names: str) -> Any:
    with tvm.target.Target("llvm"):
        for name in names:
            module = preparing(name).build()(module)
    return module


@pytest.fixture(scope="module")
def before() -> Any:
    """Dims of the signature, arithmetic on them, and one that a cast brings, in a branch."""
    bb = relax.BlockBuilder()
    n, m, k = (tirx.Var(name, "int64") for name in "nmk")
    x, y = (
        relax.Var("x", relax.TensorType((n, m), "float32")),
        relax.Var("y", relax.TensorType(None, "float32", ndim=1)),
    )
    c = relax.Var("c", relax.TensorType((), "bool"))
    with bb.function("main", [x, y, c]):
        a = bb.emit(relax.op.reshape(x, relax.ShapeExpr([n * m])))
        b = bb.emit(relax.op.concat([a, a], axis=0))
        z = bb.match_cast(y, relax.TensorType((k,), "float32"))
        d = bb.emit(relax.op.concat([b, z], axis=0))
        bb.emit_func_output(bb.emit(relax.op.exp(d)))
    return applied(bb.finalize(), *CONTRACTS["VMShapeLower"].prepare)


@pytest.fixture(scope="module")
def after(before: Any) -> Any:
    return applied(before, "VMShapeLower")


def test_lowered_shapes_are_right(before: Any, after: Any) -> None:
    ran = Ran(before, after, {})
    assert (symbolic_shapes_left(ran), heap_misused(ran), shapes_differ(ran)) == ("", "", "")


def test_a_copy_of_the_input_has_other_variables(before: Any, after: Any) -> None:
    copy = tvm.ir.load_json(tvm.ir.save_json(before))
    assert shapes_differ(Ran(copy, after, {})) == ""


def test_a_second_run_makes_a_heap_of_its_own(after: Any) -> None:
    ran = Ran(after, applied(after, "VMShapeLower"), {})
    assert (symbolic_shapes_left(ran), heap_misused(ran), shapes_differ(ran)) == ("", "", "")


def test_symbolic_shapes_are_seen(before: Any) -> None:
    assert symbolic_shapes_left(Ran(before, before, {})).startswith("a symbolic shape is left")
    assert shapes_differ(Ran(before, before, {})).startswith("a symbolic shape is not made")


def changed(module: Any, builtin: str, change: Callable[[list[Any]], list[Any]], which: int = 0) -> Any:
    """The module with the arguments of one call of a builtin in main changed; no arguments leave the call out."""
    main = module["main"]
    seen = 0
    blocks = []
    for block in main.body.blocks:
        bindings = []
        for binding in block.bindings:
            value = binding.value
            if isinstance(getattr(value, "op", None), relax.ExternFunc) and value.op.global_symbol == builtin:
                seen += 1
                if seen == which + 1:
                    arguments = change(list(value.args))
                    if not arguments:
                        continue
                    value = relax.Call(value.op, arguments, value.attrs, value.ty_args)
                    binding = relax.VarBinding(binding.var, value)
            bindings.append(binding)
        blocks.append(relax.BindingBlock(bindings))
    assert seen > which
    body = relax.SeqExpr(blocks, main.body.body)
    new = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    functions = {var: function for var, function in module.functions_items() if var.name_hint != "main"}
    return tvm.IRModule({**functions, module.get_global_var("main"): new})


def number(value: int) -> Any:
    return tirx.IntImm("int64", value)


def test_slot_that_is_never_written(before: Any, after: Any) -> None:
    gone = changed(after, "vm.builtin.match_shape", lambda arguments: [])
    assert heap_misused(Ran(before, gone, {})).startswith("a slot of the shape heap is read before it is written")


def test_slot_beyond_the_heap(before: Any, after: Any) -> None:
    def beyond(arguments: list[Any]) -> list[Any]:
        return [*arguments[:4], number(99), *arguments[5:]]

    assert heap_misused(Ran(before, changed(after, "vm.builtin.match_shape", beyond), {})) != ""


def test_shape_of_other_slots(before: Any, after: Any) -> None:
    def next_slot(arguments: list[Any]) -> list[Any]:
        return [*arguments[:3], number((int(arguments[3].value) + 1) % 3), *arguments[4:]]

    wrong = changed(after, "vm.builtin.make_shape", next_slot)
    assert heap_misused(Ran(before, wrong, {})) == ""
    assert shapes_differ(Ran(before, wrong, {})).startswith("a shape is made of other numbers")


def test_immediate_instead_of_a_slot(before: Any, after: Any) -> None:
    def immediate(arguments: list[Any]) -> list[Any]:
        return [*arguments[:2], number(0), *arguments[3:]]

    assert shapes_differ(Ran(before, changed(after, "vm.builtin.make_shape", immediate), {})) != ""
