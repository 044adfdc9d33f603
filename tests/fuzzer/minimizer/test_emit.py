from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import samples
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import bindings_of, take


@pytest.mark.parametrize("make", samples.ALL)
@pytest.mark.parametrize("lowered", [False, True])
def test_emission_of_an_unedited_sketch_is_the_same_module(make: Callable[[], Any], lowered: bool) -> None:
    module = make()
    if lowered:
        module = relax.transform.LegalizeOps()(module)
    tvm.ir.assert_structural_equal(emit(take(module)), module)


@pytest.mark.parametrize("make", samples.ALL)
def test_a_sketch_can_be_edited_without_touching_the_module(make: Callable[[], Any]) -> None:
    module = make()
    before = tvm.ir.save_json(module)
    sketch = take(module).copy()
    for func in sketch.relax_functions().values():
        func.body.blocks.clear()
        func.params.clear()
    assert tvm.ir.save_json(module) == before


def test_types_are_inferred_again_behind_an_edit() -> None:
    module = samples.two_functions()
    sketch = take(module)
    sketch.retype.dims = {4: 2, 8: 3}
    smaller = emit(sketch)
    assert [int(dim) for dim in smaller["main"].ret_ty.fields[0].shape] == [3, 3]
    assert [str(dim) for dim in smaller["other"].ret_ty.fields[1].shape.values] == ["T.int64(5)", "T.int64(3)"]


def test_inconsistent_types_are_invalid() -> None:
    sketch = take(samples.two_functions())
    main = sketch.functions["main"]
    sketch.aliases[main.params[1]] = main.params[0]  # matmul of (3, 4) by (3, 4)
    del main.params[1]
    with pytest.raises(Invalid):
        emit(sketch)


@pytest.mark.parametrize("edit", [{"dtypes": {"float16": "float32"}}, {"dims": {4: 3}}])
def test_a_kernel_that_is_called_with_other_types_is_invalid(edit: dict[str, Any]) -> None:
    sketch = take(samples.kernels())
    for name, value in edit.items():
        setattr(sketch.retype, name, value)
    with pytest.raises(Invalid, match="ill formed"):
        emit(sketch)


def test_a_condition_that_is_not_a_bool_is_invalid() -> None:
    sketch = take(samples.branches())
    sketch.retype.dtypes = {"bool": "float32"}
    with pytest.raises(Invalid, match="not a bool"):
        emit(sketch)


def test_a_closure_that_is_a_tensor_is_invalid() -> None:
    builder = relax.BlockBuilder()
    x, closure = relax.Var("x", relax.TensorType((2,), "int64")), relax.Var("closure", relax.ObjectType())
    with builder.function("main", [x, closure]):
        builder.emit_func_output(builder.emit(relax.op.invoke_pure_closure(closure, relax.Tuple([x]), x.ty)))
    sketch = take(builder.get())
    emit(sketch)
    sketch.aliases[closure] = sketch.functions["main"].params.pop(0)
    sketch.functions["main"].params[:] = [sketch.aliases[closure]]
    with pytest.raises(Invalid, match="not for the operator"):
        emit(sketch)


def test_a_var_that_nothing_binds_is_invalid() -> None:
    sketch = take(samples.two_functions())
    del sketch.functions["main"].params[0]
    with pytest.raises(Invalid, match="not bound"):
        emit(sketch)


def test_a_shape_that_nothing_binds_is_invalid() -> None:
    builder = relax.BlockBuilder()
    x, shape = relax.Var("x", relax.TensorType((2,), "float32")), relax.Var("shape", relax.ShapeType(ndim=1))
    with builder.function("main", [x, shape]):
        builder.emit_func_output(builder.emit(relax.op.reshape(x, shape)))
    sketch = take(builder.get())
    main = sketch.functions["main"]
    (binding,) = main.body.blocks[0].bindings
    assert binding.var.ty.shape.same_as(main.params[1])
    main.params[:] = [binding.var]  # as where a value becomes a parameter and what it was made of goes
    main.body.blocks.clear()
    main.body.result = binding.var
    with pytest.raises(Invalid, match="shape is not bound"):
        emit(sketch)
    shape = sketch.aliases[binding.var.ty.shape] = relax.Var("s", relax.ShapeType(ndim=1))
    main.params.insert(0, shape)
    with pytest.raises(Invalid, match="shape is another parameter"):
        emit(sketch)


def test_a_negative_dim_is_invalid() -> None:
    builder = relax.BlockBuilder()
    x, w = (
        relax.Var("x", relax.TensorType((1, 1, 4), "float32")),
        relax.Var("w", relax.TensorType((1, 1, 2), "float32")),
    )
    with builder.function("main", [x, w]):
        wide = builder.emit(relax.op.nn.conv1d(x, w, padding=1, dilation=3))
        builder.emit_func_output(builder.emit(relax.op.nn.conv1d(wide, w, dilation=2)))
    sketch = take(builder.get())
    first, second = sketch.functions["main"].body.blocks[0].bindings
    sketch.aliases[first.var] = relax.const([[[1.0]]], "float32")
    del sketch.functions["main"].body.blocks[0].bindings[0]
    with pytest.raises(Invalid, match="a negative dim"):
        emit(sketch)
    assert second.value.args[0].same_as(first.var)


def test_a_cast_that_no_value_passes_is_invalid() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(None, "float32", ndim=2))
    with builder.function("main", [x]):
        cast = builder.match_cast(builder.emit(relax.op.sum(x, axis=[0])), relax.TensorType((3,), "float32"))
        builder.emit_func_output(cast)
    module = builder.get()
    sketch = take(module)
    summed, cast_binding = sketch.functions["main"].body.blocks[0].bindings
    sketch.aliases[summed.var] = sketch.functions["main"].params[0]  # of rank 2
    del sketch.functions["main"].body.blocks[0].bindings[0]
    with pytest.raises(Invalid, match="no value passes"):
        emit(sketch)
    cast_binding.value = relax.const([1.0, 1.0, 1.0], "float32")
    assert "match_cast" in emit(sketch).script()


def test_a_dataflow_var_that_is_needed_outside_becomes_an_output() -> None:
    sketch = take(samples.two_functions())
    body = sketch.functions["main"].body
    inner = next(item.var for item in body.bindings() if isinstance(item.var, relax.DataflowVar))
    body.result = inner
    assert not isinstance(emit(sketch)["main"].body.body, relax.DataflowVar)


def test_canonical_names_change_names_only() -> None:
    module = samples.private_symbolic()
    sketch = take(module)
    sketch.rename = True
    renamed = emit(sketch)
    assert tvm_ffi.structural_equal(renamed, module)
    assert [str(param.name) for param in renamed["other"].params] == ["x", "x1"]


def test_bindings_are_counted_in_branches_too() -> None:
    assert bindings_of(samples.branches()) == 10
