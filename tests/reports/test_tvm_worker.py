"""Modules made to exhaust TVM's printer: they are left out of reports, which take seconds for all of them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import tvm
import tvm_ffi
from sample_findings import finding
from tvm import relax

from fuzzer.store.writer import FindingRecord, FindingState
from relaxkit.passes.pass_ref import PassRef
from reports.findings import passes_text
from reports.page import tvm_worker
from reports.page.tvm_worker import TvmWorker

MATRIX = relax.TensorType(relax.ShapeExpr([2, 3]), "float32")


def wide(doublings: int) -> str:
    """A module of three kilobytes, whose one type is written out 2 to this power times."""
    ty = MATRIX
    for _ in range(doublings):
        ty = relax.TupleType([ty, ty])
    x = relax.Var("x", ty)
    return str(tvm.ir.save_json(tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], x), ty)})))


def long(variables: int) -> str:
    """A module whose variables have all one name: for each of them the printer tries all numbers that are taken."""
    bindings = []
    last = x = relax.Var("x", MATRIX)
    for _ in range(variables):
        bindings.append(relax.VarBinding(relax.Var("x", MATRIX), last))
        last = bindings[-1].var
    body = relax.SeqExpr([relax.BindingBlock(bindings)], last)
    return str(tvm.ir.save_json(tvm.IRModule({"main": relax.Function([x], body, MATRIX)})))


def found(*modules: str) -> list[FindingRecord]:
    record = finding(1, "FuseOps", FindingState.CONFIRMED, "crash", "boom")
    return [
        replace(record, id=f"{number:010x}", case=replace(record.case, module_json=module))
        for number, module in enumerate(modules)
    ]


def printed(*modules: str) -> list[bool]:
    """Say of each module whether it is printed."""
    with TvmWorker(records := found(*modules)) as worker:
        return ["def main" in worker.module(each) for each in records]


@pytest.mark.parametrize(("state", "shown"), [(FindingState.NEW, 3), (FindingState.CONFIRMED, 1)])
def test_the_module_belongs_to_the_message(state: FindingState, shown: int) -> None:
    """A minimization under way had saved a smaller module, which stood beside the numbers of the first one."""
    (record,) = found(long(3))
    smaller = replace(record.case, module_json=long(1), passes=())
    record = replace(record, minimized=smaller, state=state)
    with TvmWorker([record]) as worker:
        assert worker.module(record).count(': R.Tensor((2, 3), dtype="float32") = ') == shown
    assert bool(passes_text(record)) is (state is FindingState.NEW)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("user:/shop/passes.py:Fold", "Fold()  # /shop/passes.py"),
        ("user:shop.passes:make(5, ':')", "make(5, ':')  # shop.passes"),
        ("relax.transform.FuseOps()", "relax.transform.FuseOps()"),
    ],
)
def test_a_pass_is_shown_as_the_call_that_builds_it(expression: str, shown: str) -> None:
    (record,) = found(long(3))
    assert passes_text(replace(record, case=replace(record.case, passes=(PassRef("P", expression),)))) == shown


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, one module may cost all the seconds that may be lost."""
    monkeypatch.setattr(tvm_worker, "_LOST_SECONDS", 300.0)


@pytest.mark.usefixtures("patient")
def test_a_module_that_takes_too_much_memory_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm_worker, "_MODULE_SECONDS", 60.0)
    monkeypatch.setattr(tvm_worker, "_MEMORY", 400 << 20)
    assert printed(wide(16), wide(4)) == [False, True]


@pytest.mark.usefixtures("patient")
def test_a_module_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm_worker, "_MODULE_SECONDS", 1.0)
    assert printed(long(12_000), long(4)) == [False, True]


def test_behind_some_lost_seconds_no_more_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed("{}", wide(4)) == [False, True]
    monkeypatch.setattr(tvm_worker, "_LOST_SECONDS", 1e-6)
    assert printed("{}", wide(4)) == [False, False]


def test_a_module_that_becomes_too_long_is_cut_and_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    records = found(wide(13), wide(4))
    with TvmWorker(records) as worker:
        lengths = [len(worker.module(each)) for each in records]
    assert lengths[1] < 2_000 < lengths[0] < 41_000
    monkeypatch.setattr(tvm_worker, "_LOST_SECONDS", 1e-6)
    assert printed(wide(13), wide(4)) == [True, False]


def test_all_modules_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm_worker, "_MOST_TEXT", 60_000, raising=False)
    assert printed(wide(11), wide(11), wide(11), wide(4)) == [True, True, False, False]


@pytest.mark.slow
@pytest.mark.timeout(100)
def test_many_such_modules_take_seconds() -> None:
    slow = long(40_000)
    begun = time.monotonic()
    assert printed(wide(40), *[slow] * 8) == [False] * 9
    assert time.monotonic() - begun < 40, "one of them alone takes as long, or gigabytes"


def test_a_compiled_module_in_a_module_is_read_and_not_run() -> None:
    """TVM's reader makes the object; none of its loaders may map or run code, and a new one must be looked at."""
    loaders = {name for name in tvm_ffi.registry.list_global_func_names() if ".load_from_bytes." in name}
    assert {name.rpartition("load_from_bytes.")[2] for name in loaders} == {
        "c", "const_loader", "relax.VMExecutable", "static_library",
    }  # fmt: skip
    x = relax.Var("x", MATRIX)
    called = relax.Call(relax.ExternFunc("canary.touch"), [x], ty_args=[MATRIX])
    module = tvm.IRModule({"main": relax.Function([x], relax.SeqExpr([], called), MATRIX, is_pure=False)})
    text = str(tvm.ir.save_json(module.with_attr("x", tvm.compile(module, "llvm").mod)))

    def code() -> set[str]:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return {line.split()[-1] for line in lines if "x" in line.split()[1]}

    with TvmWorker() as worker:
        assert "canary.touch" in worker.module(found(text)[0])
    tvm_worker._script(str(tvm.ir.save_json(module)))
    before = code()
    assert 'metadata["ffi.Module"]' in tvm_worker._script(text)
    assert code() == before
