"""Names and calls that locality must not compare, and steps that it must leave out."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sample_modules as samples
import tvm
from tvm import relax
from verdict_rows import ref, tensor

from oracles.core.module_facts import ModuleFacts, apply, load
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.metamorphic import locality
from oracles.metamorphic.locality_compare import pair
from oracles.metamorphic.locality_variation import Change, ModuleVariation, _renamed
from oracles.metamorphic.relations import RELATIONS
from relaxkit.passes.claims.common import untouched
from relaxkit.passes.claims.training import loss_not_appended
from relaxkit.passes.contract import (
    Locality,
    OracleName,
    Ran,
)
from relaxkit.passes.pass_ref import PassRef

PAIR = relax.TensorType((2,), "float32")


def test_a_step_that_raises_earlier_on_the_added_function_is_left_out() -> None:
    """BindParams("main") raised, so that what LegalizeOps and the pass behind it do there was never seen."""

    def named(module: Any, context: Any) -> Any:
        module["main"]
        return module

    def marking(module: Any, context: Any) -> Any:
        return module.with_attr("marked", 1)

    def failing(module: Any, context: Any) -> Any:
        if "marked" in module.attrs and any(gv.name_hint == "unrelated" for gv in module.functions):
            raise ValueError("of the added function, behind another step")
        return module

    steps = [tvm.transform.module_pass(each, opt_level=0) for each in (named, marking, failing)]
    (function,) = samples.MODULES["dataflow"]().functions.values()
    unrelated = tvm.IRModule({tvm.ir.GlobalVar("unrelated"): function.with_attr("global_symbol", "unrelated")})
    subject: Any = SimpleNamespace(plan=SimpleNamespace(steps=steps), built=lambda index: steps[index])
    variation = ModuleVariation(Change.ADDED, "", unrelated, frozenset(), (), "", unrelated)
    again = apply(steps[2], apply(steps[1], unrelated).module)
    assert again.error is not None
    run: Any = SimpleNamespace(subject=subject, variation=variation, again=again, index=2)
    assert locality._raises_alone(subject, run)


def test_names_that_become_public_within_a_pipeline_are_not_changed() -> None:
    module = samples.private_calls()

    def renamings(*passes: PassRef) -> list[ModuleVariation]:
        subject = Subject(module, passes, facts=ModuleFacts(module))
        drawn = [_renamed(subject, random.Random(seed), Locality.FUNCTION) for seed in range(6)]
        return [each for each in drawn if each is not None]

    publish, behind = ref("AttachGlobalSymbol"), ref("LegalizeOps")
    assert renamings(behind)
    assert renamings(behind, publish)
    assert not renamings(publish, behind)


def test_symbols_of_external_functions_that_kernels_became_are_names_only() -> None:
    def split(name: str, called: str) -> Any:
        builder, x = relax.BlockBuilder(), relax.Var("x", PAIR)
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(relax.call_dps_packed(called, (x,), PAIR)))
        module = builder.get()
        module.update_func(tvm.ir.GlobalVar(name), relax.ExternFunc(name))
        return module

    before = split("add_one", "add_one")
    assert pair(before, split("zz_add_one", "zz_add_one"), "main", frozenset({"main"})) is None
    assert pair(before, split("add_one", "library_function"), "main", frozenset({"main"})) is not None
    given = frozenset({"main", "add_one", "zz_add_one"})
    assert pair(before, split("zz_add_one", "zz_add_one"), "main", given) is not None, "names that the pass was given"


def test_functions_of_two_copies_are_compared_by_the_names_that_they_call() -> None:
    text = str(tvm.ir.save_json(samples.private_calls()))
    left, right = load(text), load(text)
    names = [var.name_hint for var, f in left.functions_items() if isinstance(f, relax.Function)]
    assert all(untouched(left[name], right[name]) for name in names)
    calling = next(name for name in names if relax.analysis.all_global_vars(left[name]))
    renamed = tvm.IRModule({tvm.ir.GlobalVar(f"{var.name_hint}_other"): f for var, f in right.functions_items()})
    assert untouched(left[calling], renamed[f"{calling}_other"])  # its calls still name what they named
    assert not untouched(left[calling], left[calling].with_attr("visited", 1))


def test_kernels_that_call_kernels_are_compared_by_the_names_that_they_call() -> None:
    def kernels(called: str) -> Any:
        return tvm.script.from_source(f"""
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def one(A: T.Buffer((T.int64(2),), "float32")):
        A[0] = T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def two(A: T.Buffer((T.int64(2),), "float32")):
        A[0] = T.float32(1)

    @T.prim_func(private=True, s_tir=True)
    def calling(A: T.Buffer((T.int64(2),), "float32")):
        Module.{called}(A.data)
