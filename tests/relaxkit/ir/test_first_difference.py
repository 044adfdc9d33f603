"""The first difference of two modules, and what a module uses without defining it, in words of the program."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from relaxkit.ir.first_difference import Part, differences, type_texts, value_text
from relaxkit.ir.undefined import undefined

BOTH = "x: R.Tensor((2, 3), 'float32'), y: R.Tensor((2, 3), 'float32')"


def module(body: str, parameters: str = BOTH, rest: str = "") -> Any:
    """A module of ``main`` with these lines, and other functions."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return tvm.script.from_source(
        f"@I.ir_module\nclass Module:\n{rest}    @R.function\n    def main({parameters}):\n{lines}"
    )


PLAIN = module("lv = R.nn.softmax(x, axis=1)\nreturn lv")
HELPER = """
    @R.function(private=True)
    def helper(x: R.Tensor((2, 3), 'float32')) -> R.Tensor((2, 3), 'float32'):
        return x

"""
DTYPE = "x: R.Tensor((2, 3), 'float16'), y: R.Tensor((2, 3), 'float16')"


@pytest.mark.parametrize(
    ("before", "after", "change", "held"),
    [
        (
            PLAIN, module("lv = R.nn.softmax(x, axis=0)\nreturn lv"),
            "changes axis of relax.nn.softmax from 1 to 0", "when axis of relax.nn.softmax is 1",
        ),
        (
            module("lv = R.subtract(x, y)\nreturn lv"), module("lv = R.subtract(y, x)\nreturn lv"),
            "gives relax.subtract y instead of x as x1", "",
        ),
        (
            PLAIN, module("lv = R.tanh(x)\nreturn lv"),
            "replaces relax.nn.softmax with relax.tanh", "on relax.nn.softmax",
        ),
        (
            module("lv = R.tanh(x)\nlv1 = R.exp(lv)\nreturn lv1"), module("lv = R.tanh(x)\nreturn lv"),
            "drops relax.exp", "on relax.exp",
        ),
        (
            module("lv = R.tanh(x)\nreturn lv"), module("lv = R.tanh(x)\nlv1 = R.exp(lv)\nreturn lv1"),
            "adds relax.exp", "",
        ),
        (
            module("lv = R.tanh(x)\nlv1 = R.exp(lv)\nreturn lv1"),
            module("lv = R.exp(x)\nlv1 = R.tanh(lv)\nreturn lv1"),
            "moves relax.exp before relax.tanh", "on relax.exp",
        ),
        (
            module("lv = R.add(x, R.const(1.0))\nreturn lv"), module("lv = R.add(x, R.const(2.0))\nreturn lv"),
            "gives relax.add another constant as x2", "when x2 of relax.add is a constant",
        ),
        (
            module("return x"), module("return x", DTYPE),
            "changes the type of x from float32 to float16 (shape (2, 3))",
            "on a tensor of float32",
        ),
        (
            module("return x"), module("return x", "x: R.Tensor((1,), 'float32'), y: R.Tensor((2, 3), 'float32')"),
            "changes the type of x from shape (2, 3) to shape (1,)", "on a tensor of rank 2",
        ),
        (
            module("lv = R.tanh(x)\nlv1 = R.exp(x)\nreturn lv"), module("lv = R.tanh(x)\nlv1 = R.exp(x)\nreturn lv1"),
            "makes main return lv1 instead of lv", "",
        ),
        (
            module("return x"), module("return x", "x: R.Tensor((2, 3), 'float32')"),
            "changes the parameters of main from (x, y) to (x)", "",
        ),
        (
            module("R.func_attr({'num_input': 1})\nreturn x"), module("return x"),
            "changes num_input of main from 1 to none", "when main has num_input",
        ),
        (
            module("return x", rest=HELPER), module("return x"),
            "drops the function helper", "on a private function",
        ),
        (
            module("return x", rest=HELPER), module("return x", rest=HELPER.replace("(private=True)", "")),
            "makes helper public", "on a private function",
        ),
    ],
)  # fmt: skip
def test_the_first_difference_is_told(before: Any, after: Any, change: str, held: str) -> None:
    found = next(differences(before, after))
    assert (found.change, found.held) == (change, held)


