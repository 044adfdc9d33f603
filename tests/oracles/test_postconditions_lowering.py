"""Claims of the lowering passes: the passes keep them, and a pass that does nothing, or half of it, does not."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax
from verdict_rows import tensor

from relaxkit.passes.claims.kept import stated_claims
from relaxkit.passes.claims.lowering import (
    _callees_of,
    calls_not_kept,
    dataflow_left,
    operator_sequence_changed,
    outputs_not_allocated,
    purity_checked,
    reshapes_changed,
    symbols_not_attached,
)
from relaxkit.passes.contract import (
    Ran,
)
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.plan import preparing


@pytest.fixture(scope="module")
def module() -> Any:
    bb = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    k = relax.Var("k", relax.TensorType((4, 2), "float32"))
    with bb.function("main", [x, k]):
        with bb.dataflow():
            a = bb.emit(relax.op.exp(x))
            b = bb.emit(relax.op.reshape(a, relax.ShapeExpr([n * 4])))
            s = bb.emit(relax.op.reshape(k, relax.ShapeExpr([8])))
            d = bb.emit(relax.op.tanh(b))
            t = bb.emit(relax.op.sum(relax.op.exp(s)))
            e = bb.emit_output(relax.op.add(d, t))
            f = bb.emit_output(relax.op.call_pure_packed("identity", e, ty_args=relax.TensorType((n * 4,), "float32")))
        g = bb.emit(relax.op.exp(relax.op.add(e, f)))
        p = bb.emit(relax.op.full(relax.ShapeExpr([n]), relax.const(1.0, "float32"), "float32"))
        bb.emit_func_output(relax.Tuple([g, p]))
    return bb.finalize()


def applied(module: Any, *names: str) -> Any:
    with tvm.target.Target("llvm"):
        for name in names:
            module = preparing(name).build()(module)
    return module


LOWERING = [name for name in CONTRACTS if name in {
    "RewriteDataflowReshape", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "StaticPlanBlockMemory",
    "LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "VMShapeLower", "AttachGlobalSymbol",
}]  # fmt: skip


def said(name: str, before: Any, after: Any) -> list[str]:
    ran = Ran(before, after, {})
    return [text for claim in stated_claims(CONTRACTS[name]) if (text := claim.violation(ran))]


@pytest.mark.parametrize("name", LOWERING)
def test_pass_keeps_its_claims_and_doing_nothing_breaks_one(name: str, module: Any) -> None:
    before = applied(module, *(CONTRACTS[name].prepare or ("LegalizeOps",)))
    assert said(name, before, applied(before, name)) == []
    assert len(said(name, before, before)) >= 1


def test_operators_that_are_lost_with_the_dataflow_blocks_are_noticed(module: Any) -> None:
    plain = applied(module, "ToNonDataflow")
    assert dataflow_left(Ran(module, module, {})).startswith("a dataflow block is left")
    assert operator_sequence_changed(Ran(module, plain, {})) == ""
    assert "bindings are others" in operator_sequence_changed(Ran(module, without_first_binding(plain), {}))


def without_first_binding(module: Any) -> Any:
    """The module with the value of main's first binding replaced by that of a parameter."""
    main = module["main"]
    block, *others = main.body.blocks
    first = relax.VarBinding(block.bindings[0].var, main.params[0])
    body = relax.SeqExpr([relax.BindingBlock([first, *block.bindings[1:]]), *others], main.body.body)
    return tvm.IRModule({**dict(module.functions_items()), module.get_global_var("main"): main_with(main, body)})


def main_with(main: Any, body: Any) -> Any:
    return relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)


def test_pure_function_without_the_attribute_is_noticed(module: Any) -> None:
    assert purity_checked(Ran(module, module, {})).startswith("a pure function is not forced pure")


def test_kernels_that_are_given_dims_are_called_as_well() -> None:
    """As in TVM 0.25, where another operator calls them."""
    kernel, x = relax.GlobalVar("kernel"), relax.Var("x", relax.TensorType([2], "float32"))
    tuple_of = relax.Tuple([x, relax.ShapeExpr([2])])
    call = relax.Call(tvm.ir.Op.get("relax.vm.call_tir_dyn"), [kernel, tuple_of])
    block = relax.BindingBlock([relax.VarBinding(relax.Var("y", relax.TupleType([])), call)])
    assert _callees_of(relax.Function([x], relax.SeqExpr([block], x), x.ty)) == {"kernel": 1}


def test_kernel_that_is_called_once_less_is_noticed(module: Any) -> None:
    before = applied(module, *CONTRACTS["CallTIRRewrite"].prepare)
    less = without_first_binding(before)
    assert calls_not_kept(Ran(before, applied(before, "CallTIRRewrite"), {})) == ""
    assert calls_not_kept(Ran(before, applied(less, "CallTIRRewrite"), {})).startswith("kernels are called another")
    assert outputs_not_allocated(Ran(before, applied(less, "CallTIRRewrite"), {})).startswith("other tensors")


def test_value_of_another_type_is_noticed(module: Any) -> None:
    legal = applied(module, "LegalizeOps")
    assert reshapes_changed(Ran(legal, legal, {})) == ""
    assert reshapes_changed(Ran(legal, applied(legal, "ToNonDataflow", "CallTIRRewrite"), {})) != ""


def test_symbol_that_is_another_name_is_noticed(module: Any) -> None:
    named = applied(module, "LegalizeOps", "AttachGlobalSymbol")
    assert symbols_not_attached(Ran(module, named, {})) == ""
    var = named.get_global_var("main")
    named[var] = named[var].with_attr("global_symbol", "other")
    assert symbols_not_attached(Ran(module, named, {})).startswith("a global_symbol is another name")


def test_a_call_within_a_cast_is_bound_by_the_next_pass() -> None:
    """FuseTIR leaves ``match_cast(reshape(x, s), ...)``, and ToNonDataflow was blamed for the binding that it makes."""
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((1,), "int64")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            s = R.tensor_to_shape(y)
            z = R.reshape(x, s)
            w = R.match_cast(z, R.Tensor((2,), "float32"))
            R.output(s, w)
        return w
""")
    for name in ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR"):
        module = getattr(relax.transform, name)()(module)
    (block,) = module["main"].body.blocks
    assert isinstance(block.bindings[-1].value, relax.Call)
    assert operator_sequence_changed(Ran(module, relax.transform.ToNonDataflow()(module), {})) == ""


@pytest.mark.parametrize(("device", "said"), [(True, ""), (False, "a value has another type")])
def test_a_reshape_may_say_on_which_device(device, said):
    place = relax.VDevice("llvm")

    def module(ty):
        x = relax.Var("x", tensor([2, 3]))
        y = relax.Var("y", ty)
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, relax.op.reshape(x, [6]))])], y)
        return tvm.IRModule({"main": relax.Function([x], body, tensor([6]))})

    after = relax.TensorType([6], "float32", place) if device else tensor([6], "float16")
    ran = Ran(module(tensor([6])), module(after), {})
    assert reshapes_changed(ran)[: len(said) or None] == said
