"""Mutators take a variable for what is replaced, on whichever release is installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tvm import relax

from relaxkit.compat.shims import _by_variable


@relax.expr_functor.mutator
class Renamer(relax.PyExprMutator):
    def visit_var_binding_(self, binding: Any) -> None:
        renamed = self.builder_.emit(self.visit_expr(binding.value), "renamed")
        self.set_var_remap(binding.var, renamed)
        assert self.get_var_remap(binding.var).same_as(renamed)


def test_uses_of_a_variable_are_replaced() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType([2], "float32"))
    with builder.function("main", [x]):
        first = builder.emit(relax.op.abs(x), "first")
        builder.emit_func_output(builder.emit(relax.op.exp(first), "second"))
    changed = Renamer().visit_expr(builder.get()["main"])
    (block,) = changed.body.blocks
    assert [each.var.name.startswith("renamed") for each in block.bindings] == [True, True]
    assert block.bindings[1].value.args[0].same_as(block.bindings[0].var)


def test_an_identity_is_what_the_older_one_gets() -> None:
    got = []
    remap = _by_variable(lambda self, vid, *new: got.append((vid, *new)))
    remap(None, SimpleNamespace(vid="id of x"), "y")
    remap(None, "id of x")
    assert got == [("id of x", "y"), ("id of x",)]
