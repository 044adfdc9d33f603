"""The judge of agreement between interpreter and CodeGenVM notices a result that rounding does not explain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from one_operator import module_of
from tvm import relax

from oracles.measure.input_variations import Variation
from relaxkit.interpreter.registry import OPERATORS, implementation

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
from shared.agreement import Agreement, judge_inputs


def judged(module: Any) -> Agreement:
    module["main"] = module["main"].with_attr("global_symbol", "main")
    return judge_inputs(module, [(7, Variation.DEFAULT)])[0].verdict


def test_rounding_is_agreement() -> None:
    assert judged(module_of(relax.op.nn.softmax, np.zeros((3, 5), "float32"))) is Agreement.AGREES


def test_a_wrong_float_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    right = implementation("relax.nn.softmax")
    assert right is not None
    monkeypatch.setitem(OPERATORS, "relax.nn.softmax", lambda request: right(request) * np.float32(1.001))
    assert judged(module_of(relax.op.nn.softmax, np.zeros((3, 5), "float32"))) is Agreement.DIFFERS
