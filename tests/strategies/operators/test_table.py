"""The table against TVM's registry, and every row drawn: legal, inside its bounds, and (slow) executed."""

import multiprocessing
import random

import pytest
import tvm
from harness import Alone, draw_alone, draw_chain, run
from tvm import relax

from strategies.operators import OPERATORS, exclusions

DRAWS = 12
names = [row.name for row in OPERATORS]


def registered() -> set[str]:
    return {name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")}


def test_every_registered_operator_has_a_row_or_a_reason():
    assert registered() - set(names) - set(exclusions) == set()


def test_rows_and_exclusions_name_registered_operators_once():
    assert len(names) == len(set(names))
    assert set(names) | set(exclusions) <= registered()
    assert set(names) & set(exclusions) == set()


def test_the_table_is_wide():
    assert sum(row.executable for row in OPERATORS) >= 130


def test_exclusions_give_a_reason():
    assert all(len(reason.split()) >= 5 for reason in exclusions.values())


def calls(module: tvm.IRModule) -> set[str]:
    found = set()

    def visit(expr: object) -> None:
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
            found.add(expr.op.name)

    relax.analysis.post_order_visit(module["main"], visit)
    return found


@pytest.mark.parametrize("executable", [True, False], ids=["executable", "any"])
@pytest.mark.parametrize("row", OPERATORS, ids=names)
def test_draws_are_well_formed_and_hold_the_operator(row, executable):
    drawn = 0
    for seed in range(DRAWS):
        alone = draw_alone(row, seed, executable)
        if alone is None:
            continue
        drawn += 1
        assert relax.analysis.check_well_formed(alone.module), alone.module.script()
        assert row.name in calls(alone.module)
    assert drawn >= DRAWS // 2 if row.executable or not executable else drawn == 0


@pytest.mark.parametrize("row", OPERATORS, ids=names)
def test_the_same_numbers_give_the_same_module(row):
    first, second = (draw_alone(row, 7, executable=False) for _ in range(2))
    if first is None or second is None:
        assert first is second
    else:
        tvm.ir.assert_structural_equal(first.module, second.module)


def _execute(name: str, seeds: range) -> list[str]:
    row = next(row for row in OPERATORS if row.name == name)
    complaints = []
    for seed in seeds:
        alone: Alone | None = draw_alone(row, seed)
        if alone is not None:
            complaints += [f"seed {seed}: {text}" for text in run(alone, seed)]
    return complaints


@pytest.mark.slow
@pytest.mark.parametrize("name", [row.name for row in OPERATORS if row.executable])
def test_executable_rows_run_within_their_bounds(name):
    # A kernel that crashes must not take the test run with it.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_execute, (name, range(30))).get(timeout=120) == []


WRITES_NOTHING = "relax.grad.max_pool2d_backward"
"""What its kernel gives for some shapes is what was in memory (the case fold-constant-max-pool2d-backward)."""


def _execute_chain(seed: int) -> list[str]:
    executable = [row.name for row in OPERATORS if row.executable]
    names = random.Random(seed).choices(executable, k=8)
    alone = draw_chain(tuple(name for name in names if name != WRITES_NOTHING), seed)
    return [] if alone is None else run(alone, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_chains_of_rows_run_within_their_bounds(seed):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_execute_chain, (seed,)).get(timeout=120) == []