def test_equal_modules_have_none() -> None:
    assert [*differences(PLAIN, module("lv = R.nn.softmax(x, axis=1)\nreturn lv"))] == []


def test_calls_of_functions_of_one_name_are_alike() -> None:
    body = "lv = Module.helper(x)\nreturn lv"
    assert [*differences(module(body, rest=HELPER), module(body, rest=HELPER))] == []


def test_an_operand_that_is_gone_comes_before_the_casts_around_it() -> None:
    operands = ", ".join(f"{name}: R.Tensor((1, 2, 2, 4), 'float32')" for name in ("q", "k", "v"))
    parameters = f"{operands}, bias: R.Tensor((1, 2, 2, 2), 'float32')"
    before = module("lv = R.nn.attention(q, k, v, bias)\nreturn lv", parameters)
    after = module("lv = R.nn.attention(q, k, v)\nlv1 = R.astype(lv, 'float16')\nreturn lv1", parameters)
    found = next(differences(before, after))
    assert found.part is Part.OPERAND_GONE
    assert found.change == "drops bias of relax.nn.attention_bias"


def broken(function: relax.Function, **others: Any) -> tvm.IRModule:
    """A module that nobody checks."""
    return tvm.IRModule({tvm.ir.GlobalVar("main"): function} | {tvm.ir.GlobalVar(k): v for k, v in others.items()})


def test_a_parameter_that_is_gone_is_undefined() -> None:
    main = module("lv = R.add(x, y)\nreturn lv")["main"]
    after = relax.Function([main.params[0]], main.body, main.ret_ty, main.is_pure, main.attrs)
    assert (
        next(undefined(broken(main), broken(after)))
        == "leaves the parameter y undefined, but relax.add in main uses it"
    )


def test_the_result_of_an_operator_that_is_gone_is_undefined() -> None:
    main = module("lv = R.tanh(x)\nlv1 = R.exp(lv)\nreturn lv1")["main"]
    (block,) = main.body.blocks
    body = relax.SeqExpr([relax.BindingBlock(block.bindings[1:])], main.body.body)
    after = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    said = "removes the result of relax.tanh, which relax.exp still uses"
    assert next(undefined(broken(main), broken(after))) == said
    twice = module("lv = R.tanh(x)\nlv1 = R.exp(lv)\nlv2 = R.tanh(lv1)\nreturn lv2")["main"]
    kept = relax.SeqExpr([relax.BindingBlock(twice.body.blocks[0].bindings[1:])], twice.body.body)
    after = relax.Function(twice.params, kept, twice.ret_ty, twice.is_pure, twice.attrs)
    said = "leaves the result of relax.tanh undefined, but relax.exp in main uses it"
    assert next(undefined(broken(twice), broken(after))) == said, "there is one: it may only have another name"


def test_a_match_cast_that_uses_what_is_undefined_is_named() -> None:
    main = module("lv = R.match_cast(y, R.Tensor((2, 3), 'float32'))\nlv1 = R.exp(lv)\nreturn lv1")["main"]
    after = relax.Function([main.params[0]], main.body, main.ret_ty, main.is_pure, main.attrs)
    said = "leaves the parameter y undefined, but a match_cast in main uses it"
    assert next(undefined(broken(main), broken(after))) == said


def test_what_has_gone_to_another_function_is_told() -> None:
    main = module("lv = R.tanh(x)\nreturn lv")["main"]
    rest = relax.Function(main.params, relax.SeqExpr([], main.body.body), main.ret_ty, main.is_pure, main.attrs)
    said = "moves the result of relax.tanh to another function, but main still returns it"
    assert next(undefined(broken(main), broken(rest, captured=main))) == said
    said = "removes the result of relax.tanh, which main still returns"
    assert next(undefined(broken(main, captured=main), broken(rest, captured=main))) == said, "it was there before"