""")

    left = kernels("one")
    assert untouched(left["calling"], load(str(tvm.ir.save_json(left)))["calling"])
    assert not untouched(left["calling"], kernels("two")["calling"])


@pytest.mark.parametrize(("names", "compared"), [(("FuseOps",), True), (("FuseOps", "AttachGlobalSymbol"), False)])
def test_names_that_were_private_may_shift_before_they_become_public(names: tuple[str, ...], compared: bool) -> None:
    subject = Subject(samples.private_calls(), [ref(name) for name in names])
    variation: Any = SimpleNamespace(made=True)
    assert locality._made_again(subject, variation) is compared


def test_a_step_that_raises_on_the_added_function_itself_is_not_unlocal() -> None:
    def failing(module: Any, context: Any) -> Any:
        if any(gv.name_hint == "unrelated" for gv in module.functions):
            raise ValueError("of the added function")
        return module

    def named(module: Any, context: Any) -> Any:
        module["main"]
        return module

    steps = [tvm.transform.module_pass(each, opt_level=0) for each in (named, failing)]
    other = samples.MODULES["dataflow"]()
    (name,) = [gv.name_hint for gv in other.functions]
    function = other[name].with_attr("global_symbol", "unrelated")
    unrelated = tvm.IRModule({tvm.ir.GlobalVar("unrelated"): function})
    subject: Any = SimpleNamespace(plan=SimpleNamespace(steps=steps), built=lambda index: steps[index])
    variation = ModuleVariation(Change.ADDED, "", unrelated, frozenset(), (), "", unrelated)
    again = apply(steps[1], unrelated)
    assert again.error is not None
    run: Any = SimpleNamespace(subject=subject, variation=variation, again=again, index=1)
    assert locality._raises_alone(subject, run)


def test_functions_beside_a_loss_are_compared_between_copies() -> None:
    bb = relax.BlockBuilder()
    a, x = relax.Var("a", PAIR), relax.Var("x", PAIR)
    with bb.function("callee", [a], private=True):
        bb.emit_func_output(bb.emit(relax.op.abs(a)))
    with bb.function("caller", [x]):
        bb.emit_func_output(bb.emit(relax.Call(bb.get().get_global_var("callee"), [x])))
    y = relax.Var("y", PAIR)
    with bb.function("main", [y]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.sin(y))
        bb.emit_func_output(out)
    before = bb.get()
    loss = relax.training.loss.L1Loss("sum")(PAIR, PAIR)
    after = relax.training.utils.AppendLoss("main", loss)(load(tvm.ir.save_json(before)))
    assert loss_not_appended(Ran(before, after, {"0": "main", "1": loss})) == ""


def kernel(name: str, scale: float) -> str:
    return f"""
    @T.prim_func(private=True)
    def {name}(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = A[i] * T.float32({scale})
"""


def calling(first: str, second: str, *kernels: str) -> Any:
    return tvm.script.from_source(f"""
@I.ir_module
class Module:
    {"".join(kernels)}
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        a = R.call_tir(cls.{first}, (x,), R.Tensor((2,), "float32"))
        b = R.call_tir(cls.{second}, (a,), R.Tensor((2,), "float32"))
        return b
""")


def test_which_of_equal_kernels_is_called_does_not_matter() -> None:
    """LegalizeOps takes a kernel that is there for the one it would make, and a copy had brought an equal one."""
    before = calling("own", "own", kernel("own", 2.0))
    for second, scale, same in (("twin", 2.0, True), ("twin", 3.0, False)):
        after = calling("own", second, kernel("own", 2.0), kernel("twin", scale))
        assert len(after.functions) == 3
        for ours, theirs in ((before, after), (after, before)):
            assert (pair(ours, theirs, "main", frozenset({"main"})) is None) is same


def test_a_symbol_that_was_the_name_of_a_renamed_kernel_may_shift_with_it() -> None:
    """AttachAttrLayoutFreeBuffers was blamed for names that LegalizeOps gives beside another function."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", PAIR)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    passes = [ref("LegalizeOps"), ref("AttachGlobalSymbol"), ref("AttachAttrLayoutFreeBuffers")]
    said = [RELATIONS[OracleName.LOCALITY].judge(Subject(builder.get(), passes, input_seed=seed)) for seed in range(12)]
    assert {each.outcome for each in said} <= {Outcome.PASS, Outcome.SKIP}
    assert Outcome.PASS in {each.outcome for each in said}


def test_composites_that_are_compiled_outside_name_what_is_linked():
    bb = relax.BlockBuilder()
    x, y = relax.Var("x", tensor((2,))), relax.Var("y", tensor((2,)))
    with bb.function("inner", [x], attrs={"Composite": "pyext.abs"}, private=True):
        bb.emit_func_output(bb.emit(relax.op.abs(x)))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(bb.get().get_global_var("inner"), [y])))
    alone = bb.get()
    with bb.function("inner_pyext", [relax.Var("z", tensor((2,)))], attrs={"Codegen": "pyext"}):
        bb.emit_func_output(relax.const(np.zeros(2, "float32")))
    beside = bb.get()

    def renamed(*passes, module=alone):
        subject = Subject(module, passes, facts=ModuleFacts(module))
        drawn = [_renamed(subject, random.Random(seed), Locality.FUNCTION) for seed in range(6)]
        return [each for each in drawn if each is not None]

    assert renamed(ref("FuseOpsByPattern", "[]"))
    assert not renamed(ref("FuseOpsByPattern", "[]"), ref("RunCodegen"))
    assert not renamed(ref("FuseOpsByPattern", "[]"), module=beside)  # which would be the one that it makes of inner
