"""Every pass that the installed TVM offers is under contract, or is excluded with a reason."""

from __future__ import annotations

import types

import installed_passes as installed
import pytest
import tvm
from installed_passes import installed_passes
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline

from oracles import CONTRACTS
from relaxkit.passes.contracts.pipelines import PIPELINES
from relaxkit.passes.exclusions import EXCLUDED, ROWS, Why

INSTALLED = installed_passes()


def test_every_installed_pass_is_in_exactly_one_list() -> None:
    unknown = {name: places for name, places in INSTALLED.items() if name not in CONTRACTS and name not in EXCLUDED}
    assert not unknown, "add a contract (docs/writing-a-pass-contract.md) or a row in relaxkit/passes/exclusions.py"
    assert not CONTRACTS.keys() & EXCLUDED.keys()


def test_what_is_listed_is_installed() -> None:
    assert CONTRACTS.keys() - PIPELINES.keys() <= INSTALLED.keys()
    assert EXCLUDED.keys() <= INSTALLED.keys()


def test_the_search_finds_passes_wherever_they_are_defined() -> None:
    assert {
        "FuseOps",  # a function with an annotation, and the FFI
        "UpdateParamType",  # a function without
        "FastMathTransform",  # a decorated class
        "annotate_workspace",  # a decorated function
        "DispatchSortScan",
        "AppendLoss",
        "FoldVDeviceScopeChange",
        "LowerDistIR",
        "pipeline zero",
        "cpu_generic.legalize_passes",
    } <= INSTALLED.keys()
    assert "FFI relax.transform.FuseOps" in INSTALLED["FuseOps"]


def test_a_new_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("tvm.relax.transform")

    def Fresh() -> tvm.ir.transform.Pass:
        return relax.transform.Normalize()

    Fresh.__module__ = "tvm.relax.transform"
    module.__dict__.update(Fresh=Fresh)
    monkeypatch.setattr(installed, "_modules", lambda: [module])
    assert "Fresh" in installed_passes().keys() - CONTRACTS.keys() - EXCLUDED.keys()


def test_every_exclusion_has_its_reason_and_source() -> None:
    assert len(EXCLUDED) == len(ROWS)
    for row in ROWS:
        assert len(row.reason) > 10
        assert row.source
        assert set(row.judged_as) <= CONTRACTS.keys()
        assert row.judged_as or row.why not in (Why.SAME_AS, Why.MADE_OF)


def test_the_lists_of_the_cpu_are_the_pipeline_that_is_judged() -> None:
    target = tvm.target.Target("llvm")
    lists = ("library_dispatch_passes", "legalize_passes", "dataflow_lower_passes", "finalize_passes")
    for name in lists:
        passes = [each.info.name for each in getattr(pipeline, name)(target)]
        assert tuple(passes) == EXCLUDED[f"cpu_generic.{name}"].judged_as[1:]


def test_the_old_name_builds_the_same_pass() -> None:
    with pytest.warns(UserWarning, match="renamed"):
        old = relax.transform.VMBuiltinLower()
    assert old.info.name == relax.transform.LowerRuntimeBuiltin().info.name


def test_an_empty_database_changes_nothing() -> None:
    meta_schedule = pytest.importorskip("tvm.s_tir.meta_schedule", reason="it is elsewhere in this TVM")
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    module = relax.transform.LegalizeOps()(builder.finalize())
    with tvm.target.Target("llvm"), meta_schedule.database.MemoryDatabase():
        result = relax.transform.MetaScheduleApplyDatabase()(module)
    assert tvm.ir.save_json(result) == tvm.ir.save_json(module)