def test_a_local_function_that_calls_itself_is_told_where_its_closure_captures_itself() -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    inner, result = relax.Var("y", x.ty), relax.Var("lv", x.ty)
    loop = relax.Var("loop", relax.FuncType([x.ty], x.ty))
    call = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, relax.Call(loop, [inner]))])], result)
    given = broken(relax.Function([x], relax.SeqExpr([relax.BindingBlock([
        relax.VarBinding(loop, relax.Function([inner], call, x.ty))])], x), x.ty))  # fmt: skip
    lifted = relax.Var("loop", relax.AnyType())
    made = relax.op.make_closure(tvm.ir.GlobalVar("lifted"), relax.Tuple([loop]))
    after = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lifted, made)])], x)
    said = "gives relax.make_closure the recursive local function loop before it is bound"
    assert said in [*undefined(given, broken(relax.Function([x], after, x.ty)))]


def test_a_block_that_stands_where_another_was_is_told() -> None:
    @I.ir_module
    class Given:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                lv = R.tanh(x)
                R.output(lv)
            gv = R.exp(x)
            with R.dataflow():
                lv1 = R.abs(gv)
                R.output(lv1)
            return x

    main = Given["main"]
    first, middle, last = main.body.blocks
    changed = {
        "puts a copy of one dataflow block in the place of another": [
            relax.DataflowBlock([*first.bindings] * 2),
            middle,
        ],
        "": [relax.DataflowBlock([*first.bindings] * 2), middle, last],
    }
    for said, blocks in changed.items():
        after = relax.Function(main.params, relax.SeqExpr(blocks, main.body.body), main.ret_ty)
        assert next(undefined(Given, broken(after)), "") == said


def test_a_function_that_is_gone_is_told_with_its_caller() -> None:
    given = module("lv = cls.helper(x)\nreturn lv".replace("cls", "Module"), rest=HELPER)
    assert [*undefined(given, given)] == []
    said = next(undefined(given, broken(given["main"])))
    assert said == "drops helper but leaves the call to it in main"
    after = broken(given["main"])
    after[tvm.ir.GlobalVar("helper")] = given["helper"]
    assert next(undefined(given, after)) == "replaces helper but does not update the call to it in main"
    (said,) = undefined(broken(after["main"]), broken(after["main"]))
    assert said == "adds the call to helper in main, but not that function"


def test_a_closure_of_a_function_that_is_gone_is_no_call() -> None:
    given = module("lv = R.make_closure(Module.helper, (x,))\nreturn x", rest=HELPER)
    said = next(undefined(given, broken(given["main"])))
    assert said == "drops helper but leaves relax.make_closure of it in main"


def test_a_dim_that_only_a_result_type_has_is_undefined() -> None:
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    given = broken(relax.Function([x], relax.SeqExpr([], x), x.ty))
    other = relax.Var("x", relax.TensorType(dtype="float32", ndim=1))
    after = broken(relax.Function([other], relax.SeqExpr([], other), x.ty))
    assert [*undefined(given, given)] == []
    said = "keeps the symbolic dim n in the result type of main, where nothing defines it"
    assert next(undefined(given, after)) == said


