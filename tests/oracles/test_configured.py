"""Passes with options of the ``PassContext``: what ``configured`` adds, and what it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
import tvm
from tvm.ir.instrument import pass_instrument

from fuzzer.core.case import Case
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.arguments import arguments_of
from relaxkit.passes.contract import Idempotence, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.helpers import configured
from relaxkit.passes.pass_ref import PassRef

GRAPH = 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'


def context_inside(**around: Any) -> Any:
    """The context that a configured pass runs in, when the pass is called in a context."""
    seen: list[Any] = []

    def look(module: Any) -> Any:
        seen.append(tvm.transform.PassContext.current())
        return module

    built, module = configured(buggy.make("inner", look).build(), {"relax.FuseOps.max_depth": 3}), samples.dataflow()
    with tvm.transform.PassContext(**around):
        built(module)
    return seen[0]


def test_options_are_added_to_the_context() -> None:
    context = context_inside(
        opt_level=1, disabled_pass=["Normalize"], required_pass=["FuseTIR"], config={"testing.immutable_module": True}
    )
    assert dict(context.config) == {"testing.immutable_module": True, "relax.FuseOps.max_depth": 3}
    assert int(context.opt_level) == 1
    assert (list(context.disabled_pass), list(context.required_pass)) == (["Normalize"], ["FuseTIR"])


def test_instruments_see_one_pass_of_the_same_name() -> None:
    @pass_instrument
    class Names:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def run_before_pass(self, module: Any, info: Any) -> None:
            self.seen.append(str(info.name))

    names = Names()
    assert list(context_inside(instruments=[names]).instruments) == []
    assert names.seen == ["inner"]


def test_an_error_leaves_the_context_as_it_was() -> None:
    failing = configured(buggy.raises(RuntimeError("inside")).build(), {"relax.FuseOps.max_depth": 3})
    with pytest.raises(RuntimeError, match="inside"):
        failing(samples.dataflow())
    assert "relax.FuseOps.max_depth" not in tvm.transform.PassContext.current().config


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(AttributeError, match="Invalid config option"):
        configured(buggy.identity().build(), {"relax.no.such": 1})(samples.dataflow())


def test_the_text_is_built() -> None:
    assert str(PassRef("RewriteCUDAGraph", GRAPH).build().info.name) == "RewriteCUDAGraph"


def test_arguments_are_those_of_the_pass_inside() -> None:
    text = 'configured(relax.transform.FuseOps(fuse_opt_level=1), {"relax.FuseOps.max_depth": 2})'
    assert arguments_of(text) == {"fuse_opt_level": 1}


def test_the_contract_depends_on_the_option() -> None:
    with_graphs = contract_for(PassRef("RewriteCUDAGraph", GRAPH))
    without = contract_for(PassRef("RewriteCUDAGraph", "relax.transform.RewriteCUDAGraph()"))
    assert (with_graphs.idempotence, without.idempotence) == (Idempotence.NEVER, Idempotence.IDEMPOTENT)
    assert with_graphs.prepare[-1] == "StaticPlanBlockMemory"


def test_a_script_defines_what_it_needs(tmp_path: Path) -> None:
    case = Case(str(tvm.ir.save_json(samples.duplicates())), (PassRef("RewriteCUDAGraph", GRAPH),), 0)
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "RewriteCUDAGraph", evidence=Evidence("InternalError", "words"))
    script = tmp_path / "repro.py"
    script.write_text(render_repro(case, verdict, "none").text)
    assert "def configured(" in script.read_text()
    assert "import vocabulary" not in script.read_text()
    shown = check_repro(script)
    assert shown.output.startswith("OK: "), shown
