"""The locality oracle's script varies the module as the case's seed decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tvm
from planted.catalogue import PLANTED
from tvm import relax

from corpus.case import load, load_module
from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from fuzzer.repro.short.render import short_forms
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.metamorphic.locality_variation import Change, ModuleVariation, draw
from relaxkit.ir.edits import reordered
from relaxkit.passes.contract import Locality, OracleName
from relaxkit.passes.pass_ref import PassRef


def planted(name: str) -> PassRef:
    return next(item for item in PLANTED if item.factory == name).ref()


def two_private() -> Any:
    """A public function that calls two private ones."""
    builder = relax.BlockBuilder()
    helpers = []
    for name, op in (("second", relax.op.exp), ("first", relax.op.tanh)):
        x = relax.Var("x", relax.TensorType((2,), "float32"))
        with builder.function(name, [x], private=True):
            helpers.append(builder.emit_func_output(builder.emit(op(x))))
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(helpers[1](builder.emit(helpers[0](x)))))
    return builder.finalize()


def variation_of(case: Case) -> ModuleVariation:
    variation = draw(Subject(tvm.ir.load_json(case.module_json), case.passes, input_seed=case.input_seed), REACH)
    assert variation is not None
    return variation


REACH = Locality.FUNCTION


def failing(module: Any, ref: PassRef, wanted: Any) -> tuple[Case, Verdict]:
    """A case of which the oracle says that it fails, under a variation that is wanted."""
    for seed in range(0, 2000, 8):
        case = Case(str(tvm.ir.save_json(module)), (ref,), seed)
        if wanted(variation_of(case)):
            (verdict,) = judge_case(case, (OracleName.LOCALITY,))
            if verdict.outcome is Outcome.FAIL:
                return case, verdict
    raise AssertionError("no seed draws this variation")


def added(variation: ModuleVariation) -> bool:
    return variation.change is Change.ADDED and "run_passes" in variation.builder


def twin(variation: ModuleVariation) -> bool:
    return variation.change is Change.ADDED and variation.builder.startswith("unrelated_twin")


def changed(change: Change) -> Any:
    return lambda variation: variation.change is change


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("numbered", added),
        ("only_one", twin),
        ("numbered", changed(Change.REORDERED)),
        ("first_by_name", changed(Change.RENAMED)),
    ],
    ids=["added", "twin", "reordered", "renamed"],
)
def test_the_script_shows_what_the_oracle_saw(name: str, wanted: Any, tmp_path: Path) -> None:
    case, verdict = failing(two_private(), planted(name), wanted)
    text = render_repro(case, verdict, signature(verdict).text).text
    assert not any(line.startswith(("from oracles", "from fuzzer", "import oracles")) for line in text.splitlines())
    path = tmp_path / "repro.py"
    path.write_text(text, encoding="utf-8")
    result = check_repro(path)
    assert result.confirmed, result


def test_the_short_script_writes_no_function_twice(tmp_path: Path) -> None:
    case, verdict = failing(two_private().with_attr("tag", 1), planted("numbered"), added)
    script = short_forms(case, verdict).scripts[0]
    assert script.text.count("def main(") == 1
    assert 'Without = Before.clone()\ndel Without["unrelated' in script.text, "the control is the printed module"
    path = tmp_path / "repro.py"
    path.write_text(script.text, encoding="utf-8")
    assert check_repro(path, ending=script.ending).confirmed


@pytest.mark.parametrize("order", [("second", "first", "main"), ("first", "second", "main")], ids=["drawn", "printed"])
def test_a_short_script_writes_the_order_of_functions_that_it_needs(order: tuple[str, ...], tmp_path: Path) -> None:
    case, verdict = failing(reordered(two_private(), order), planted("numbered"), changed(Change.REORDERED))
    script = short_forms(case, verdict).scripts[0]
    assert "def ordered(module, *names):" in script.text
    path = tmp_path / "repro.py"
    path.write_text(script.text, encoding="utf-8")
    assert check_repro(path, ending=script.ending).confirmed


PLACED = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @R.function
    def main(x: R.Tensor((2,), "float32", vdevice="llvm:0")) -> R.Tensor((2,), "float32", vdevice="llvm:0"):
        return R.exp(x)
"""


def test_functions_that_share_devices_are_written_in_one_module(tmp_path: Path) -> None:
    case, verdict = failing(tvm.script.from_source(PLACED), planted("numbered"), added)
    script = short_forms(case, verdict).scripts[0]
    path = tmp_path / "repro.py"
    path.write_text(script.text, encoding="utf-8")
    assert check_repro(path, ending=script.ending).confirmed


def test_of_a_function_of_which_only_the_name_matters_nothing_else_is_shown(tmp_path: Path) -> None:
    (known,) = load(["compute-prim-value-name-elsewhere"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = judge_case(case, (OracleName.LOCALITY,))
    assert verdict.shown.expected == "the pass succeeds, as it does without the unrelated functions"
    script = short_forms(case, verdict).scripts[0]
    taken = 'def compute_symbolic_expr(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):'
    assert f"{taken}\n        return x\n" in script.text
    assert 'del Without["compute_symbolic_expr"]\n' in script.text
    path = tmp_path / "repro.py"
    path.write_text(script.text, encoding="utf-8")
    assert check_repro(path, ending=script.ending).confirmed


@pytest.mark.parametrize("change", Change)
def test_the_run_that_succeeds_is_told_as_what_it_is(change: Change) -> None:
    assert ("unrelated" in change.undone, "removed" in change.undone) == (
        change is Change.ADDED,
        change is Change.REMOVED,
    )


def test_the_script_is_silent_on_the_clean_twin(tmp_path: Path) -> None:
    case, verdict = failing(two_private(), planted("numbered"), added)
    text = render_repro(case, verdict, signature(verdict).text).text
    mended = text.replace("'numbered')", "'numbered_clean')")
    assert mended != text
    path = tmp_path / "repro.py"
    path.write_text(mended, encoding="utf-8")
    assert check_repro(path).said == "OK: the functions that were left alone have the same result"


def test_the_script_shows_an_error_that_only_the_varied_module_causes(tmp_path: Path) -> None:
    (known,) = load(["merge-composite-beside-another"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = judge_case(case, (OracleName.LOCALITY,))
    assert verdict.outcome is Outcome.FAIL
    path = tmp_path / "repro.py"
    path.write_text(render_repro(case, verdict, signature(verdict).text).text, encoding="utf-8")
    result = check_repro(path)
    assert result.confirmed, result
    assert "only with the change: InternalError" in result.output


LOWERED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("m",), "float32")) -> R.Prim("int64"):
        R.func_attr({"relax.force_pure": True})
        m = T.int64()
        half: R.Prim("int64") = m // 2
        return half
"""


def test_a_module_that_is_put_in_is_prepared_though_the_other_is_prepared_already(tmp_path: Path) -> None:
    """What prepares it is listed beside it: of the preparing passes a script shows those that change its own module."""
    ref = PassRef("ComputePrimValue", "relax.transform.ComputePrimValue()")
    taken = "renamed(unrelated, {'unrelated_add': 'compute_symbolic_expr'})"
    case, verdict = failing(tvm.script.from_source(LOWERED), ref, lambda variation: taken in variation.call)
    text = render_repro(case, verdict, signature(verdict).text).text
    assert "    return []\n" in text, "no passes prepare its own module"
    path = tmp_path / "repro.py"
    path.write_text(text, encoding="utf-8")
    result = check_repro(path)
    assert result.confirmed, result
