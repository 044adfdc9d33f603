"""Every reduction on every sample: candidates are well-formed, keys ascend, nothing raises."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import samples
import tvm
from recursive_sample import Mutual
from reduced import candidates, functions_of, operators_of
from tvm import relax

from fuzzer.minimizer import reductions
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.reductions.attributes import attributes, vdevices
from fuzzer.minimizer.reductions.bindings import bindings, projections, unused
from fuzzer.minimizer.reductions.branches import blocks, branches, if_types
from fuzzer.minimizer.reductions.dims import dims
from fuzzer.minimizer.reductions.functions import cut, function_names, functions, inline, names, outputs
from fuzzer.minimizer.reductions.reduction import Reduction
from fuzzer.minimizer.reductions.values import constants, dtypes, operators
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.params import remove_param
from relaxkit.ir.sketch.sketch import bindings_of, take


@pytest.mark.parametrize("make", samples.ALL)
@pytest.mark.parametrize("reduction", dict.fromkeys(REDUCTIONS), ids=lambda item: item.name)
def test_candidates_are_well_formed_and_in_order(reduction: Reduction, make: Callable[[], Any]) -> None:
    module = make()
    before = tvm.ir.save_json(module)
    keys = [key for key, _ in reduction.edits(take(module))]
    assert keys == sorted(keys)
    for candidate in candidates(reduction, module):
        assert relax.analysis.check_well_formed(candidate)
        assert bindings_of(candidate) <= bindings_of(module) + 8  # inlining copies a body at most
    assert tvm.ir.save_json(module) == before


def test_unused_code_goes_in_one_step() -> None:
    builder = relax.BlockBuilder()
    x, y = samples.var("x", 2, 2), samples.var("y", 2, 2)
    with builder.function("helper", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    x = samples.var("x", 2, 2)
    with builder.function("main", [x, y]):
        builder.emit(relax.op.tanh(builder.emit(relax.op.exp(x))))
        builder.emit_func_output(x)
    first = next(candidates(unused, builder.finalize()))
    assert functions_of(first) == ["main"]
    assert bindings_of(first) == 0
    assert len(first["main"].params) == 1


def test_what_binds_a_dim_stays() -> None:
    builder = relax.BlockBuilder()
    n, k = tvm.tirx.Var("n", "int64"), tvm.tirx.Var("k", "int64")
    x, y = relax.Var("x", relax.TensorType(dtype="float32", ndim=1)), samples.var("y", k)
    with builder.function("main", [x, y, samples.var("z", 3)]):
        builder.match_cast(x, relax.TensorType((n,), "float32"))
        builder.emit(relax.op.exp(y))
        builder.emit_func_output(builder.emit(relax.op.zeros(relax.ShapeExpr([n, k]), "float32")))
    first = next(candidates(unused, builder.finalize()))
    assert bindings_of(first) == 2
    assert [str(param.name) for param in first["main"].params] == ["x", "y"]


def test_a_parameter_goes_together_with_its_arguments_and_num_input() -> None:
    module = samples.rank_only_weight()
    sketch = take(module)
    remove_param(sketch, "main", 0)
    assert int(sketch.functions["main"].attrs["num_input"]) == 0


def test_a_function_goes_and_a_parameter_stands_for_its_call() -> None:
    module = samples.private_symbolic()
    found = [item for item in candidates(functions, module) if functions_of(item) == ["main", "other"]]
    assert found
    assert len(found[0]["main"].params) == 2


def test_a_function_ends_early() -> None:
    module = samples.transposed_output()
    sizes = [bindings_of(item) for item in candidates(cut, module)]
    assert min(sizes) < bindings_of(module) - 5


def test_outputs_are_dropped_and_unwrapped() -> None:
    returned = [item["main"].ret_ty for item in candidates(outputs, samples.guarded_log())]
    tuples = [len(item.fields) for item in returned if isinstance(item, relax.TupleType)]
    assert sorted(set(tuples)) == [1, 2]
    assert [len(item.shape) for item in returned if isinstance(item, relax.TensorType)] == [1, 2]


def test_all_bindings_can_go() -> None:
    module = samples.two_functions()
    assert min(bindings_of(item) for item in candidates(bindings, module)) == 0


def test_a_branch_takes_the_place_of_the_if() -> None:
    found = [operators_of(item) for item in candidates(branches, samples.branches())]
    assert ["relax.add", "relax.exp"] in found
    assert ["relax.add", "relax.add", "relax.exp", "relax.sin"] in found


def test_an_if_of_an_unknown_shape_gets_the_one_of_its_branches() -> None:
    """TVM's parser infers it."""
    x, c = samples.var("x", 2), relax.Var("c", relax.TensorType((), "bool"))
    vague = relax.TensorType(dtype="float32", ndim=1)
    chosen = relax.If(c, relax.SeqExpr([], x), relax.SeqExpr([], x))
    relax.expr._update_type(chosen, vague)
    result = relax.Var("lv", vague)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, chosen)])], result)
    main = relax.Function([x, c], body, vague).with_attr("global_symbol", "main")
    (found,) = candidates(if_types, tvm.IRModule({"main": main}))
    tvm.ir.assert_structural_equal(found["main"].body.blocks[0].bindings[0].var.ty, x.ty)
    tvm.ir.assert_structural_equal(tvm.script.from_source(found.script()), found)


