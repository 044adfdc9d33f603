"""Each calling convention that depends on a pass's arguments has a bug behind it that only calls through it show."""

from __future__ import annotations

import functools
import random
import sys
from dataclasses import dataclass, replace

import pytest
from planted.generated import SEED, text
from planted.substituted import Flaw, Substituted
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.cases import Case, judge_case
from fuzzer.isolation import Died, IsolatedWorker, breadcrumb
from oracles.contract import Abi
from oracles.contracts import contract_for
from oracles.facts import equal
from oracles.plan import preparation, preparing
from oracles.verdict import OracleName, Outcome, Verdict
from strategies.drive import draws_of
from strategies.choices import Choices
from strategies.fitness import NEVER
from strategies.module_facts import facts_of
from strategies.pass_table import CONSTRUCTORS
from strategies.passes import weight_of

STRUCTURAL = tuple(name for name in OracleName if name is not OracleName.NUMERIC)


@dataclass(frozen=True)
class Row:
    """A pass, the convention that it changes, its bug, and within how many generated modules that is found."""

    name: str
    abi: Abi
    flaw: Flaw
    within: int


ROWS = (
    Row("BindParams", Abi.BIND_PARAMS, Flaw.NEIGHBOUR, 600),
    Row("BindSymbolicVars", Abi.SAME, Flaw.CROSSED, 600),
    Row("UpdateParamType", Abi.RETYPE_PARAMS, Flaw.CROSSED, 600),
    Row("ToMixedPrecision", Abi.RETYPE_PARAMS, Flaw.CROSSED, 600),
    Row("LazyTransformParams", Abi.LAZY_TRANSFORM_PARAMS, Flaw.OTHER_SLOT, 600),
    Row("RunCodegen", Abi.SAME, Flaw.OTHER_CODE, 600),
    Row("UpdateVDevice", Abi.SAME, Flaw.CROSSED, 600),
    Row("RealizeVDevice", Abi.SAME, Flaw.CROSSED, 600),
)


def drawn(row: Row, index: int) -> Substituted | None:
    """The row's pass with arguments for module number ``index``; ``None`` where it is not meant for the module."""
    facts = facts_of(from_json_graph_str(text(index)))
    if weight_of(row.name, facts) <= NEVER:
        return None
    choices = Choices(draws_of(random.Random(f"{SEED}:{index}")))
    ref = Substituted(row.name, CONSTRUCTORS[row.name](choices, facts), row.flaw)
    return ref if contract_for(ref).abi is row.abi else None


def shows(case: Case) -> bool:
    """Whether the bug makes any difference to what the pass gives; run it inside an isolated worker."""
    (wrong,) = case.passes
    module = from_json_graph_str(case.module_json)
    try:
        for name in preparation(contract_for(wrong), module):
            module = preparing(name).build()(module)
        return not equal(wrong.build()(module), replace(wrong, flaw=Flaw.NONE).build()(module))
    except Exception:
        return False  # refused, or a defect of TVM's own


def failing(worker: IsolatedWorker, case: Case, oracles: tuple[OracleName, ...]) -> set[OracleName]:
    """The oracles that fail a case; one that is itself broken fails the test."""
    result: list[Verdict] | Died = worker.call(functools.partial(judge_case, oracles=oracles, stage=breadcrumb), case)
    if isinstance(result, Died):  # a wrong program may also read where nothing is
        return {OracleName(result.stage.partition(":")[0].partition(" ")[0])}
    assert all(verdict.outcome is not Outcome.INVALID for verdict in result), result
    return {verdict.oracle for verdict in result if verdict.outcome is Outcome.FAIL}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_bug_behind_a_convention_is_caught_by_calls_only(row: Row) -> None:
    with IsolatedWorker(time_limit=60.0, memory_limit=3 << 30) as worker:
        for index in range(row.within):
            ref = drawn(row, index)
            if ref is None or worker.call(shows, Case(text(index), (ref,), index)) is not True:
                continue
            clean = Case(text(index), (replace(ref, flaw=Flaw.NONE),), index)
            if failing(worker, clean, tuple(OracleName)):
                print(f"{row.name}: module {index} shows a defect of TVM's own", file=sys.stderr)
                continue
            found = failing(worker, Case(text(index), (ref,), index), tuple(OracleName))
            assert found <= {OracleName.NUMERIC}, f"module {index} was caught by {sorted(map(str, found))}"
            if found:
                print(f"{row.name} caught after {index + 1} modules", file=sys.stderr)
                return
    pytest.fail(f"not caught within {row.within} modules")
