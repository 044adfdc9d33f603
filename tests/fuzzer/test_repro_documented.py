"""The script of a call whose result is not as documented shows it, and is content once the result is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from corpus.case import load, load_module
from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.literals import literal
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import ReproResult, check_repro
from fuzzer.repro.short.numeric import _within
from fuzzer.repro.short.render import short_forms
from fuzzer.triage.script import repro_script
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.runtime import cxx_available


@pytest.fixture(scope="module")
def shown() -> tuple[Case, Verdict]:
    lowest = relax.const(np.array([np.inf, np.inf], "float32"))
    return wrong(lambda x: relax.op.max(relax.op.subtract(x, lowest)))


def wrong(made: Callable[[Any], Any]) -> tuple[Case, Verdict]:
    """The verdict on a function of a tensor of two elements that negates what is made of that."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.negative(builder.emit(builder.normalize(made(x))))))
    module: Any = builder.get()
    module["main"] = module["main"].with_attr("global_symbol", "main")
    case = Case(str(tvm.ir.save_json(module)), (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),), 0)
    (verdict,) = judge_case(case, (OracleName.NUMERIC,))
    assert verdict.outcome is Outcome.FAIL
    return case, verdict


def script(shown: tuple[Case, Verdict]) -> str:
    case, verdict = shown
    return render_repro(case, verdict, signature(verdict).text).text


def run(text: str, path: Path) -> ReproResult:
    path.write_text(text)
    return check_repro(path)


def test_the_signature_names_the_operator_and_nothing_else(shown: tuple[Case, Verdict]) -> None:
    assert signature(shown[1]).text == "numeric: LegalizeOps: not-as-documented: relax.max: wrong value"


def test_the_module_of_the_script_is_the_call_alone(shown: tuple[Case, Verdict]) -> None:
    text = script(shown)
    assert "R.max(x0" in text
    assert "R.subtract" not in text
    assert "# The documentation of TVM says: Computes the max of tensor elements" in text
    assert 'np.array(-np.inf, "float32")' in text


def test_the_script_shows_the_defect_and_is_content_without_it(shown: tuple[Case, Verdict], tmp_path: Path) -> None:
    if not cxx_available():
        pytest.skip("plain relax.build needs a C++ compiler")
    text = script(shown)
    seen = run(text, tmp_path / "shows.py")
    assert seen.confirmed, seen
    # As if TVM were right: what it gives is what is documented.
    greatest = float(np.finfo("float32").min)
    other = text.replace("Expectation(np.array(-np.inf", f"Expectation(np.array({greatest!r}")
    assert other != text
    mended = run(other, tmp_path / "mended.py")
    assert (mended.exit_code, mended.output[:2]) == (0, "OK"), mended


def test_a_kernel_that_writes_nothing_is_shown_on_memory_that_is_filled() -> None:
    """One that reads what happens to be there failed in every other process."""
    (known,) = load(["legalize-matmul-empty-symbolic"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = judge_case(case, (OracleName.NUMERIC,))
    forms = short_forms(case, verdict)
    (shown,) = {check_pristine(each.text, each.ending).confirmed for each in forms.scripts}
    assert shown, forms.why
    assert all("np.full_like(expected, 7)" in each.text for each in forms.scripts)


@pytest.mark.parametrize(
    ("given", "called", "runs"),
    [
        (
            'x: R.Tensor(("n",), "float32")',
            "R.matmul(x, x)",
            "kernel(*map(tvm.runtime.tensor, [args[0], args[0]]), out)",
        ),
        ('x: R.Tensor(("n * 4",), "float32"), dims: R.Shape(["n"])', "R.sum(x)", 'vm["main"](*args).numpy()'),
    ],
)
def test_a_kernel_that_writes_nothing_is_shown_whatever_it_is_given(given: str, called: str, runs: str) -> None:
    module = tvm.script.from_source(
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main({given}):\n        n = T.int64()\n        y = {called}\n        return y\n"
    )
    passes = (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),)
    cases = (Case(str(tvm.ir.save_json(module)), passes, seed) for seed in range(40))
    failed = ((case, each) for case in cases for each in judge_case(case, (OracleName.NUMERIC,)) if each.evidence)
    case, verdict = next(failed)
    forms = short_forms(case, verdict)
    assert runs in forms.scripts[0].text, forms.why
    assert check_pristine(forms.scripts[0].text, forms.scripts[0].ending).confirmed


def test_what_is_not_at_its_default_is_named_and_quoted() -> None:
    gamma, beta = (relax.const(np.array(value, "float32")) for value in ([1.5, 2.0], [0.5, 0.25]))
    case, verdict = wrong(lambda x: relax.op.nn.layer_norm(x, gamma, beta, axes=-1, center=False))
    assert verdict.evidence is not None
    said = "center: Indicating if the beta offset will be added to the normalized tensor."
    assert verdict.evidence.expected.endswith(f'("{said}")')
    made = repro_script(case, verdict, nearest=False, full=False)
    assert made.parts.words.title.startswith("LegalizeOps computes relax.nn.layer_norm(center=False) wrongly: ")
    assert f"# The documentation of TVM says: {said}" in made.text
    granted = [
        re.findall(r"expected, (\w+=0, .*|.*, \w+=0)\)", each.text) for each in short_forms(case, verdict).scripts
    ]
    assert [[each.startswith("rtol=0, ") for each in found] for found in granted] == [[True], [False]] * 2, (
        "and on a second call"
    )


def test_of_a_call_that_is_shown_alone_no_change_of_the_program_is_told(shown: tuple[Case, Verdict]) -> None:
    made = repro_script(*shown, nearest=False, full=False)
    assert made.parts.ending is not None, "a short script"
    assert made.parts.change == ""
    assert " instead of -inf; " in made.parts.words.observed


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.5, np.nan], [-np.inf, 0.1]], "float32"),
        np.full((3, 2), np.inf),
        np.array([1, 2], "bfloat16"),
        np.zeros((0, 3), "float16"),
        np.array([True, False]),
        np.array(7, "int8"),
    ],
)
def test_arrays_are_read_back(array: Any) -> None:
    back = eval(literal(array), {"np": np})
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_a_script_grants_each_element_its_tolerance_and_shows_what_is_beyond_it() -> None:
    expected, tolerances = np.array([1e-5, 50_000.0, 0.0]), np.array([3e-6, 0.31, 1e-7])
    absolute, relative = (eval(f"dict({each})") for each in _within(tolerances, expected))
    assert (absolute, relative) == ({"rtol": 0, "atol": 0.4}, {"rtol": pytest.approx(0.3), "atol": 1e-7})
    wrong = expected + np.array([2e-5, 0.0, 0.0])
    np.testing.assert_allclose(wrong, expected, **absolute)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(wrong, expected, **relative)
    for granted in (absolute, relative):
        np.testing.assert_allclose(expected + tolerances, expected, **granted)
