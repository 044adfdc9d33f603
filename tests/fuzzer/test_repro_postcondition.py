# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def, import-not-found, no-any-return"
"""Scripts of broken postconditions: they copy the claim of TVM's pass, or load it from the user's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from planted.catalogue import PLANTED
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

UPDATE = PassRef("UpdateVDevice", 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2), 0)')


def on_device() -> Any:
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0")):
            return (x, x)

    return Module


def failing(case: Case) -> Verdict:
    (verdict,) = judge_case(case, (OracleName.POSTCONDITION,))
    assert verdict.outcome is Outcome.FAIL
    return verdict


def script_of(case: Case, verdict: Verdict, directory: Path) -> Path:
    path = directory / "repro.py"
    path.write_text(render_repro(case, verdict, signature(verdict).text).text, encoding="utf-8")
    return path


def planted(name: str) -> PassRef:
    return next(item for item in PLANTED if item.factory == name).ref()


def case_of(module: Any, *passes: PassRef) -> Case:
    return Case(str(tvm.ir.save_json(module)), passes, 0)


def probed() -> Any:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    return builder.finalize().with_attr("model", "a")


@pytest.mark.parametrize(
    ("make", "passes"),
    [
        (on_device, (UPDATE,)),
        (on_device, (PassRef("Normalize", "relax.transform.Normalize()"), UPDATE)),
        (probed, (planted("leaves_probe"),)),
        (probed, (planted("drops_module_attributes"),)),
    ],
    ids=["claim-of-tvm", "in-a-pipeline", "claim-of-a-user", "kept-by-every-pass"],
)
def test_the_script_shows_the_broken_claim(make: Any, passes: tuple[PassRef, ...], tmp_path: Path) -> None:
    case = case_of(make(), *passes)
    verdict = failing(case)
    path = script_of(case, verdict, tmp_path)
    result = check_repro(path)
    assert result.confirmed, result
    text = path.read_text(encoding="utf-8")
    assert not any(line.startswith(("from oracles", "from fuzzer", "import oracles")) for line in text.splitlines())


def test_the_script_is_silent_where_the_claim_holds(tmp_path: Path) -> None:
    case = case_of(probed(), planted("leaves_probe"))
    verdict = failing(case)
    text = render_repro(case, verdict, signature(verdict).text).text
    path = tmp_path / "repro.py"
    twin = text.replace("user_pass('", "clean_twin('").replace(
        "\n\n\nMODULE = ",
        '\n\n\ndef clean_twin(where, name):\n    return user_pass(where, f"{name}_clean")\n\n\nMODULE = ',
        1,
    )
    path.write_text(twin, encoding="utf-8")
    result = check_repro(path)
    assert (result.exit_code, result.said) == (0, "OK: the pass has done what it claims")
