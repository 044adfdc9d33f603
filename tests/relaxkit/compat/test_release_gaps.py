"""What a release lacks is skipped by name; what only it refuses is not an error of ours."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

from relaxkit.compat import jit
from relaxkit.compat import known as gaps
from relaxkit.runtime import run
from strategies import modules
from strategies.operators import LACKING as LACKING_OPERATORS
from strategies.operators import OPERATORS
from strategies.pass_arguments.table import LACKING as LACKING_PASSES
from strategies.pass_arguments.table import PASS_ROWS


def test_what_tvm_has_is_not_lacking() -> None:
    assert gaps.lacks_pass("FuseOps") == ""
    assert gaps.lacks_pass("DispatchSortScan") == ""
    assert gaps.lacks_pass("build:zero") == ""
    assert gaps.lacks_operator("relax.add") == ""


def test_what_tvm_has_not_is_named_with_its_release() -> None:
    assert gaps.lacking_passes(["FuseOps", "FuseWorlds"]) == {"FuseWorlds": f"TVM {tvm.__version__} has no such pass"}
    assert gaps.lacks_operator("relax.nothing") == f"TVM {tvm.__version__} has no such operator"


def test_the_tables_hold_only_what_there_is() -> None:
    assert not LACKING_PASSES.keys() & PASS_ROWS.keys()
    assert not LACKING_OPERATORS.keys() & {row.name for row in OPERATORS}
    if gaps.is_newest():
        assert (LACKING_PASSES, LACKING_OPERATORS) == ({}, {})


def refused() -> Any:
    """A call that TVM refuses on every release."""
    x = relax.Var("x", relax.TensorType([2, 3], "float32"))
    return relax.BlockBuilder().normalize(relax.op.matmul(x, x))


def test_only_errors_that_an_older_tvm_raises_are_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name, act in (("tvm", refused), ("ours", lambda: {}["missing"]), ("name", lambda: relax.no_such_name)):
        with pytest.raises((ValueError, TypeError, KeyError, AttributeError)) as raised:
            act()
        for newest in (True, False):
            monkeypatch.setattr(gaps, "is_newest", lambda newest=newest: newest)
            found[name, newest] = gaps.excuses(raised.value)
    assert [key for key, excused in found.items() if excused] == [("tvm", False)]


def test_draws_that_an_older_release_cannot_express_are_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "is_newest", lambda: False)
    monkeypatch.setattr(gaps, "is_newest", lambda: False)

    @st.composite
    def sometimes(draw: Any) -> Any:
        if draw(st.booleans()):
            refused()
        return tvm.IRModule({})

    seen = []

    @settings(max_examples=20, database=None, derandomize=True, deadline=None)
    @given(modules.expressible(sometimes()))
    def drawn(module: Any) -> None:
        seen.append(module)

    drawn()
    assert seen


def test_the_newest_release_is_drawn_from_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "is_newest", lambda: True)
    strategy = st.just(1)
    assert modules.expressible(strategy) is strategy


def test_without_a_jit_programs_are_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_sessions", [])
    monkeypatch.setattr(jit, "available", lambda: False)
    assert isinstance(run.session(), run.PlainSession)
    monkeypatch.setattr(jit, "installed", lambda: False)
    assert gaps.lines() == (jit.NO_JIT,)
    monkeypatch.setattr(run, "_sessions", [])
    monkeypatch.setattr(jit, "available", lambda: True)
    assert not isinstance(run.session(), run.PlainSession)
