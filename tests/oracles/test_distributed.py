"""Distributed tensors: claims of the passes on them, and edits of modules that have some."""

from __future__ import annotations

from typing import Any

import distributed_modules as modules
import pytest
import tvm
import tvm_ffi
from claims_of_passes import assert_claims, broken
from tvm import relax

from oracles.core.module_facts import complaint
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from relaxkit.ir.edits import functions_of, renamed
from relaxkit.passes.claims.training import calls_differ
from relaxkit.passes.contract import OracleName, Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.plan import preparing

PASSES = ["PropagateSharding", "LegalizeRedistribute", "LowerGlobalViewToLocalView", "LowerDistIR"]


def prepared(name: str, module: Any) -> Any:
    for each in CONTRACTS[name].prepare:
        module = preparing(each).build()(module)
    return module


@pytest.mark.parametrize(
    ("name", "make", "claims"),
    [
        ("PropagateSharding", modules.annotated, {"no annotation is left"}),
        ("LegalizeRedistribute", modules.spread, {"no redistribution is left"}),
        ("LowerGlobalViewToLocalView", modules.annotated, {"every kernel sees its own part"}),
        ("LowerGlobalViewToLocalView", modules.spread, {"every kernel sees its own part"}),
        ("LowerDistIR", modules.annotated, {"no distributed tensor is left"}),
        ("LowerDistIR", modules.spread, {"no distributed tensor is left"}),
    ],
)
def test_passes_do_what_they_claim(name: str, make: Any, claims: set[str]) -> None:
    assert_claims(preparing(name).expression, lambda: prepared(name, make()), claims)


def test_sums_over_devices_take_shared_memory() -> None:
    def summed(kind: str) -> Any:
        builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((4,), "float32"))
        with builder.function("main", [x]):
            value = builder.emit(relax.op.abs(x))
            builder.emit_func_output(builder.emit(relax.op.ccl.allreduce(value, kind)))
        return prepared("IPCAllReduceRewrite", builder.get())

    expression = "relax.transform.IPCAllReduceRewrite(1)"
    assert_claims(expression, lambda: summed("sum"), {"sums over devices take memory that processes share"})
    assert_claims(expression, lambda: summed("max"), set())


@pytest.mark.parametrize("name", PASSES)
def test_functions_of_whole_tensors_stay(name: str) -> None:
    def module(call: Any) -> Any:
        builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType((4,), "float32"))
        with builder.function("main", [x]):
            builder.emit_func_output(builder.emit(call(x)))
        return builder.get()

    run = Ran(module(relax.op.abs), module(relax.op.exp), {})
    assert broken(run, name) == ["functions of whole tensors stay"]


@pytest.mark.parametrize(("scope", "claims"), [("ipc_memory", False), ("global", True)])
def test_memory_that_processes_share_is_lowered_and_no_other(scope: str, claims: bool) -> None:
    """Nor is any other in a module that has such memory in another function."""

    def module(value: Any) -> Any:
        builder = relax.BlockBuilder()
        shared = relax.op.memory.alloc_storage(relax.ShapeExpr([64]), 0, "ipc_memory", "uint8")
        for name, each in (("main", value), ("beside", shared)):
            with builder.function(name, [], {"relax.force_pure": True}):
                builder.emit_func_output(builder.emit(each))
        return builder.get()

    before = module(relax.op.memory.alloc_storage(relax.ShapeExpr([64]), 0, scope, "uint8"))
    run = Ran(before, module(relax.Call(relax.ExternFunc("shared"), [], ty_args=[relax.AnyType()])), {})
    expected = ["functions without memory that processes share stay"]
    assert broken(run, "LowerGPUIPCAllocStorage") == (expected if claims else [])
    said = "\nmakes main call no operator instead of relax.memory.alloc_storage"
    assert calls_differ(run, ()).endswith(said)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("make", [modules.annotated, modules.spread])
def test_oracles_judge_distributed_tensors(name: str, make: Any) -> None:
    for seed in range(6):
        verdicts = judge(Subject(make(), [preparing(name)], input_seed=seed))
        said = {verdict.oracle: verdict.outcome for verdict in verdicts}
        assert said.pop(OracleName.NUMERIC) is Outcome.SKIP
        assert set(said.values()) == {Outcome.PASS}


@pytest.mark.parametrize("make", [modules.annotated, modules.spread])
def test_a_module_of_distributed_tensors_is_renamed(make: Any) -> None:
    module = make()
    copy = renamed(module, {"add_one": "zz"})
    assert set(functions_of(copy)) == {"main", "zz"}
    assert complaint(copy) is None
    assert tvm_ffi.structural_equal(renamed(copy, {"zz": "add_one"}), module)
    assert "mesh[0]" in tvm.ir.load_json(tvm.ir.save_json(copy)).script()