def test_a_local_function_is_inlined() -> None:
    module = samples.branches()
    assert any(
        not any(isinstance(slot.value, relax.Function) for block in item["main"].body.blocks for slot in block.bindings)
        for item in candidates(branches, module)
    )


def nested_functions() -> Any:
    """Return a module with a local function in a local function; nothing calls either."""
    return tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def outer(y: R.Tensor((2,), "float16")) -> R.Tensor((2,), "float16"):
            @R.function
            def inner() -> R.Tensor((2,), "float16"):
                lv = R.exp(y)
                return lv
            return y
        return x
""")


def local_functions_of(module: Any) -> int:
    found: list[Any] = []
    relax.analysis.post_order_visit(module["main"], found.append)
    return sum(isinstance(each, relax.Function) for each in found) - 1


def test_the_body_of_a_local_function_that_nothing_calls_takes_its_place() -> None:
    outer, inner = candidates(branches, nested_functions())
    for module in (outer, inner):
        assert local_functions_of(module) == 1
        assert operators_of(module) == ["relax.exp"]
    assert [str(param.ty.dtype) for param in outer["main"].params] == ["float32", "float16"]
    (plain,) = candidates(branches, outer)
    assert local_functions_of(plain) == 0
    assert operators_of(plain) == ["relax.exp"]


def test_tuples_are_seen_through() -> None:
    module = samples.kernels()
    first = next(candidates(projections, module))
    assert bindings_of(first) == bindings_of(module) - 2  # a projection of a known tuple, and a copy


def test_a_private_function_is_inlined_with_its_symbolic_dims() -> None:
    (only,) = candidates(inline, samples.private_symbolic())
    assert functions_of(only) == ["main", "other"]
    assert "relax.full" in operators_of(only)


def test_what_a_kernel_calls_stays_as_long_as_the_kernel() -> None:
    module = samples.kernel_in_kernel()
    smaller = [each for reduction in REDUCTIONS for each in candidates(reduction, module)]
    assert any("Module.added(" in each.script() and "idle" not in functions_of(each) for each in smaller)
    assert not any("= added(" in each.script() for each in smaller)


def test_every_reduction_is_tried() -> None:
    files = pkgutil.iter_modules(reductions.__path__, f"{reductions.__name__}.")
    defined = [vars(importlib.import_module(file.name)).values() for file in files]
    assert {each for values in defined for each in values if isinstance(each, Reduction)} == set(REDUCTIONS)


def test_recursion_is_not_unrolled() -> None:
    (only,) = candidates(inline, Mutual)  # what is called in one place alone
    assert functions_of(only) == ["even", "main"]
    assert not [*candidates(inline, only)], "that calls itself"


def test_devices_and_attributes_go() -> None:
    (without,) = candidates(attributes, samples.typed_devices())
    assert not without.global_infos
    assert without["main"].params[0].ty.vdevice is None
    plain = list(candidates(attributes, samples.rank_only_weight()))
    assert any("num_input" not in item["main"].attrs for item in plain)


def test_devices_that_an_operator_names_stay() -> None:
    """Without the list TVMScript could not say which device is meant."""
    devices = [relax.VDevice("llvm", 0), relax.VDevice("llvm", 1)]
    builder = relax.BlockBuilder()
    x = samples.var("x", 2)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.to_vdevice(x, devices[1])))
    module = builder.finalize()
    module.update_global_info("vdevice", devices)
    assert all(item.global_infos for item in candidates(attributes, module))
    (only,) = candidates(vdevices, module)
    assert [int(item.vdevice_id) for item in only.global_infos["vdevice"]] == [1]


def test_a_device_that_nothing_mentions_goes() -> None:
    module = samples.typed_devices()
    module.update_global_info("vdevice", [*module.global_infos["vdevice"], relax.VDevice("llvm", 1)])
    (only,) = candidates(vdevices, module)
    assert [int(item.vdevice_id) for item in only.global_infos["vdevice"]] == [0]


def test_dims_shrink_and_symbolic_ones_become_static() -> None:
    module = samples.two_functions()
    texts = [item.script() for item in candidates(dims, module)]
    assert any("(n, 2)" in text or "(n, 3)" in text for text in texts)
    assert any("(n," not in text for text in texts)
    assert not any("(1," in text or " 1)" in text for text in texts)


def test_distinct_dims_stay_distinct_at_first() -> None:
    module = relax.transform.DeadCodeElimination(["main"])(samples.transposed_output())
    sketch = take(module)
    del sketch.functions["other"]
    first = next(candidates(dims, emit(sketch)))
    assert [int(dim) for param in first["main"].params for dim in param.ty.shape] == [2, 3, 4, 3]


def test_dtypes_become_float32() -> None:
    builder = relax.BlockBuilder()
    x, y = samples.var("x", 3, dtype="float16"), samples.var("y", 3, dtype="int32")
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.add(builder.emit(relax.op.astype(y, "float16")), x)))
    first = next(candidates(dtypes, builder.finalize()))
    assert "float16" not in first.script()
    assert "int32" not in first.script()


def test_a_condition_stays_bool() -> None:
    assert list(candidates(dtypes, samples.branches())) == []


def test_operators_become_plain() -> None:
    module = samples.two_functions()
    before = operators_of(module).count("relax.abs")
    found = [operators_of(item) for item in candidates(operators, module)]
    assert found
    assert all(item.count("relax.abs") == before + 1 for item in found)


def test_constants_become_parameters_or_ones() -> None:
    builder = relax.BlockBuilder()
    x = samples.var("x", 3)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(np.arange(3), "float32"))))
    first, second, third = candidates(constants, builder.finalize())
    assert [len(param.ty.shape) for param in first["main"].params] == [1, 1]
    assert "R.add(x, x)" in third.script()
    value = second["main"].body.blocks[0].bindings[0].value
    np.testing.assert_array_equal(value.args[1].value.numpy(), np.ones(3, "float32"))


def test_blocks_are_merged() -> None:
    found = list(candidates(blocks, samples.transposed_output()))
    assert [len(item["main"].body.blocks) for item in found] == [1, 1, 2, 2]


def test_dataflow_blocks_become_plain() -> None:
    kinds = [
        sum(isinstance(block, relax.DataflowBlock) for block in item["main"].body.blocks)
        for item in candidates(blocks, samples.guarded_log())
    ]
    assert kinds == [0, 1]  # of main in one function, which comes first, and of the other


def test_names_become_canonical() -> None:
    (only,) = candidates(names, samples.guarded_log())
    assert [str(param.name) for param in only["main"].params] == ["x", "x1"]


def test_functions_get_canonical_names() -> None:
    found = [functions_of(item) for item in candidates(function_names, samples.private_symbolic())]
    assert found[0] == ["f1", "f2", "main"]
    assert str(next(candidates(function_names, samples.two_functions()))["f1"].attrs["global_symbol"]) == "f1"


def test_the_table_of_meshes_stays_while_something_names_them() -> None:
    dist = relax.distributed
    mesh, ty = dist.DeviceMesh((2,), tvm.ir.Range(0, 2)), relax.TensorType((2,), "float32")
    spread = dist.Placement.from_text("S[0]")

    def module(parameter: Any, call: Callable[[Any], Any]) -> Any:
        builder, x = relax.BlockBuilder(), relax.Var("x", parameter)
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(call(x)))
        made = builder.get()
        made.update_global_info("mesh", [mesh])
        return made

    annotated = module(ty, lambda x: relax.op.distributed.annotate_sharding(x, mesh, spread))
    for needed in (annotated, module(dist.DTensorType(ty, mesh, spread), relax.op.abs)):
        assert all(item.global_infos for item in candidates(attributes, needed))
    assert not all(item.global_infos for item in candidates(attributes, module(ty, relax.op.abs)))
