"""A campaign in small, on whichever release is installed: run it in a virtual environment of each.

``python -m pytest -m slow tests/relaxkit/compat`` there; ``relaxfuzz bisect DIR`` compares them on a campaign.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tvm

from fuzzer.store.writer import Store
from oracles import CONTRACTS
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.sketch import take
from relaxkit.passes.pass_ref import PassRef
from strategies import ir_modules
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import PASS_ROWS
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draw_from_bytes, draws_of

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent


def modules(count: int) -> list[Any]:
    drawn = (draw_from_bytes(ir_modules(), random.Random(seed).randbytes(8192)) for seed in range(count))
    return [module for module in drawn if module is not None]


def test_nearly_every_draw_is_a_well_formed_module() -> None:
    drawn = modules(100)
    assert len(drawn) > 90
    assert all(tvm.relax.analysis.check_well_formed(module) for module in drawn)


def test_the_minimizer_takes_modules_apart_and_puts_them_together() -> None:
    for module in modules(20):
        emit(take(module))  # raises where it cannot


def test_every_pass_of_the_table_can_be_built() -> None:
    module = modules(3)[0]
    choices = Choices(draws_of(random.Random(5)))
    refused = []
    for name in PASS_ROWS:
        for _ in range(4):
            drawn = PassRef(name, PASS_ROWS[name].draw(choices, facts_of(module)))
            try:
                drawn.build()
            except Exception as error:
                refused.append(f"{drawn.expression}: {type(error).__name__}: {error}"[:300])
    assert refused == []
    assert PASS_ROWS.keys() <= CONTRACTS.keys()


@pytest.mark.timeout(900)
def test_a_campaign_judges_with_every_oracle_and_its_scripts_need_tvm_alone(tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    command = [
        str(BIN / "relaxfuzz"),
        "run",
        "--max-examples",
        "256",
        "--workers",
        "1",
        "--seed",
        "5",
        "--out",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"on TVM {tvm.__version__}" in done.stdout
    with Store.open(out) as store:
        verdicts = [row for row in store.tallies() if row.outcome in ("pass", "fail")]
    assert {row.oracle for row in verdicts} >= {"crash", "well-formed", "determinism", "idempotence", "numeric"}
    listed = subprocess.run(
        [str(BIN / "relaxfuzz"), "findings", str(out), "--json"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    for finding in json.loads(listed.stdout):
        if finding["state"] == "confirmed":
            script = (out / finding["repro"]).read_text()
            assert "import relaxfuzz" not in script
            assert not [line for line in script.splitlines() if line.startswith(("from relaxkit", "import relaxkit"))]