def test_a_dim_that_another_function_defined_is_told_as_its_dim() -> None:
    dims = [tvm.tirx.Var("n", "int64") for _ in range(3)]
    params = [relax.Var("x", relax.TensorType((dim,), "float32")) for dim in dims[:2]]
    f1, main = (relax.Function([x], relax.SeqExpr([], x), x.ty) for x in params)
    lv = relax.Var("lv", relax.TensorType((dims[2],), "float32"))
    made = relax.op.full(relax.ShapeExpr([dims[2]]), relax.const(1.0, "float32"), "float32")
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, made)])], params[1])
    after = broken(relax.Function([params[1]], body, params[1].ty))
    given = tvm.IRModule({tvm.ir.GlobalVar("f1"): f1, tvm.ir.GlobalVar("main"): main})
    assert next(undefined(given, after)) == "leaves the symbolic dim n of f1 undefined in main"
    plain = relax.Var("x", relax.TensorType((2,), "float32"))
    lost = broken(relax.Function([plain], relax.SeqExpr(body.blocks, plain), plain.ty))
    given[tvm.ir.GlobalVar("f2")] = given["f1"]
    assert next(undefined(given, lost)) == "leaves the symbolic dim n of main undefined", "it had one of its own"
    call = relax.SeqExpr([], relax.Call(tvm.ir.GlobalVar("f2"), []))
    caller = tvm.IRModule({"f1": f1, "f2": f1, "main": relax.Function([], call, plain.ty)})
    assert next(undefined(caller, lost)) == "leaves the symbolic dim n of f2 undefined in main", "which it called"


@pytest.mark.parametrize(
    ("dims", "returned", "said"),
    [
        ((2,), True, "leaves the result of relax.tanh, which main returns, undefined when its type gets more specific"),
        (None, True, "leaves the result of relax.tanh, which main returns, undefined"),
        ((2,), False, "gives relax.exp the result of relax.tanh before it is bound"),
    ],
)
def test_a_variable_in_the_place_of_which_there_is_another_is_told(dims: Any, returned: bool, said: str) -> None:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    vague = relax.TensorType(dtype="float32", ndim=1)
    lost, bound = relax.Var("lv", vague), relax.Var("lv", vague if dims is None else relax.TensorType(dims, "float32"))
    made = relax.VarBinding(bound, relax.op.tanh(x))
    used = [] if returned else [relax.VarBinding(relax.Var("lv1", vague), relax.op.exp(lost))]
    after = relax.SeqExpr([relax.BindingBlock([*used, made])], lost if returned else x)
    before = relax.SeqExpr([relax.BindingBlock([made])], x)
    given, broke = (broken(relax.Function([x], body, vague)) for body in (before, after))
    assert next(undefined(given, broke)) == said


def test_an_axis_of_a_tensor_of_one_axis_tells_of_the_tensor() -> None:
    flat = "x: R.Tensor((3,), 'float32'), y: R.Tensor((2,), 'int64')"
    before, after = (module(f"lv = R.take(x, y{axis})\nreturn lv", flat) for axis in (", axis=0", ""))
    assert next(differences(before, after)).held == "when the operand of relax.take is 1-D"


def test_a_dim_that_is_used_before_it_is_bound_is_told() -> None:
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=1))
    lv = relax.Var("lv", relax.TensorType((n,), "float32"))
    cast = relax.MatchCast(lv, x, lv.ty)
    ones = relax.VarBinding(relax.Var("gv", lv.ty), relax.op.ones((n,), "float32"))
    given, after = (
        broken(relax.Function([x], relax.SeqExpr([relax.BindingBlock(row)], ones.var), x.ty))
        for row in ([cast, ones], [ones, cast])
    )
    assert [*undefined(given, given)] == []
    assert next(undefined(given, after)) == "uses the symbolic dim n of main before it is bound"


def test_a_dataflow_variable_is_told_outside_of_its_block() -> None:
    @I.ir_module
    class Given:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                lv = R.tanh(x)
                gv = R.exp(lv)
                R.output(gv)
            return gv

    main = Given["main"]
    hidden = main.body.blocks[0].bindings[0].var
    after = relax.Function(main.params, relax.SeqExpr(main.body.blocks, hidden), main.ret_ty)
    assert next(undefined(Given, broken(after))) == "uses the result of relax.tanh outside of its dataflow block"


