from __future__ import annotations

import pytest
import sample_modules as samples
import tvm
from tvm import relax
from verdict_rows import captured, tensor

from oracles.core.subject import Subject
from relaxkit.ir import functions, walk
from relaxkit.passes import preconditions
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.preconditions import needs_transform_params, no_cuda_graphs
from strategies.scope.choices import Choices
from strategies.seeds.replacements import draw_alteration


def test_private_call_depth() -> None:
    assert functions.private_call_depth(samples.dataflow()) == 0
    assert functions.private_call_depth(samples.private_calls()) == 1
    assert functions.private_call_depth(samples.private_chain(3)) == 3
    assert functions.private_call_depth(samples.recursive()) == 0  # main is public


def test_num_input() -> None:
    assert preconditions.needs_num_input(samples.dataflow()) == "no function with num_input"
    module = samples.weights()
    assert preconditions.needs_num_input(module) is None
    assert preconditions.valid_num_input(module) is None
    (var,) = module.get_global_vars()
    module.update_func(var, module[var].with_attr("num_input", 5))
    assert preconditions.valid_num_input(module) == "num_input exceeds the parameters"


def test_transform_params() -> None:
    assert preconditions.needs_transform_params(samples.weights()) == "no transform_params function"
    assert preconditions.needs_transform_params(samples.transform_params_of_nested_call()) is None


def test_vdevices() -> None:
    assert preconditions.needs_vdevices(samples.vdevices()) is None
    assert preconditions.needs_vdevices(samples.dataflow()) == "no vdevice in global_infos"


def test_library_prefix() -> None:
    module = samples.dataflow()
    assert preconditions.no_library_prefix(module) is None
    prefixed = module.with_attr("system_lib_prefix", "lib_")
    assert preconditions.no_library_prefix(prefixed) == "has a system_lib_prefix"


def test_what_lazy_get_input_made_of_a_transform_is_outside_the_contract() -> None:
    block = relax.BlockBuilder()
    weights = relax.Var("weights", relax.TupleType([relax.TensorType((2,), "float32")]))
    with block.function("main_transform_params", [weights]):
        block.emit_func_output(weights)
    module = block.finalize()
    assert preconditions.needs_transform_params(module) is None
    lazy = relax.transform.LazyGetInput()(module)
    assert preconditions.needs_transform_params(lazy) == "the transform function takes a callback"


def test_blocks_side_by_side_are_joined_by_the_first_pass() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    y, z = (relax.Var(name, relax.TensorType((2,), "float32")) for name in "yz")
    first = relax.DataflowBlock([relax.VarBinding(y, relax.op.exp(x))])
    second = relax.DataflowBlock([relax.VarBinding(z, relax.op.exp(y))])
    body = relax.SeqExpr([first, second], z)
    function = relax.Function([x], body, relax.TensorType((2,), "float32")).with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": function})
    assert walk.joinable_blocks(module) == 1
    assert walk.joinable_blocks(relax.transform.Normalize()(module)) == 0
    assert walk.joinable_blocks(samples.dataflow()) == 0


ALTERABLE = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def te_add_one(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"operator_name": "te_add_one.float32.4"})
        for i in range(4):
            with T.sblock("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
"""
PLAIN = """
        gv = R.call_tir(cls.te_add_one, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        return gv
"""
BRANCHED = """
        if c:
            gv = R.call_tir(cls.te_add_one, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        else:
            gv = x
        return gv
"""


@pytest.mark.parametrize("body", [PLAIN, BRANCHED])
def test_altered_kernels_are_known_wherever_they_are_called(body: str) -> None:
    """AlterOpImpl was blamed for maps of five dims on its own replacement of six, with LegalizeOps between them."""
    module = tvm.script.from_source(ALTERABLE + body)
    made, layouts = draw_alteration(Choices(lambda _: bytes(8)), "te_add_one.float32.4")
    name = '"te_add_one.float32.4"'
    alter = PassRef("AlterOpImpl", f"relax.transform.AlterOpImpl({{{name}: {made}}}, {{{name}: {layouts}}})").build()
    assert preconditions.no_altered_kernels(module) is None
    altered = alter(module)
    assert preconditions.no_altered_kernels(altered) == "kernels are altered already"
    legalized = relax.transform.LegalizeOps()(altered)
    assert "layout_transform(" not in legalized["main"].script()
    assert preconditions.no_altered_kernels(legalized) == "kernels are altered already"


def transform(parameters):
    builder = relax.BlockBuilder()
    with builder.function("main_transform_params", parameters):
        builder.emit_func_output(relax.Tuple([]))
    return builder.finalize()


def test_a_transform_without_weights_is_outside_the_lazy_contract():
    assert needs_transform_params(transform([])) == "the transform function takes nothing"
    rank = relax.Var("rank", tvm.ir.PrimType("int64"))
    assert needs_transform_params(transform([rank])) == "the transform function takes nothing"
    assert needs_transform_params(transform([relax.Var("w", tensor([2]))])) is None


def test_what_has_cuda_graphs_is_not_captured_again():
    assert no_cuda_graphs(samples.dataflow()) is None
    graphs = Subject(samples.dataflow(), [captured()]).output_module
    assert no_cuda_graphs(graphs) == "has CUDA graphs already"


@pytest.mark.parametrize(("alias", "refused"), [(False, False), (True, True)])
def test_what_is_killed_must_have_one_name_for_kill_after_last_use(alias: bool, refused: bool) -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType([2], "float32"))
    with builder.function("main", [x], pure=False):
        made = builder.emit(relax.op.builtin.alloc_tensor(relax.ShapeExpr([2]), "float32", 0))
        result = builder.emit(made) if alias else builder.emit(relax.op.negative(made))
        builder.emit(relax.op.memory.kill_tensor(made))
        builder.emit_func_output(result)
    said = preconditions.nothing_killed_has_two_names(builder.get())
    assert (said is not None) is refused
