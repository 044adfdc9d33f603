"""What the output of a pass contradicts, of its input or of itself."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.repro.contradictions import contradictions, vaguer
from fuzzer.repro.short.calls import devices
from fuzzer.repro.telling import TYPE, lost, returning_nothing


@I.ir_module
class Planned:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})

    @R.function(pure=False)
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        storage = R.memory.alloc_storage(R.shape([4]), 0, R.str("global"), R.dtype("float32"))
        other = R.memory.alloc_storage(R.shape([4]), 0, R.str("global"), R.dtype("float32"))
        lv = R.memory.alloc_tensor(storage, 0, R.shape([1]), R.dtype("float32"), 0)  # noqa: F841  # as lv1
        lv1 = R.memory.alloc_tensor(other, 0, R.shape([1]), R.dtype("float32"), 1)  # noqa: F841  # memory is told of
        return x


def placed(shared: bool, typed: bool) -> Any:
    """The module with its two tensors on two devices, which their types may say, in one storage or in two."""
    main, listed = Planned["main"], Planned.global_infos["vdevice"]
    (block,) = main.body.blocks
    storages, tensors = block.bindings[:2], block.bindings[2:]
    made = []
    for tensor, storage, device in zip(tensors, storages, listed if typed else (None, None), strict=True):
        ty = relax.TensorType((1,), "float32", device)
        call, held = tensor.value, storages[0] if shared else storage
        new = relax.Call(call.op, [held.var, *call.args[1:]], call.attrs, call.ty_args)
        relax.expr._update_type(new, ty)
        made.append(relax.VarBinding(relax.Var(tensor.var.name, ty), new))
    body = relax.SeqExpr([relax.BindingBlock([*storages, *made])], main.body.body)
    function = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): function}, global_infos=Planned.global_infos)


@pytest.mark.parametrize("typed", [True, False])
def test_memory_that_tensors_on_two_devices_share_is_told(typed: bool) -> None:
    shared, own = ([*contradictions(Planned, placed(each, typed))] for each in (True, False))
    said = "gives lv and lv1 one storage, though they are on different devices"
    assert said in shared
    assert said not in own


def test_a_script_has_the_devices_that_a_program_names() -> None:
    assert devices(tvm.IRModule({})) == "tvm.cpu()"
    assert devices(tvm.IRModule({tvm.ir.GlobalVar("main"): Planned["main"]})).startswith("[tvm.cpu(number)")


@I.ir_module
class Forced:
    @R.function(private=True)
    def f1(x: R.Tensor((), "bool")) -> R.Tuple():
        R.func_attr({"relax.force_pure": True})
        return R.assert_op(x, format="no")

    @R.function
    def main(x: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        return x


def test_an_impure_call_that_has_come_from_a_forced_function_is_told() -> None:
    after = tvm.IRModule({tvm.ir.GlobalVar("main"): Forced["f1"].without_attr("relax.force_pure")})
    said = "moves relax.assert_op from f1, which has relax.force_pure, to main, which has not"
    assert next(contradictions(Forced, after)) == said
    assert not [*contradictions(Forced, Forced)]


def bound(ty: Any, declared: Any = None) -> Any:
    x = relax.Var("x", ty)
    lv = relax.Var("lv", declared or ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, relax.op.exp(x))])], lv)
    return tvm.IRModule({tvm.ir.GlobalVar("main"): relax.Function([x], body, lv.ty)})


SHARP, VAGUE = relax.TensorType((2,), "float32"), relax.TensorType(dtype="float32", ndim=1)


def test_a_type_that_has_become_less_specific_is_told() -> None:
    assert [*vaguer(bound(SHARP), bound(VAGUE), "relax.exp")] == ["loses the shape of x"], "lv has it from there"
    assert [*vaguer(bound(SHARP), bound(SHARP, VAGUE), "relax.exp")] == ["loses the shape of lv"]
    assert not [*vaguer(bound(VAGUE), bound(SHARP), "relax.exp")]


@pytest.mark.parametrize(("operator", "cast"), [("relax.abs", True), ("relax.exp", False)])
def test_an_operand_that_a_pass_casts_to_a_less_specific_type_is_told(operator: str, cast: bool) -> None:
    given = bound(SHARP)
    (x,), body = given["main"].params, given["main"].body
    vague, result = relax.Var("vague", VAGUE), relax.Var("gv", VAGUE)
    made = [relax.MatchCast(vague, x, VAGUE), relax.VarBinding(result, relax.op.abs(vague))]
    blocks = [relax.BindingBlock([*made, *body.blocks[0].bindings])]
    after = tvm.IRModule({"main": relax.Function([x], relax.SeqExpr(blocks, body.body), SHARP)})
    assert [*vaguer(given, after, operator)] == ["casts x to a type without its shape"] * cast
    assert not [*vaguer(after, after, operator)], "it was there before"


@I.ir_module
class Impure:
    @R.function(pure=False)
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x


def test_what_a_pass_leaves_of_a_function_or_of_the_module_is_told() -> None:
    forced = tvm.IRModule({"main": Impure["main"].with_attr("relax.force_pure", True)})
    assert [*contradictions(forced, forced)] == ["makes main impure, but leaves relax.force_pure on it"]
    named = tvm.IRModule({"f1": Impure["main"]})
    assert [*contradictions(named, named)] == ["gives f1 the global_symbol main"]
    both = tvm.IRModule({"main": Impure["main"], "f1": Impure["main"]})
    assert [*contradictions(both, both)] == ["gives f1 the global_symbol main, which another function has"]
    assert next(contradictions(Planned, Impure)) == "drops the module's vdevice table (global_infos)"
    assert not [*contradictions(Impure, Impure)]


def test_the_device_that_a_call_names_is_told() -> None:
    old, new = relax.VDevice("llvm", 0, "global"), relax.VDevice("llvm", 1, "global")
    x = relax.Var("x", SHARP)
    call = relax.BlockBuilder().normalize(relax.op.to_vdevice(x, old))
    lv = relax.Var("lv", call.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, call)])], x)
    made = [
        tvm.IRModule({"main": relax.Function([x], body, x.ty)}, global_infos={"vdevice": [each]}) for each in (old, new)
    ]
    said = "leaves the old device in dst_vdevice of relax.to_vdevice"
    assert said in [*contradictions(made[0], made[1])]
    assert said not in [*contradictions(made[0], made[0])]


def test_a_variable_of_a_less_specific_type_in_the_place_of_a_value_is_told() -> None:
    x = relax.Var("x", SHARP)
    lv, lv1 = relax.Var("lv", VAGUE), relax.Var("lv1", SHARP)
    first = relax.VarBinding(lv, relax.op.exp(x))
    modules = []
    for value in (relax.op.exp(x), lv):
        body = relax.SeqExpr([relax.BindingBlock([first, relax.VarBinding(lv1, value)])], lv1)
        modules.append(tvm.IRModule({tvm.ir.GlobalVar("main"): relax.Function([x], body, SHARP)}))
    assert next(contradictions(*modules)) == "replaces the result of relax.exp with lv, declared without its shape"
    assert not [*contradictions(modules[0], modules[0])]


def test_what_a_type_has_lost_is_named() -> None:
    device = relax.VDevice("llvm", 0, "global")
    assert lost(relax.TensorType((2,), "float32", device), SHARP) == "vdevice"
    assert lost(SHARP, relax.TensorType(dtype="")) == "shape and dtype"
    pair = relax.TupleType([SHARP, VAGUE])
    assert lost(pair, relax.TupleType([VAGUE, VAGUE])) == "shape", "that another leaf had none before is no excuse"
    assert lost(SHARP, SHARP) == TYPE


def test_a_type_that_is_not_the_inferred_one_is_told_with_the_operator() -> None:
    (said,) = contradictions(bound(VAGUE), bound(VAGUE, SHARP))
    assert said == "declares the shape of relax.exp, which cannot be inferred"
    assert not [*contradictions(bound(SHARP), bound(SHARP))]
    assert not [*contradictions(bound(VAGUE), bound(SHARP, VAGUE))], "less may be declared"


def test_a_function_that_returns_no_values_is_told() -> None:
    assert returning_nothing(Forced) == "when a function returns an empty tuple"
    assert returning_nothing(Planned) == ""


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float16"):
        lv = R.astype(x, "float16")
        return lv  # noqa: RET504  # the binding is what is looked at


def test_a_cast_to_no_dtype_is_told() -> None:
    block = Cast["main"].body.blocks[0]
    (cast,) = block.bindings
    nothing = tvm.ir.make_node("relax.attrs.AstypeAttrs", dtype="void")
    call = relax.Call(cast.value.op, cast.value.args, nothing)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(cast.var, call)])], cast.var)
    main = Cast["main"]
    after = tvm.IRModule({"main": relax.Function(main.params, body, main.ret_ty, attrs=main.attrs)})
    assert "casts x to the dtype void" in [*contradictions(Cast, after)]
    assert not any("void" in each for each in contradictions(Cast, Cast))
