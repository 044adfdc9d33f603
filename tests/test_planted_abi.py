"""Calling conventions that depend on a pass's arguments have bugs behind them that only calls through them show.

The others are in ``tests/planted/abi.py``.  UpdateVDevice is in neither: TVM's own pass writes into its input, so that
other oracles fail as well where numbers show a bug of it; RealizeVDevice has the same convention.
"""

from __future__ import annotations

import functools
import random
import sys
from dataclasses import dataclass, replace

import pytest
from planted.generated import SEED, text
from planted.substituted import Flaw, Substituted
from tvm import relax
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import Case, judge_case
from fuzzer.worker.child import breadcrumb
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.module_facts import equal
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import Abi, OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.plan import preparation, preparing
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.table import NEVER, PASS_ROWS
from strategies.passes import weight_of
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draws_of

# So many times arguments are drawn for a module.
DRAWS = 4


@dataclass(frozen=True)
class Row:
    """A pass, the convention that it changes, its bug, and within how many generated modules that is found.

    ``within`` is three times or more the number of modules after which it was found, as in ``planted.catalogue``.
    """

    name: str
    abi: Abi
    flaw: Flaw
    within: int
    other: frozenset[OracleName] = frozenset()
    """Oracles that see it as well."""


ROWS = (
    # These are claimed to give what the methods of functions of these names give.
    Row("BindParams", Abi.BIND_PARAMS, Flaw.NEIGHBOUR, 220, frozenset({OracleName.POSTCONDITION})),
    Row("BindSymbolicVars", Abi.SAME, Flaw.CROSSED, 70, frozenset({OracleName.POSTCONDITION})),
    Row("UpdateParamType", Abi.RETYPE_PARAMS, Flaw.CROSSED, 6000),
    Row("ToMixedPrecision", Abi.RETYPE_PARAMS, Flaw.TRUNCATED, 130),
    Row("LazyTransformParams", Abi.LAZY_TRANSFORM_PARAMS, Flaw.OTHER_SLOT, 1400),
    Row("RunCodegen", Abi.SAME, Flaw.OTHER_CODE, 150),
    Row("RealizeVDevice", Abi.SAME, Flaw.CROSSED, 290),
)


def drawn(row: Row, index: int) -> list[Substituted]:
    """The row's pass with different arguments for module number ``index``; none where it is not meant for that."""
    facts = facts_of(from_json_graph_str(text(index)))
    if weight_of(row.name, facts) <= NEVER:
        return []
    choices = Choices(draws_of(random.Random(f"{SEED}:{index}")))
    expressions = dict.fromkeys(PASS_ROWS[row.name].draw(choices, facts) for _ in range(DRAWS))
    refs = [Substituted(row.name, expression, row.flaw) for expression in expressions]
    return [ref for ref in refs if contract_for(ref).abi is row.abi]


def shows(case: Case) -> bool:
    """Whether the bug makes any difference to what the pass does; run it inside an isolated worker."""
    (wrong,) = case.passes
    assert isinstance(wrong, Substituted)
    if wrong.flaw is Flaw.OTHER_CODE:  # it is in the code alone, not in the module
        return '"Codegen"' in case.module_json
    module = from_json_graph_str(case.module_json)
    try:
        for name in preparation(contract_for(wrong), module):
            module = preparing(name).build()(module)
        right = replace(wrong, flaw=Flaw.NONE).build()(module)
        return bool(relax.analysis.check_well_formed(right)) and not equal(wrong.build()(module), right)
    except Exception:
        return False  # refused, or a defect of TVM's own


def failing(worker: IsolatedWorker, case: Case) -> set[OracleName]:
    """The oracles that fail a case; one that is itself broken fails the test."""
    result = worker.call(functools.partial(judge_case, oracles=tuple(OracleName), stage=breadcrumb), case)
    if isinstance(result, Died):  # a wrong program may also read where nothing is
        return {name for name in OracleName if result.stage.startswith(name.value)}
    assert all(verdict.outcome is not Outcome.INVALID for verdict in result), result
    return {verdict.oracle for verdict in result if verdict.outcome is Outcome.FAIL}


def caught(worker: IsolatedWorker, row: Row, index: int) -> bool:
    """Whether a bug is caught on a module, by the numeric oracle alone, and its clean twin not."""
    for ref in drawn(row, index):
        case = Case(text(index), (ref,), index)
        if worker.call(shows, case) is not True:
            continue
        if failing(worker, replace(case, passes=(replace(ref, flaw=Flaw.NONE),))):
            continue  # TVM's own defects are not what is planted here
        found = failing(worker, case)
        assert found <= {OracleName.NUMERIC, *row.other}, (
            f"module {index} was caught by {sorted(map(str, found))}: {ref}"
        )
        if OracleName.NUMERIC in found:
            return True
    return False


# Few modules survive what UpdateParamType does to them, and fewer have two parameters of one type that it retypes.
SLOW = frozenset({"UpdateParamType"})


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.name, marks=[pytest.mark.slow] if row.name in SLOW else []) for row in ROWS]
)
def test_a_bug_behind_a_convention_is_caught_by_calls_only(row: Row) -> None:
    with IsolatedWorker(time_limit=60.0, memory_limit=3 << 30) as worker:
        for index in range(row.within):
            if caught(worker, row, index):
                print(f"{row.name} caught after {index + 1} modules", file=sys.stderr)
                return
    pytest.fail(f"not caught within {row.within} modules")
