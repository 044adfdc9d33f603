"""Modules in scripts: as text for people where an equal module comes back, else built node by node, else JSON."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.module.builder import Unsayable, building
from fuzzer.repro.module.source import literal_of, module_source
from fuzzer.repro.module.tvmscript import comes_back, plain_lines, shared_constants, shortest
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.short.before import as_read, source_of, sources_of
from relaxkit.ir.walk import places
from relaxkit.passes.pass_ref import namespace


def with_constant(array: np.ndarray[Any, Any]) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(array.shape, str(array.dtype)))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(array, str(array.dtype)))))
    return builder.finalize()


def unparsable() -> Any:
    """TVM 0.27's parser lacks what its printer prints of this operator."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            stride = relax.Call(tvm.ir.Op.get("relax.inspect.tensor_stride_i"), [x, tvm.tirx.IntImm("int64", 1)])
            result = builder.emit_output(stride)
        builder.emit_func_output(result)
    return builder.finalize()


BRANCHES = """
@I.ir_module
class Module:
    @R.function(private=True)
    def twice(x: R.Tensor(("n", 2), dtype="float32")) -> R.Tensor(("n", 2), dtype="float32"):
        n = T.int64()
        lv: R.Tensor((n, 2), dtype="float32") = R.add(x, x)
        return lv

    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((3, 2), dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        cls = Module
        if c:
            a: R.Tensor((3, 2), dtype="float32") = cls.twice(x)
            y: R.Tensor((3, 2), dtype="float32") = R.sum(a, axis=[1], keepdims=True)
        else:
            y: R.Tensor((3, 2), dtype="float32") = R.nn.relu(x)
        t: R.Tuple(R.Tensor((3, 2), dtype="float32"), R.Shape([3, 2])) = (x, R.shape([3, 2]))
        z: R.Tensor((3, 2), dtype="float32") = t[0]
        return z
""".replace("R.sum(a, axis=[1], keepdims=True)", "R.multiply(a, R.const(2.0, 'float32'))")


def test_floats_have_the_fewest_digits_that_give_them_back() -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.nn.rms_norm(x, relax.const(np.ones(3, "float32")), [-1], 1e-05)))
    module = builder.finalize()
    source = module_source(module)
    assert "epsilon=1e-05" in source.text
    assert tvm_ffi.structural_equal(load(source.text), module)
    assert shortest("x1.0000000000000001e-05, 0.5") == "x1.0000000000000001e-05, 0.5"


def test_small_constants_stand_where_they_are_used() -> None:
    module = with_constant(np.array([[1.5, 2.0], [-0.25, 0.1]], "float32"))
    source = module_source(module)
    assert source.is_script
    assert 'R.const([[1.5, 2.0], [-0.25, 0.1]], "float32")' in source.text
    assert "metadata" not in source.text
    tvm.ir.assert_structural_equal(load(source.text), module)


def test_a_large_constant_of_one_value_is_short() -> None:
    module = with_constant(np.full((8, 16, 4), 3, "int32"))
    source = module_source(module)
    assert 'R.const([[[3] * 4] * 16] * 8, "int32")' in source.text
    tvm.ir.assert_structural_equal(load(source.text), module)


def test_a_large_constant_of_one_value_is_built_as_short() -> None:
    module = with_constant(np.ones((16, 16), "float32"))
    text = building(module)
    assert 'relax.const([[1.0] * 16] * 16, "float32")' in text
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(text, names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)
    with pytest.raises(Unsayable, match="a large constant"):
        building(with_constant(np.arange(256, dtype="float32").reshape(16, 16)))


def test_another_large_constant_is_one_line() -> None:
    module = with_constant(np.arange(1000, dtype="float32").reshape(10, 100))
    source = module_source(module)
    assert source.text.startswith("metadata = ")
    assert len(source.text.splitlines()) < 12
    tvm.ir.assert_structural_equal(load(source.text), module)


