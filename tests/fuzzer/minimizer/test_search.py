"""The search on real defects of TVM, judged in this process (none of these kills it)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import samples
import tvm
from test_emit_recursion import Looping
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.core.case import Case, judge_case
from fuzzer.findings.signature import signature
from fuzzer.minimizer.propose import facts, propose
from fuzzer.minimizer.search.messages import Failing
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.minimizer.search.search import Search
from oracles.core.verdict import Outcome
from relaxkit.ir.sketch.sketch import bindings_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

DEVICE = "relax.transform.UpdateVDevice(relax.VDevice('llvm', 0, 'other'), 0)"


def failing(case: Case, oracles: tuple[OracleName, ...]) -> set[str]:
    """Ids of the signatures of a case."""
    return {item.id for item in failures(case, oracles)}


def failures(case: Case, oracles: tuple[OracleName, ...]) -> list[Failing]:
    """The failures of a case, judged in this process."""
    failed = [item for item in judge_case(case, oracles) if item.outcome is Outcome.FAIL]
    return [Failing(signature(item).id, signature(item).text, item) for item in failed]


def search(case: Case, wanted: str, *oracles: OracleName, limits: SearchLimits | None = None) -> Minimized:
    numeric = OracleName.NUMERIC in oracles
    return Search(
        case,
        wanted,
        lambda candidate: failures(candidate, oracles),
        propose,
        facts(case.module_json),
        numeric=numeric,
        limits=limits or SearchLimits(),
    ).run()


def case_of(module: Any, *passes: tuple[str, str]) -> Case:
    return Case(str(tvm.ir.save_json(module)), tuple(PassRef(name, text) for name, text in passes), 0)


def plain(name: str) -> tuple[str, str]:
    return name, f"relax.transform.{name}()"


@pytest.mark.parametrize(
    ("make", "ref", "oracle", "most"),
    [
        (samples.two_functions, plain("MergeCompositeFunctions"), OracleName.CRASH, 1),
        (samples.typed_devices, ("UpdateVDevice", DEVICE), OracleName.MUTATION, 0),
        (samples.private_symbolic, plain("InlinePrivateFunctions"), OracleName.WELL_FORMED, 2),
        (samples.transposed_output, plain("FuseTransposeMatmul"), OracleName.CRASH, 2),
        (samples.private_symbolic, plain("FastMathTransform"), OracleName.CRASH, 1),
    ],
    ids=["MergeCompositeFunctions", "UpdateVDevice", "InlinePrivateFunctions", "FuseTransposeMatmul", "FastMath"],
)
def test_real_defects_become_small(
    make: Callable[[], Any], ref: tuple[str, str], oracle: OracleName, most: int
) -> None:
    case = case_of(make(), ref)
    (wanted,) = failing(case, (oracle,))
    found = search(case, wanted, oracle)
    assert found.reproduced
    assert found.complete
    assert wanted in failing(found.case, (oracle,))
    assert bindings_of(from_json_graph_str(found.case.module_json)) <= most
    assert found.queries < 100
    again = search(found.case, wanted, oracle)
    assert again.case == found.case, "running it again changes nothing"


def test_passes_of_a_pipeline_are_dropped() -> None:
    names = ["CanonicalizeBindings", "DeadCodeElimination", "FuseTransposeMatmul", "ConvertToDataflow"]
    case = case_of(samples.transposed_output(), *map(plain, names))
    (wanted,) = failing(case, (OracleName.CRASH,))
    found = search(case, wanted, OracleName.CRASH)
    assert [ref.name for ref in found.case.passes] == ["FuseTransposeMatmul"]


TWO_BUGS = """
import tvm
from tvm import relax


def operators(module):
    found = []

    def visit(expr):
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            found.append(str(expr.op.name))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return found


@tvm.transform.module_pass(opt_level=0, name="TwoBugs")
class TwoBugs:
    def transform_module(self, module, context):
        found = operators(module)
        if "relax.matmul" in found and "relax.sum" in found:
            raise RuntimeError("the sum of a product is not supported")
        if "relax.matmul" in found:
            raise RuntimeError("the product stands alone")
        return module


def two_bugs():
    return TwoBugs()


@tvm.transform.module_pass(opt_level=0, name="Always")
class Always:
    def transform_module(self, module, context):
        raise RuntimeError("always")


def always():
    return Always()


