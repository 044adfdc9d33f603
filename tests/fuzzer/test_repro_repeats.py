"""Scripts of what only further calls show: other inputs, held results, poisoned memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.repro.literals import literal
from fuzzer.repro.pieces.numeric import unpacked
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from oracles.core.verdict import Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef
from relaxkit.runtime import cxx_available

AGAIN = Path(__file__).resolve().parents[1] / "planted" / "again.py"


def total() -> Any:
    builder, n = relax.BlockBuilder(), tirx.Var("n", "int64")
    x, y = (relax.Var(name, relax.TensorType((n, 3, 4), "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        builder.emit_func_output(builder.emit(relax.op.add(x, y)))
    return builder.finalize()


def failing(name: str) -> tuple[Case, Verdict]:
    """The first case of a planted pass that fails; seeds decide which inputs it is called on."""
    text = str(tvm.ir.save_json(total()))
    for seed in range(40):
        case = Case(text, (PassRef(name, f"{USER_PREFIX}{AGAIN}:{name}"),), seed)
        (verdict,) = judge_case(case, (OracleName.NUMERIC,))
        if verdict.outcome is Outcome.FAIL:
            return case, verdict
    raise AssertionError("nothing was found")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("one_buffer", "main: output []: "),
        pytest.param("reads_garbage", "in memory full of", marks=pytest.mark.slow),
        pytest.param("adds_nothing", "main on infinities: ", marks=pytest.mark.slow),
        pytest.param("greatest_of_none", "main on empty dims returns", marks=pytest.mark.slow),
    ],
)
def test_a_script_shows_it_and_not_its_twin(name: str, says: str, tmp_path: Path) -> None:
    if not cxx_available():
        pytest.skip("plain relax.build needs a C++ compiler")
    case, verdict = failing(name)
    path = tmp_path / "repro.py"
    path.write_text(render_repro(case, verdict, signature(verdict).text).text)
    shown = check_repro(path)
    assert shown.confirmed, shown
    assert says in shown.output
    path.write_text(path.read_text().replace(f"{name!r})", f"'{name}_clean')"))
    gone = check_repro(path)
    assert gone.exit_code == 0, gone
    assert gone.output.startswith("OK: ")


def test_special_numbers_are_written_so_that_python_reads_them() -> None:
    import ml_dtypes  # noqa: F401  (the names bfloat16 and float8_*)

    environment = {"np": np, "unpacked": unpacked}
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        array = np.asarray([np.nan, np.inf, -np.inf, -0.0, 1.5]).astype(dtype)
        read = eval(literal(array), environment)
        assert (read.dtype, read.tobytes()) == (array.dtype, array.tobytes())
    empty = eval(literal(np.zeros((0, 3), "float32")), environment)
    assert empty.shape == (0, 3)
    assert np.isnan(eval(literal(float("nan"))))
    assert eval(literal((float("-inf"), 2.0))) == (-np.inf, 2.0)