def namesakes(*names: str) -> Any:
    """A function with local functions of these names."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    bindings = []
    for name in names:
        a = relax.Var("a", x.ty)
        local = relax.Function([a], relax.SeqExpr([], a), a.ty)
        bindings.append(relax.VarBinding(relax.Var(name, local.ty), local))
    body = relax.SeqExpr([relax.BindingBlock(bindings)], x)
    module = tvm.IRModule({"main": relax.Function([x], body, x.ty).with_attr("global_symbol", "main")})
    return relax.transform.Normalize()(module)


def test_local_functions_of_one_name_are_built_node_by_node() -> None:
    """TVMScript gives them two names, and a pass that lifts them may fail only where both have one."""
    assert module_source(namesakes("one", "two")).is_script
    module = namesakes("one", "one")
    source = module_source(module)
    assert source.builder
    assert source.remarks[0].endswith("what is read back differs at the name of a local function")
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(source.builder, names)
    assert comes_back(names["given_module"](), module)
    *_, (short, _) = sources_of(module, "Before")
    assert short.startswith("# Built node by node: TVM parses this module's TVMScript into a different module.")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_has_no_literal_comes_back_too(value: float) -> None:
    module = with_constant(np.array([value, 1.0], "float32"))
    tvm.ir.assert_structural_equal(load(module_source(module).text), module)
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(building(module), names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)


def test_the_text_has_no_comments_of_the_printer_and_no_long_lines() -> None:
    many = ", ".join(f'x{index}: R.Tensor((2, 3), dtype="float32")' for index in range(9))
    module = load(
        f"@I.ir_module\nclass Module:\n    @R.function\n    def main({many}) -> R.Tensor((2, 3), dtype='float32'):\n"
        "        return x3\n"
    )
    text = module_source(module).text
    assert "# from tvm" not in text
    assert max(map(len, text.splitlines())) <= 120
    tvm.ir.assert_structural_equal(load(text), module)


def test_a_device_is_named_by_its_kind_where_that_says_all() -> None:
    text = """
@I.ir_module
class Module:
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice({"kind": "llvm", "mcpu": "x"}, 1, "global")]}
    )
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0")) -> R.Tensor((2,), "float32", "llvm:0"):
        return x
"""
    module = load(text)
    source = module_source(module)
    assert 'I.vdevice("llvm", 0, "global")' in source.text
    assert '"mcpu": "x"' in source.text, "what else it says stays"
    assert "mtriple" not in source.text.partition('"mcpu"')[0], "the machine that it was found on does not matter"
    tvm.ir.assert_structural_equal(load(source.text), module)


def test_what_text_cannot_give_is_built_and_the_script_says_why() -> None:
    module = unparsable()
    source = module_source(module)
    assert not source.text
    assert "TVM's own TVMScript of this module does not give it back: " in source.remarks[0]
    assert "inspect" in source.remarks[0]
    short = source_of(module, "Before")
    assert short.startswith("# Built node by node: TVM cannot parse the TVMScript that it prints of this module.\n")
    assert any("tensor_stride_i" in line for line in source.remarks), "people see it as text nevertheless"
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(source.builder, names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)


def test_branches_calls_tuples_and_symbolic_dims_are_built() -> None:
    module = load(BRANCHES)
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(building(module), names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)


def laid_out() -> Any:
    """A layout with one more axis, in which another is the sum of two."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        wide = builder.emit(relax.op.layout_transform(x, lambda i, j: [i, tvm.tirx.IntImm("int64", 0), j]))
        builder.emit_func_output(builder.emit(relax.op.layout_transform(wide, lambda i, j, k: [i, j + k])))
    return builder.finalize()


def spread(ids: Any) -> Any:
    """A tensor that is said to be spread over devices, and one that is."""
    mesh = relax.distributed.DeviceMesh((2,), ids)
    placement = relax.distributed.Placement.from_text("S[0]")
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    ty = relax.distributed.DTensorType(x.ty, mesh, placement)
    y, lv = relax.Var("y", ty), relax.Var("lv", x.ty)
    said = relax.op.distributed.annotate_sharding(x, mesh, placement)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, relax.BlockBuilder().normalize(said))])], lv)
    relax.expr._update_type(body, lv.ty)
    function = relax.Function([x, y], body, lv.ty)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): function}, global_infos={"mesh": [mesh]})