def identity():
    return tvm.transform.module_pass(lambda module, context: module, opt_level=0, name="Identity")
"""


@pytest.fixture
def user_passes(tmp_path: Path) -> Path:
    path = tmp_path / "passes.py"
    path.write_text(TWO_BUGS)
    return path


def test_the_search_never_slips_to_another_defect(user_passes: Path) -> None:
    case = case_of(samples.guarded_log(), ("TwoBugs", f"user:{user_passes}:two_bugs"))
    (wanted,) = failing(case, (OracleName.CRASH,))
    found = search(case, wanted, OracleName.CRASH)
    assert failing(found.case, (OracleName.CRASH,)) == {wanted}
    assert len(found.others) == 1, "the neighbour was met and is reported"
    assert "RuntimeError: the product stands alone" in found.others[0].failing.text
    assert failing(found.others[0].case, (OracleName.CRASH,)) == {found.others[0].failing.id}
    text = from_json_graph_str(found.case.module_json).script()
    assert "R.matmul" in text
    assert "R.sum" in text
    assert bindings_of(from_json_graph_str(found.case.module_json)) == 2


def test_a_pass_that_always_fails_ends_with_an_empty_module(user_passes: Path) -> None:
    case = case_of(samples.guarded_log(), ("Always", f"user:{user_passes}:always"))
    (wanted,) = failing(case, (OracleName.CRASH,))
    found = search(case, wanted, OracleName.CRASH)
    assert len(from_json_graph_str(found.case.module_json).functions) == 0


def test_what_does_not_fail_is_left_alone(user_passes: Path) -> None:
    case = case_of(samples.guarded_log(), ("Identity", f"user:{user_passes}:identity"))
    found = search(case, "0123456789", OracleName.CRASH)
    assert not found.reproduced
    assert found.case == case
    assert found.queries == 1


def test_limits_end_the_search_with_what_was_reached() -> None:
    case = case_of(samples.private_symbolic(), plain("InlinePrivateFunctions"))
    (wanted,) = failing(case, (OracleName.WELL_FORMED,))
    found = search(case, wanted, OracleName.WELL_FORMED, limits=SearchLimits(queries=8))
    assert not found.complete
    assert found.queries == 8
    assert wanted in failing(found.case, (OracleName.WELL_FORMED,))


def test_the_search_is_deterministic() -> None:
    case = case_of(samples.private_symbolic(), plain("FastMathTransform"))
    (wanted,) = failing(case, (OracleName.CRASH,))
    first, second = (search(case, wanted, OracleName.CRASH) for _ in range(2))
    assert replace(first, seconds=0.0) == replace(second, seconds=0.0)


def test_what_calls_itself_inside_a_function_is_reduced_too() -> None:
    case = case_of(Looping, plain("LiftTransformParams"))
    (wanted,) = failing(case, (OracleName.WELL_FORMED,))
    found = search(case, wanted, OracleName.WELL_FORMED)
    assert found.complete
    assert bindings_of(from_json_graph_str(found.case.module_json)) <= 3
    assert not any("loop is not bound" in why for why in found.invalid)


def test_a_search_that_removes_nothing_says_why() -> None:
    case = case_of(Looping, plain("LiftTransformParams"))
    (wanted,) = failing(case, (OracleName.WELL_FORMED,))
    least = search(case, wanted, OracleName.WELL_FORMED).case
    again = search(least, wanted, OracleName.WELL_FORMED)
    assert again.case == least
    assert again.unreduced.startswith(f"{again.queries - 1} smaller modules were tried; none shows the failure; ")
    assert re.search(rf"; {again.invalid.total()} edits? gave an invalid module \(\w+: ", again.unreduced)


@pytest.mark.parametrize(
    ("queries", "invalid", "tried", "why"),
    [
        (2, {}, "1 smaller module was tried", ""),
        (3, {"a": 1}, "2 smaller modules were tried", "; 1 edit gave an invalid module (a)"),
        (3, {"b": 1, "a": 2}, "2 smaller modules were tried", "; 3 edits gave an invalid module (2 times a)"),
    ],
)
def test_of_several_reasons_the_most_frequent_is_given(
    queries: int, invalid: dict[str, int], tried: str, why: str
) -> None:
    found = Minimized(Case("", (), 0), True, queries, invalid=Counter(invalid))
    assert found.unreduced == f"{tried}; none shows the failure{why}"