def test_a_parameter_for_which_a_variable_stands_that_nothing_binds_is_told_with_what_returned_it() -> None:
    given = module("return x")
    main = given["main"]
    stray = relax.DataflowVar("x", main.params[0].ty)
    call = relax.Call(tvm.ir.Op.get("relax.abs"), [stray])
    relax.expr._update_type(call, stray.ty)
    result = relax.Var("lv", stray.ty)
    body = relax.SeqExpr([relax.DataflowBlock([relax.VarBinding(result, call)])], result)
    after = tvm.IRModule({"main": relax.Function(main.params, body, result.ty)})
    said = next(undefined(given, after))
    assert said == "replaces the parameter x, which main returns, with a variable that nothing binds"


@pytest.mark.parametrize(
    ("ty", "said"),
    [
        (relax.TensorType((2, 3), "float32"), "a float32 tensor (2, 3)"),
        (relax.TensorType(None, "float32", ndim=2), "a float32 tensor of rank 2"),
        (relax.TensorType((2,), ""), "a tensor (2) of unknown dtype"),
        (relax.TensorType(None, "float32"), "a float32 tensor of unknown rank"),
        (relax.TensorType(None, ""), "a tensor of unknown rank and dtype"),
    ],
)
def test_what_a_type_does_not_say_is_unknown(ty: Any, said: str) -> None:
    assert value_text(ty) == said


def test_types_that_differ_in_the_device_alone_are_told_by_it() -> None:
    bare, placed = (relax.TensorType((1,), "float32", device) for device in (None, relax.VDevice("llvm", 0, "global")))
    assert type_texts(bare, placed) == ("no vdevice", "vdevice llvm:0")
    tuples = (relax.TupleType([placed]), relax.TupleType([bare]))
    assert type_texts(*tuples) == ("vdevice llvm:0", "no vdevice")


def test_a_dtype_that_is_unknown_is_no_none() -> None:
    unknown = module("lv = R.tanh(x)\nreturn lv", "x: R.Tensor((2, 3))")
    said = "on relax.tanh of unknown dtype"
    assert said in {each.held for each in differences(unknown, module("lv = R.tanh(x)\nreturn lv"))}


def test_the_type_that_a_call_is_given_is_told_of_it() -> None:
    texts = (
        f'lv: R.Tensor = R.call_pure_packed("f", x, ty_args=({ty},))\nreturn x' for ty in ("R.Tensor", "R.Tensor((2,))")
    )
    first = next(differences(*map(module, texts)))
    assert first.held == "on a tensor of unknown shape"


def test_an_operand_that_is_a_scalar_is_told_as_one() -> None:
    texts = (f"lv = R.add(x, {value})\nreturn x" for value in ("T.float32(2.0)", 'R.const(2.0, "float32")'))
    held = [each.held for each in differences(*map(module, texts))]
    assert "when an operand of relax.add is a PrimExpr" in held


def test_the_operator_that_uses_a_parameter_is_told_with_its_type() -> None:
    old = module("lv = R.exp(x)\nreturn lv")
    new = tvm.script.from_source(old.script().replace("(2, 3)", "(2, 4)"))
    assert {each.held for each in differences(old, new) if each.owner == "x"} == {"on relax.exp of shape (2, 3)"}


def test_a_number_that_a_dataflow_block_binds_is_no_symbolic_dim() -> None:
    number = tvm.ir.PrimType("int64")
    inner, outer = relax.DataflowVar("lv", number), relax.Var("lv1", relax.TupleType([number]))
    flow = relax.DataflowBlock([relax.VarBinding(inner, tvm.tirx.IntImm("int64", 1))])
    body = relax.SeqExpr([flow, relax.BindingBlock([relax.VarBinding(outer, relax.Tuple([inner]))])], outer)
    left = relax.Function([], body, relax.TupleType([number])).with_attr("global_symbol", "main")
    said = "uses the variable lv outside of its dataflow block"
    assert next(undefined(PLAIN, tvm.IRModule({"main": left}))) == said
