"""Each planted bug is caught by its oracle, and by no other, from generated modules; its clean twin by none."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from planted.catalogue import CLEAN, HERE, PLANTED, RELATIONS, Manner, Planted
from planted.generated import module, text

from fuzzer.core.case import Case, judge_case
from fuzzer.worker.child import breadcrumb
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from oracles import Subject, judge
from oracles.core.module_facts import equal
from oracles.core.verdict import Evidence, Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef, import_file

STRUCTURAL = tuple(name for name in OracleName if name is not OracleName.NUMERIC)
# A memory limit that the process itself enforces shows as an exception, one that its parent enforces as a death.
ENDS = {
    "segfault_on_bool": {"signal 11"},
    "abort_on_device_move": {"signal 6"},
    "hang_on_scan": {"hang"},
    "memory_eater": {"memory", "MemoryError"},
}

# In the default run, a clean twin is judged on every fourth of so many modules, its neighbours on the others, and its
# numbers are compared on so many that it changes; on many more in the slow one.
MODULES, EACH, FEW, MANY = 8, 4, 1, 40

in_process = [planted for planted in PLANTED if planted.manner is Manner.VERDICT]
deadly = [planted for planted in PLANTED if planted.manner is Manner.DEATH]


def named(cases: list[Planted]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("planted", cases, ids=lambda planted: planted.id)


def test_every_oracle_has_three() -> None:
    count = Counter(planted.oracle for planted in PLANTED)
    assert all(count[oracle] >= 3 for oracle in OracleName), count
    assert len(PLANTED) >= 24


def test_every_factory_is_in_the_catalogue_with_its_twin() -> None:
    listed = {planted.id for planted in PLANTED}
    for file in sorted({planted.file for planted in PLANTED}):
        defined = {
            name
            for name, value in vars(import_file(HERE / file)).items()
            if inspect.isfunction(value) and not name.startswith("_") and not inspect.signature(value).parameters
        }
        buggy = {name for name in defined if not name.endswith("_clean")}
        assert defined == buggy | {name + "_clean" for name in buggy}
        assert {f"{file}:{name}" for name in buggy} == {name for name in listed if name.startswith(file)}


def numbers(planted: Planted, known: bool) -> Iterator[int]:
    """Numbers of the modules to try; where it is known to show comes first, or not at all."""
    if known and planted.first:
        yield planted.first
    yield from range(planted.within)


def tried(cases: list[Planted]) -> pytest.MarkDecorator:
    """Each where it is known to show; in the slow run, where that is far behind, in order, too."""
    here = [pytest.param(each, True, id=each.id) for each in cases]
    far = [pytest.param(each, False, id=f"{each.id} in order", marks=pytest.mark.slow) for each in cases if each.first]
    return pytest.mark.parametrize(("planted", "known"), here + far)


def failing(ref: PassRef, index: int, module: object, oracles: tuple[OracleName, ...]) -> dict[OracleName, Evidence]:
    """Return what the oracles that fail the pass on a module saw; an oracle that is itself broken fails the test."""
    verdicts = judge(Subject(module, [ref], [contract_for(ref)], input_seed=index), oracles)
    for verdict in verdicts:
        assert verdict.outcome is not Outcome.INVALID, verdict
    return {verdict.oracle: verdict.evidence for verdict in verdicts if verdict.evidence is not None}


@tried([planted for planted in in_process if planted.oracle is not OracleName.NUMERIC])
def test_is_caught_by_its_oracle_and_no_other(planted: Planted, known: bool) -> None:
    for index in numbers(planted, known):
        found = failing(planted.ref(), index, module(index), STRUCTURAL)
        assert found.keys() <= {planted.oracle}, f"module {index} was caught by {sorted(map(str, found))}"
        if found:
            print(f"{planted.id} caught after {index + 1} modules", file=sys.stderr)
            how = found[planted.oracle].message + found[planted.oracle].observed
            assert any(relation in how for relation in RELATIONS.get(planted.id, ("",))), how
            return
    pytest.fail(f"not caught within {planted.within} modules")


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    """A worker for all wrong programs: it is as good as new after each, also after one that ended its process."""
    with IsolatedWorker(time_limit=60.0, memory_limit=3 << 30) as shared:
        yield shared


@tried([planted for planted in in_process if planted.oracle is OracleName.NUMERIC])
def test_a_wrong_program_is_caught_by_the_numeric_oracle_and_no_other(
    worker: IsolatedWorker, planted: Planted, known: bool
) -> None:
    built, prepared = planted.ref().build(), bool(contract_for(planted.ref()).prepare)
    judge_it = functools.partial(judge_case, oracles=tuple(OracleName), stage=breadcrumb)
    for index in numbers(planted, known):
        given = module(index)
        if not prepared and equal(built(given), given):
            continue  # only for speed: most modules do not have what these bugs need
        result = worker.call(judge_it, Case(text(index), (planted.ref(),), index))
        if isinstance(result, Died):  # a wrong program may also read where nothing is; the next one need not
            assert result.stage.startswith("numeric"), f"module {index}: {result}"
            continue
        assert all(verdict.outcome is not Outcome.INVALID for verdict in result), f"module {index}: {result}"
        found = {verdict.oracle for verdict in result if verdict.outcome is Outcome.FAIL}
        assert found <= {OracleName.NUMERIC}, f"module {index} was caught by {sorted(map(str, found))}"
        if found:
            print(f"{planted.id} caught after {index + 1} modules", file=sys.stderr)
            return
    pytest.fail(f"not caught within {planted.within} modules")


@named(in_process)
def test_clean_twin_is_caught_by_none(planted: Planted) -> None:
    accuse(planted.ref(clean=True), range(in_process.index(planted) % EACH, min(planted.within, MODULES), EACH), FEW)


@pytest.mark.slow
@named(in_process)
def test_clean_twin_is_caught_by_none_of_many(planted: Planted) -> None:
    accuse(planted.ref(clean=True), range(300), MANY)


@pytest.mark.parametrize("ref", CLEAN, ids=lambda ref: ref.name)
def test_a_pass_without_bug_is_caught_by_none(ref: PassRef) -> None:
    accuse(ref, range(20), FEW)


@pytest.mark.slow
@pytest.mark.parametrize("ref", CLEAN, ids=lambda ref: ref.name)
def test_a_pass_without_bug_is_caught_by_none_of_many(ref: PassRef) -> None:
    accuse(ref, range(500), MANY)


def accuse(ref: PassRef, which: Iterable[int], numeric: int) -> None:
    """Fails when an oracle finds anything in these modules; numbers are compared on ``numeric`` changed ones."""
    for index in which:
        given = module(index)
        oracles = tuple(OracleName) if numeric else STRUCTURAL
        subject = Subject(given, [ref], [contract_for(ref)], input_seed=index)
        verdicts = judge(subject, oracles)
        bad = [verdict for verdict in verdicts if verdict.outcome in (Outcome.FAIL, Outcome.INVALID)]
        assert not bad, f"module {index}: {bad}"
        numeric -= any(v.oracle is OracleName.NUMERIC and v.outcome is Outcome.PASS for v in verdicts)


@named(deadly)
def test_deadly_pass_is_caught_outside_of_the_process(planted: Planted) -> None:
    judge_it = functools.partial(judge_case, oracles=(OracleName.CRASH,), stage=breadcrumb)
    patience = 3.0 if planted.factory == "hang_on_scan" else 30.0
    with IsolatedWorker(time_limit=patience, memory_limit=1 << 30) as worker:
        for index in range(planted.within):
            result = worker.call(judge_it, Case(text(index), (planted.ref(),), 0))
            if isinstance(result, Died):
                assert result.stage.startswith("crash")
                assert result.kind in ENDS[planted.factory]
                break
            failed = [verdict for verdict in result if verdict.outcome is Outcome.FAIL]
            assert all(verdict.evidence and verdict.evidence.kind in ENDS[planted.factory] for verdict in failed)
            if failed:
                break
        else:
            pytest.fail(f"not caught within {planted.within} modules")
        print(f"{planted.id} caught after {index + 1} modules: {result}", file=sys.stderr)
        # The worker is as good as new.
        harmless = worker.call(judge_it, Case(text(index), (planted.ref(clean=True),), 0))
        assert not isinstance(harmless, Died)
        assert [verdict.outcome for verdict in harmless] == [Outcome.PASS]


@named(deadly)
def test_deadly_pass_has_a_harmless_twin(planted: Planted) -> None:
    accuse(planted.ref(clean=True), range(min(planted.within, MODULES)), 0)