def declared() -> Any:
    """A call of which another type is declared than is inferred."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    call, lv = relax.op.exp(x), relax.Var("lv", relax.TensorType((2,), "float32", relax.VDevice("llvm", 0, "global")))
    relax.expr._update_type(call, lv.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, call)])], lv)
    relax.expr._update_type(body, lv.ty)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): relax.Function([x], body, lv.ty)})


def resized() -> Any:
    """An operator with floats among its attributes."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 1, 1, 1), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.image.resize2d(x, (1, 1))))
    return builder.finalize()


def vague() -> Any:
    """An ``If`` of which less is declared than is inferred."""
    x, ty = relax.Var("x", relax.TensorType((), "bool")), relax.TensorType((), "")
    branches = [relax.SeqExpr([], x) for _ in range(2)]
    for branch in branches:
        relax.expr._update_type(branch, x.ty)
    choice, lv = relax.If(x, *branches), relax.Var("lv", ty)
    relax.expr._update_type(choice, ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, choice)])], lv)
    relax.expr._update_type(body, ty)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): relax.Function([x], body, ty)})


def viewed() -> Any:
    """Calls of functions of the runtime: TVM computes the type of one by a function of its own, and is told another."""
    x, lv = (relax.Var(name, relax.TensorType((1,), "float32")) for name in ("x", "lv"))
    opaque = relax.FuncType.opaque_func
    rule = tvm.ir.EnvFunc.get("tvm.relax.type.infer_view_ty")
    types = opaque(derive_func=rule, purity=True), opaque(ret=lv.ty)
    dtype = tvm.ir.GenericConst(tvm.DataType("float32"), relax.AnyType())
    shape = [relax.ShapeExpr([1]), dtype, tvm.tirx.IntImm("int64", 0)]
    builder = relax.BlockBuilder()
    with builder.function("main", [x], pure=False):
        made = builder.emit(relax.Call(relax.ExternFunc("runtime.TVMTensorCreateView", types[0]), [x, *shape]))
        builder.emit_func_output(builder.emit(relax.Call(relax.ExternFunc("f", types[1]), [made])))
    return builder.get()


def matched() -> Any:
    """The match of a call, whose type is inferred, as RemoveRedundantReshape leaves it."""
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    lv = relax.Var("lv", x.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.MatchCast(lv, relax.BlockBuilder().normalize(x + x), lv.ty)])], lv)
    relax.expr._update_type(body, lv.ty)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): relax.Function([x], body, lv.ty)})


@pytest.mark.parametrize(
    "module",
    [laid_out(), spread([0, 1]), spread(tvm.ir.Range(0, 2)), declared(), resized(), vague(), viewed(), matched()],
)
def test_layouts_meshes_and_declared_types_are_built(module: Any) -> None:
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(building(module), names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)


NESTED = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def added(a: T.float32, b: T.float32) -> T.float32:
        return a + b

    @T.prim_func(private=True, s_tir=True)
    def added_up(x: T.Buffer((2,), "float32")):
        x[0] = x[1] * (Module.added(x[0], x[1]) + Module.added(x[1], x[1]))
"""


def test_a_kernel_that_calls_another_is_read_back_under_another_name_of_the_module() -> None:
    (text, equal), *_ = sources_of(tvm.script.from_source(NESTED), "Before")
    assert equal
    assert text.count("Before.added(") == 2


LOWEST = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(x: T.Buffer((2,), "float64")):
        x[0] = T.min_value("float64")
        x[1] = T.FloatImm("float64", 1e+39)
"""


def test_numbers_of_kernels_that_tvm_prints_but_does_not_read_come_back() -> None:
    module = tvm.script.from_source(LOWEST)
    with pytest.raises(Exception, match="Literal value"):
        tvm.script.from_source(module.script())
    source = module_source(module)
    assert 'T.FloatImm("float64", -1.7976931348623157e+308)' in source.text
    tvm.ir.assert_structural_equal(load(source.text), module)
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(building(module), names)
    tvm.ir.assert_structural_equal(names["given_module"](), module)


FREE_BUFFER = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(x: T.Buffer((1,), "float32")):
        with T.sblock("a"):
            y = T.Buffer((1,))
            T.call_packed("f", y.data)
