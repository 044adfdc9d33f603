"""Claims of fusion and of external code: kept by the passes, broken when work is left undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sample_modules as samples
import tvm
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.script import ir as I
from tvm.script import relax as R

from relaxkit.passes.claims.fusion import (
    free_buffers_wrong,
    fused_at_level_zero,
    fused_what_may_not,
    reductions_misjudged,
    shapes_not_specialized,
)
from relaxkit.passes.claims.grouping import (
    calls_do_not_fit,
    groups_outside_dataflow,
    work_not_kept,
    workspace_missing,
)
from relaxkit.passes.claims.kept import stated_claims
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.plan import preparing

X = relax.transform
ADD = ("pyext.add", is_op("relax.add")(wildcard(), wildcard()))


def applied(module: Any, *names: str) -> Any:
    with tvm.target.Target("llvm"):
        for name in names:
            module = preparing(name).build()(module)
    return module


def chain() -> Any:
    """A dataflow block of a reduction behind elementwise kernels, and kernels outside of it."""
    bb = relax.BlockBuilder()
    x, y = samples.var("x"), samples.var("y")
    with bb.function("main", [x, y]):
        with bb.dataflow():
            a = bb.emit(relax.op.add(x, y))
            b = bb.emit(relax.op.exp(a))
            s = bb.emit_output(relax.op.sum(b, axis=[1]))
        t = bb.emit(relax.op.tanh(s))
        bb.emit_func_output(bb.emit(relax.op.exp(t)))
    return bb.finalize()


def said(name: str, before: Any, after: Any, **arguments: Any) -> list[str]:
    ran = Ran(before, after, arguments)
    return [text.partition("\n")[0] for claim in stated_claims(CONTRACTS[name]) if (text := claim.violation(ran))]


@pytest.mark.parametrize("name", ["AnnotateTIROpPattern", "FuseTIR", "AttachAttrLayoutFreeBuffers"])
def test_pass_keeps_its_claims_and_doing_nothing_breaks_one(name: str) -> None:
    before = applied(chain(), *CONTRACTS[name].prepare)
    assert said(name, before, applied(before, name)) == []
    assert said(name, before, before) != []


@pytest.mark.parametrize("level", [-1, 0, 1, 2])
def test_fusion_at_each_level(level: int) -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    after = X.FuseOps(level)(before)
    assert said("FuseOps", before, after, fuse_opt_level=level) == []
    if level > 0:
        assert fused_at_level_zero(Ran(before, after, {"0": 0})).startswith("kernels are fused at level 0")


def rebuilt(module: Any, name: str, change: Callable[[Any], Any], keep: Callable[[Any], bool] = lambda _: True) -> Any:
    """The module with the values that one function binds changed, and only bindings kept that are to be kept."""
    old = module[name]
    blocks = [
        type(block)([relax.VarBinding(b.var, change(b.value)) for b in block.bindings if keep(b)])
        for block in old.body.blocks
    ]
    new = relax.Function(old.params, relax.SeqExpr(blocks, old.body.body), old.ret_ty, old.is_pure, old.attrs)
    functions = {var: function for var, function in module.functions_items() if var.name_hint != name}
    return tvm.IRModule({**functions, module.get_global_var(name): new})


def test_group_that_does_a_kernel_twice() -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    after = X.FuseOps()(before)
    group = next(name.name_hint for name in after.get_global_vars() if name.name_hint.startswith("fused"))
    kernels = {var.name_hint: var for var in after.get_global_vars()}

    def exp_for_add(value: Any) -> Any:
        if value.args[0].name_hint != "add":
            return value
        return relax.Call(value.op, [kernels["tir_exp"], relax.Tuple([value.args[1][0]])], None, value.ty_args)

    wrong = rebuilt(after, group, exp_for_add)
    assert work_not_kept(Ran(before, after, {})) == ""
    assert work_not_kept(Ran(before, wrong, {})).startswith("work is done more often than before")


def test_kernel_that_is_lost_was_needed() -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    less = rebuilt(before, "main", lambda value: before["main"].params[0], keep=lambda _: True)
    assert work_not_kept(Ran(before, less, {})).startswith("work is done less often than before")
    assert work_not_kept(Ran(less, before, {})).startswith("work is done more often than before")


def test_a_composite_that_is_called_twice_does_its_work_twice() -> None:
    @I.ir_module
    class Before:
        @R.function(private=True)
        def f(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            R.func_attr({"Composite": "ext.abs"})
            return R.abs(x)

        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            cls = Before
            with R.dataflow():
                lv = cls.f(x)
                lv1 = cls.f(lv)
                R.output(lv1)
            return lv1

    after = X.MergeCompositeFunctions()(Before)
    assert work_not_kept(Ran(Before, after, {})) == ""
    once = rebuilt(Before, "main", lambda value: value, keep=lambda binding: binding.var.name != "lv1")
    assert "relax.abs" in work_not_kept(Ran(Before, once, {}))


def test_call_of_a_group_that_does_not_fit() -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    after = X.FuseOps()(before)

    def one_less(value: Any) -> Any:
        fused = isinstance(value.op, relax.GlobalVar)
        return relax.Call(value.op, list(value.args)[:-1], value.attrs, value.ty_args) if fused else value

    assert calls_do_not_fit(Ran(before, after, {})) == ""
    assert calls_do_not_fit(Ran(before, rebuilt(after, "main", one_less), {})).startswith(
        "a call of a group has another"
    )


def test_group_outside_of_dataflow_blocks() -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    after = X.FuseOps()(before)
    assert groups_outside_dataflow(Ran(before, after, {})) == ""
    assert groups_outside_dataflow(Ran(before, X.ToNonDataflow()(after), {})) != ""


@pytest.mark.parametrize(
    ("patterns", "fault"),
    [
        ({"add": 0, "tir_exp": 8}, "an opaque kernel is fused"),
        ({"add": 4, "tir_exp": 4}, "two complex kernels are fused"),
        ({"add": 3, "tir_exp": 0}, "a kernel is fused behind a reduction"),
        ({"add": 4, "tir_exp": 0}, "two complex kernels are fused"),  # the third is the sum
    ],
)
def test_what_may_not_be_fused(patterns: dict[str, int], fault: str) -> None:
    before = applied(chain(), *CONTRACTS["FuseOps"].prepare)
    after = X.FuseOps()(before)
    assert fused_what_may_not(Ran(before, after, {})) == ""
    for name, pattern in patterns.items():
        before[name] = before[name].with_attr("op_pattern", pattern)
    assert fused_what_may_not(Ran(before, after, {})).partition("\n")[0] == fault


def test_reduction_that_is_taken_for_elementwise() -> None:
    before = applied(chain(), "LegalizeOps")
    after = applied(before, "AnnotateTIROpPattern")
    assert reductions_misjudged(Ran(before, after, {})) == ""
    after["sum"] = after["sum"].with_attr("op_pattern", 2)
    assert reductions_misjudged(Ran(before, after, {})).startswith("a kernel with a reduction is no reduction")


def test_weights_that_are_not_said_to_be_free() -> None:
    before = applied(samples.weights(), "LegalizeOps")
    after = applied(before, "AttachAttrLayoutFreeBuffers")
    assert free_buffers_wrong(Ran(before, after, {})) == ""
    for var in after.get_global_vars():
        if isinstance(after[var], tvm.tirx.PrimFunc):
            after[var] = after[var].with_attr("layout_free_buffers", [7])
    assert free_buffers_wrong(Ran(before, after, {})).startswith("layout_free_buffers are not")


def test_kernel_of_other_dims_than_its_call() -> None:
    before = applied(chain(), "LegalizeOps")
    after = applied(before, "SpecializePrimFuncBasedOnCallSite")
    assert said("SpecializePrimFuncBasedOnCallSite", before, after) == []
    after["add"], after["sum"] = after["sum"], after["add"]
    assert shapes_not_specialized(Ran(before, after, {})).startswith("a kernel has other dims than its call")


@pytest.mark.parametrize("annotate", [False, True])
def test_groups_of_patterns(annotate: bool) -> None:
    before = chain()
    after = X.FuseOpsByPattern([ADD], annotate_codegen=annotate)(before)
    asked = {"0": [ADD], "annotate_codegen": annotate}
    assert said("FuseOpsByPattern", before, after, **asked) == []
    assert said("FuseOpsByPattern", before, before, **asked) == ["a call that matches is in no group"]
    other = {"0": [("pyext.plus", ADD[1])], "annotate_codegen": annotate}
    assert said("FuseOpsByPattern", before, after, **other) == ["a group is named after no pattern"]
    wrong = said("FuseOpsByPattern", before, after, **{**asked, "annotate_codegen": not annotate})
    assert wrong == [f"a group is {'' if annotate else 'not '}annotated with Codegen"]


def test_pattern_that_may_be_turned_down_is_no_certain_match() -> None:
    before = chain()
    refused: tuple[Any, ...] = ("pyext.add", ADD[1], {}, lambda context: False)
    after = X.FuseOpsByPattern([refused])(before)
    assert said("FuseOpsByPattern", before, after, **{"0": [refused]}) == []


def test_composites_are_merged() -> None:
    before = X.FuseOpsByPattern([ADD])(chain())
    after = X.MergeCompositeFunctions()(before)
    assert said("MergeCompositeFunctions", before, after) == []
    assert said("MergeCompositeFunctions", before, before) == ["a composite function is called by main"]
    external = next(var for var in after.get_global_vars() if "Codegen" in (after[var].attrs or {}))
    after[external] = after[external].with_attr("Codegen", "other")
    assert said("MergeCompositeFunctions", before, after) == ["Codegen is not the prefix of the Composite inside"]


def test_external_functions_become_symbols() -> None:
    tvm.register_global_func("relax.ext.pyext", lambda functions, options, constants: [], override=True)
    before = X.FuseOpsByPattern([ADD], annotate_codegen=True)(chain())
    after = X.RunCodegen()(before)
    assert said("RunCodegen", before, after) == []
    assert said("RunCodegen", before, before) == [
        "an external function is called as a Relax function",
        "a function is still marked with Codegen",
    ]
    renamed = rebuilt(
        after,
        "main",
        lambda value: (
            relax.Call(value.op, [relax.ExternFunc("other"), value.args[1]], value.attrs, value.ty_args)
            if value.op == tvm.ir.Op.get("relax.call_dps_packed")
            else value
        ),
    )
    assert said("RunCodegen", before, renamed) == ["a symbol is called that no external function has"]


def test_workspace_is_given() -> None:
    before = X.FuseOpsByPattern([ADD], annotate_codegen=True)(chain())
    (external,) = [var for var in before.get_global_vars() if "Codegen" in (before[var].attrs or {})]
    function = before[external]
    local = function.body.blocks[0].bindings[0]
    inner = relax.VarBinding(local.var, local.value.with_attr("WorkspaceSize", 64))
    body = relax.SeqExpr([relax.BindingBlock([inner, *function.body.blocks[0].bindings[1:]])], function.body.body)
    before[external] = relax.Function(function.params, body, function.ret_ty, True, function.attrs).with_attr(
        "WorkspaceSize", 64
    )
    assert workspace_missing(Ran(before, X.AllocateWorkspace()(before), {})) == ""
    assert workspace_missing(Ran(before, before, {})).startswith("a function still asks for a workspace")


def test_kernels_are_replaced() -> None:
    before = applied(chain(), "LegalizeOps")
    before["tir_exp"] = before["tir_exp"].with_attr("operator_name", "exp")
    other = before["tir_tanh"] if "tir_tanh" in {v.name_hint for v in before.get_global_vars()} else before["tir_exp"]
    transposed = [lambda i, j: (j, i)] * 2
    replacement = other.without_attr("operator_name") if other.attrs else other
    asked = {"0": {"exp": replacement}, "1": {"exp": [None, None]}}
    assert said("AlterOpImpl", before, X.AlterOpImpl(asked["0"], {})(before), **asked) == []
    assert said("AlterOpImpl", before, before, **{"0": {"exp": before["add"]}, "1": {}}) == ["a kernel is not replaced"]
    wanted = {"0": {"exp": replacement}, "1": {"exp": transposed}}
    assert said("AlterOpImpl", before, X.AlterOpImpl(asked["0"], {})(before), **wanted) == [
        "an operand is not transformed"
    ]
