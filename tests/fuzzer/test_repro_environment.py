"""The environment oracle's script runs each pass under the circumstance that the oracle drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from oracles.core.verdict import Outcome
from oracles.metamorphic.environment import circumstance
from relaxkit.passes.contract import Circumstance, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef

PASSES = """
import threading

import tvm
from tvm import relax

MENDED = False


def module_pass(name, run):
    return lambda: tvm.transform.module_pass(
        lambda module, context: module if MENDED else run(module, context), opt_level=0, name=name
    )


def in_thread(module, context):
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("the wrong thread for this width")
    return module


Watched = module_pass("Watched", lambda module, context: module.with_attr("watched", len(context.instruments)))
OwnThread = module_pass("OwnThread", in_thread)


def Sticky():
    seen = []

    def run(module, context):
        seen.append("small" in {var.name_hint for var in module.get_global_vars()})
        return module.with_attr("sticky", int(any(seen)))

    return module_pass("Sticky", run)()
"""
NORMALIZE = PassRef("Normalize", "relax.transform.Normalize()")


def sample() -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    return builder.finalize()


@pytest.mark.parametrize(
    ("name", "how", "says"),
    [
        ("Watched", Circumstance.INSTRUMENT, "a different module under a pass instrument"),
        ("Sticky", Circumstance.OTHER_MODULE, "a different module after a run on another module"),
        ("OwnThread", Circumstance.THREAD, "in another thread: RuntimeError: the wrong thread"),
    ],
)
def test_a_script_shows_what_is_around(name: str, how: Circumstance, says: str, tmp_path: Path) -> None:
    path = tmp_path / "planted_passes.py"
    path.write_text(PASSES)
    ref = PassRef(name, f"user:{path}:{name}")
    seed = next(seed for seed in range(1000) if circumstance(seed, ref, contract_for(ref)) is how)
    case = Case(str(tvm.ir.save_json(sample())), (NORMALIZE, ref), seed)
    (verdict,) = judge_case(case, (OracleName.ENVIRONMENT,))
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, name)
    script = tmp_path / "repro.py"
    script.write_text(render_repro(case, verdict, signature(verdict).text).text)
    assert "oracles" not in script.read_text()
    shown = check_repro(script)
    assert shown.confirmed, shown
    assert says in shown.output
    path.write_text(PASSES.replace("MENDED = False", "MENDED = True"))
    gone = check_repro(script)
    assert gone.exit_code == 0, gone
    assert gone.output.startswith("OK: ")