"""


def test_a_parser_that_objects_at_length_gives_one_line_of_the_script() -> None:
    source = module_source(tvm.script.from_source(FREE_BUFFER, check_well_formed=False))
    assert "(DiagnosticError: error: Program is not well-formed)" in source.remarks[1]
    assert not any("\n" in line for line in source.remarks), "each is a comment"


def test_what_can_be_neither_printed_nor_built_is_json() -> None:
    odd = tvm.ir.make_node("ir.DictAttrs", inner=tvm.runtime.tensor(np.ones(2)))
    module = with_constant(np.ones(2, "float32")).with_attr("odd", odd)
    with pytest.raises(Unsayable, match="an attribute that is a"):
        building(module)
    source = module_source(module)
    assert source.text.startswith("{")
    assert "nor can it be built" in source.remarks[1]
    tvm.ir.assert_structural_equal(load(source.text), module)


@pytest.mark.parametrize("text", ["one line", 'a\n"""\nb', "a\n'''\n\"\"\"\nb", 'ends with "', "ends\nwith \\"])
def test_a_literal_is_the_text(text: str) -> None:
    assert ast.literal_eval(literal_of(text)).strip("\n") == text


def test_a_constant_is_built_once_that_is_a_condition_here_and_a_result_there() -> None:
    true, x = relax.const(True), relax.Var("x", relax.TensorType((), "bool"))
    functions = {}
    for name, condition, result in (("first", true, x), ("second", x, true)):
        builder, of = relax.BlockBuilder(), relax.Var("x", x.ty)
        given = {x: of}
        with builder.function(name, [of]):
            branch = relax.SeqExpr([], given.get(result, result))
            relax.expr._update_type(branch, branch.body.ty)
            builder.emit_func_output(builder.emit(relax.If(given.get(condition, condition), branch, branch)))
        functions |= dict(builder.get().functions_items())
    module = tvm.IRModule(functions)
    assert shared_constants(module) == {true}
    assert building(module).count("relax.const(True") == 1


@pytest.mark.parametrize("built", [False, True])
def test_a_module_that_is_read_as_scripts_make_it_leaves_no_name_to_the_texts_of_passes(built: bool) -> None:
    names, module = {*namespace()}, unparsable() if built else with_constant(np.ones(2, "float32"))
    text = str(tvm.ir.save_json(module))
    assert (as_read(text, "Before") == text) is built
    assert {*namespace()} == names


def test_a_constant_of_two_uses_is_built_once() -> None:
    """A pattern that names one value twice matches no two constants that are alike."""
    two = relax.const(2, "int32")
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((3,), "int32"))
    with builder.function("main", [x]):
        halves = builder.emit(relax.op.divide(x, two))
        builder.emit_func_output(builder.emit(relax.op.multiply(halves, two)))
    module = builder.get()
    *_, (short, equal) = sources_of(module, "Before")
    assert equal
    for text in (module_source(module).builder, short):
        names: dict[str, Any] = {"tvm": tvm, "relax": relax}
        exec(text, names)
        built = names["Before"] if "Before" in names else names["given_module"]()
        tvm.ir.assert_structural_equal(built, module)
        first, second = (each.value.args[1] for each in places(built["main"]))
        assert first.same_as(second)
    assert next(sources_of(module, "Before"))[0].startswith("@I.ir_module"), "TVMScript is tried first"


def test_modules_are_compared_in_the_words_of_the_tvm_that_prints_them() -> None:
    """They showed R.Object and R.Prim("int64"), which TVM 0.27 reads but does not print."""
    made = relax.transform.LazyGetInput()(with_constant(np.arange(2, dtype="float32")))
    lines, printed = plain_lines(made), str(made.script()).splitlines()
    signature = next(each for each in printed if "fget_param: R.Callable" in each)
    assert signature in lines


def test_constants_are_told_apart_where_modules_are_compared() -> None:
    arrays = [np.arange(20, dtype="float32") + start for start in (0, 1)]
    before, after = (plain_lines(with_constant(each)) for each in arrays)
    assert [line for line in before if line not in after] != []
    assert not any("metadata" in line for line in before)
    assert any('R.const([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ...] of shape (20,), "float32")' in x for x in before)
    assert any('R.const([3.0, 4.0], "float32")' in x for x in plain_lines(with_constant(np.array([3, 4], "float32"))))
