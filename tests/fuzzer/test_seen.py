# mypy: disable-error-code="untyped-decorator, valid-type"
"""What a report says of a failure is what its script prints when it is run."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.script_parts import Ending
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.run import ReproResult
from fuzzer.triage.script import repro_script
from fuzzer.triage.seen import as_seen
from oracles.core.verdict import Details, Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

LAYOUTS = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o", "NCHW4c"]})'


def of_numbers(expected: str, seen: str, counted: str = "") -> Verdict:
    observed = f"{seen}{counted}"
    details = Details(numbers=("[]", expected, observed, seen))
    evidence = Evidence(
        "wrong-value", "results differ", (), expected=f"main returns {expected}", observed=observed, details=details
    )
    return Verdict(OracleName.NUMERIC, Outcome.FAIL, "ToMixedPrecision", evidence=evidence)


def printed(error: BaseException) -> ReproResult:
    kind = type(error).__name__
    return ReproResult(1, "", f"Traceback (most recent call last):\n{kind}: {error}\n", Ending(kind))


def compared(actual: object, desired: object, atol: float = 0) -> ReproResult:
    """What a script prints that compares two arrays."""
    with pytest.raises(AssertionError) as raised:
        np.testing.assert_allclose(np.asarray(actual, "float32"), np.asarray(desired, "float32"), atol=atol)
    return printed(raised.value)


@pytest.mark.parametrize(
    ("told", "script", "numbers"),
    [
        (  # as many as its own tolerance leaves
            ("1.0 at index [0]", "0.5", "; 3 of 3 elements differ"),
            compared([0.5, 1.01, 0.5], [1, 1, 1], atol=0.1),
            ("1.0 at index [0]", "0.5; 2 of 3 elements differ", "0.5"),
        ),
        (  # what it finds in memory that nothing has written
            ("0.0", "nan", "; 1 of 1 elements differ"),
            compared(7.0, 0.0),
            ("0.0", "7.0; 1 of 1 elements differ", "7.0"),
        ),
        (("1", "0"), compared(0.0, 0.999999), ("1", "0", "0")),
        (
            ("1.00002 at index [1]", "4.005432e-05", "; 1 of 2 elements differ"),
            compared([1, 4.005432e-05], [1, 1.00002]),
            ("1.00002 at index [1]", "4.005432e-05; 1 of 2 elements differ", "4.005432e-05"),
        ),
    ],
)
def test_numbers_are_those_that_the_script_printed(
    told: tuple[str, ...], script: ReproResult, numbers: tuple[str, ...]
) -> None:
    evidence = as_seen(of_numbers(*told), script).shown
    assert evidence.details.numbers == ("[]", *numbers)
    assert (evidence.expected, evidence.observed) == (f"main returns {numbers[0]}", numbers[1])


@pytest.mark.skipif(tuple(map(int, np.__version__.split(".")[:2])) < (2, 4), reason="prints no places")
def test_numbers_are_read_at_the_first_place_that_the_script_printed() -> None:
    verdict = of_numbers("1.0 at index [0]", "1.01", "; 2 of 2 elements differ")
    evidence = as_seen(verdict, compared([1.01, 0.5], [1, 1], atol=0.1)).shown
    assert evidence.details.numbers == ("[]", "1.0 at index [1]", "0.5; 1 of 2 elements differ", "0.5")


@pytest.mark.parametrize(
    ("kind", "message", "own"),
    [
        ("ill-formed", "Var lv1 is not defined.", "DataflowVar lv is not defined."),
        ("ill-formed", "DataflowVar lv is not defined.", ""),
        ("ill-formed", "Function 0x5577 is given DataflowVar lv", ""),
        ("not-equal", "the modules differ", ""),
        ("ill-formed", "Function main:\n    lv1 = x\nis ill-formed", "Function main:\n    lv = x\nis ill-formed"),
    ],
)
def test_a_message_is_the_one_that_the_script_printed(kind: str, message: str, own: str) -> None:
    verdict = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "ConvertLayout", evidence=Evidence(kind, message))
    said = "DataflowVar lv is not defined. Function 0x12ab is given DataflowVar lv"
    script = ReproResult(
        1, "", f"ValueError: {own or said}\n[09:19:57] a.cc:67: left\n", Ending("ValueError", ("is not defined",))
    )
    assert as_seen(verdict, script).shown.message == (own or message)


def test_a_report_is_of_the_module_that_its_script_makes() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tuple(R.Prim("int64"), R.Tensor((1,), "float32")):
            with R.dataflow():
                lv = R.abs(x)
                lv1 = (1, lv)
                gv = lv1
                R.output(gv)
            return gv

    text = str(tvm.ir.save_json(Module)).replace('"lv1"', '"lv"')  # as passes name them; a script has other names
    case = Case(text, (PassRef("ConvertLayout", LAYOUTS),), 0)
    (verdict,) = judge_case(case, (OracleName.WELL_FORMED,))
    assert verdict.shown.message == "DataflowVar lv is not defined."
    script = repro_script(case, verdict, nearest=False, full=False)
    assert script.parts.ending is not None
    assert "DataflowVar lv_1 is not defined." in check_pristine(script.text, script.parts.ending).errors
    assert script.parts.words.observed == "relax.analysis.well_formed raises: DataflowVar lv_1 is not defined."
    assert "# ValueError: DataflowVar lv_1 is not defined." in script.text
    assert "lv_1: R.Tuple" in script.parts.change
