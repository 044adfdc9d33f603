"""Triage end to end, in isolated processes: confirmed, flaky and vanished findings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from deaths import death
from tvm import relax

sys.path.append(str(Path(__file__).resolve().parent / "minimizer"))
import samples

from fuzzer.core.case import Case
from fuzzer.findings.script_parts import Ending
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import Confirmation, OracleCriterion
from fuzzer.minimizer.judge.judge import Judge, judging_oracles
from fuzzer.minimizer.search.outcome import Minimized, SearchLimits
from fuzzer.minimizer.search.search import Search
from fuzzer.repro import run
from fuzzer.repro.run import ReproResult, check_repro, check_text
from fuzzer.triage import script
from fuzzer.triage.finding import TriageJob, TriageResult, TriageState, _fits_any_module, triage_finding
from fuzzer.triage.reduce import ReductionPlan
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts.pipelines import pipeline
from relaxkit.passes.pass_ref import PassRef

FLAKY = '''
import os

import tvm
from tvm import relax
from pathlib import Path

COUNTER = Path(__file__).with_suffix(".count")


def sometimes(module, context):
    """Fails in every second process."""
    processes = COUNTER.read_text().split() if COUNTER.exists() else []
    if (own := str(os.getpid())) not in processes:
        processes.append(own)
        COUNTER.write_text(" ".join(processes))
    if processes.index(own) % 2:
        raise RuntimeError("only sometimes")
    return module


def flaky():
    return tvm.transform.module_pass(sometimes, opt_level=0, name="Flaky")
'''


def case_of(module: Any, name: str, text: str) -> Case:
    return Case(str(tvm.ir.save_json(module)), (PassRef(name, text),), 0)


def first_failure(case: Case, oracle: OracleName) -> Verdict:
    with IsolatedWorker() as worker:
        return Judge(worker, (oracle,)).verdicts(case)[0]


def triage(case: Case, verdict: Verdict, folder: Path, limits: SearchLimits | None = None) -> TriageResult:
    name = signature(verdict)
    return triage_finding(TriageJob(name.id, name.text, verdict, case, folder, ReductionPlan(limits or SearchLimits())))


def test_an_exception_is_confirmed_minimized_and_scripted(tmp_path: Path) -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    verdict = first_failure(case, OracleName.CRASH)
    result = triage(case, verdict, tmp_path)
    assert result.state is TriageState.CONFIRMED, result
    assert result.bindings is not None
    assert result.bindings <= 1
    assert result.repro == f"repros/{signature(verdict).id}.py"
    assert result.minimized is not None
    assert signature(first_failure(result.minimized, OracleName.CRASH)).id == signature(verdict).id
    assert result.parts is not None
    assert check_repro(tmp_path / result.repro, ending=result.parts.ending).confirmed


def run_apart(monkeypatch: pytest.MonkeyPatch, shows: Callable[[Ending | None], bool]) -> list[tuple[str, bool]]:
    """Record the scripts that are run, and whether they are short; some of them show nothing."""
    found: list[tuple[str, bool]] = []

    def check(text: str, ending: Ending | None = None, place: Path | None = None) -> ReproResult:
        found.append((text, ending is not None))
        result = check_text(text, ending, place)
        return result if shows(ending) else replace(result, exit_code=0)

    monkeypatch.setattr(script, "check_pristine", check)
    return found


@pytest.mark.parametrize("short", [True, False])
def test_the_script_that_is_written_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: bool) -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    found = run_apart(monkeypatch, lambda ending: short or ending is None)
    result = triage(case, first_failure(case, OracleName.CRASH), tmp_path, SearchLimits(queries=0))
    assert result.state is TriageState.CONFIRMED, result
    assert result.repro is not None
    assert ((tmp_path / result.repro).read_text(), short) in found
    assert [each for _, each in found] == [False, True]


def test_a_script_that_shows_nothing_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    run_apart(monkeypatch, lambda _: False)
    result = triage(case, first_failure(case, OracleName.CRASH), tmp_path, SearchLimits(queries=0))
    assert result.state is TriageState.UNSCRIPTED, result
    assert not list((tmp_path / "repros").glob("*.py"))


def test_several_cases_refused_for_one_reason_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    run_apart(monkeypatch, lambda _: False)
    result = triage(case, first_failure(case, OracleName.CRASH), tmp_path)
    assert result.note.count("the script exited with 0") == 1
    assert re.search(r"; minimized, .*and original case: the script exited with 0 and printed: BUG: ", result.note)
    assert len(result.note) < 300


def test_scripts_import_nothing_that_lies_beside_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may have put it into the directory of a campaign whose rows are the user's."""
    monkeypatch.setattr(run, "subprocess", subprocess)  # the process that tests run scripts in has loaded TVM
    (tmp_path / "repros").mkdir()
    for name in ("tvm", "numpy"):
        (tmp_path / f"repros/{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    result = triage(case, first_failure(case, OracleName.CRASH), tmp_path, SearchLimits(queries=0))
    assert not (tmp_path / "ran").exists()
    assert result.state is TriageState.CONFIRMED, result
    assert sorted(path.name for path in tmp_path.iterdir()) == ["repros"]


def test_a_death_of_the_process_is_confirmed_minimized_and_scripted(tmp_path: Path) -> None:
    case = case_of(samples.rank_only_weight(), "VMShapeLower", "relax.transform.VMShapeLower()")
    verdict = first_failure(case, OracleName.CRASH)
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "signal 11"
    result = triage(case, verdict, tmp_path)
    assert result.state is TriageState.CONFIRMED, result
    assert result.bindings is not None
    assert result.bindings <= 1
    assert result.repro is not None
    assert check_repro(tmp_path / result.repro).exit_code == -11, "the script dies of what it tells of"


def test_a_finding_that_comes_back_now_and_then_is_flaky(tmp_path: Path) -> None:
    path = tmp_path / "flaky_pass.py"
    path.write_text(FLAKY)
    case = case_of(samples.two_functions(), "Flaky", f"user:{path}:flaky")
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "Flaky", evidence=Evidence("RuntimeError", "only sometimes"))
    found = []
    for _ in range(2):
        with IsolatedWorker() as worker:
            found += Judge(worker, (OracleName.CRASH,)).verdicts(case)
    verdict = found[0]
    result = triage(case, verdict, tmp_path)
    assert result.state is TriageState.FLAKY
    assert result.repro is None
    assert "of 3 runs" in result.note


def test_a_finding_that_never_comes_back_is_gone(tmp_path: Path) -> None:
    case = case_of(samples.two_functions(), "CanonicalizeBindings", "relax.transform.CanonicalizeBindings()")
    evidence = Evidence("InternalError", "Check failed: (false) is false: never seen")
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "CanonicalizeBindings", evidence=evidence)
    result = triage(case, verdict, tmp_path)
    assert result.state is TriageState.GONE
    assert result.minimized is None


def counted_workers() -> tuple[list[IsolatedWorker], Callable[[], IsolatedWorker]]:
    """A factory, and the workers that it has made."""
    made: list[IsolatedWorker] = []

    def factory() -> IsolatedWorker:
        made.append(IsolatedWorker())
        return made[-1]

    return made, factory


def test_confirmation_uses_a_fresh_process_each_time() -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    verdict = first_failure(case, OracleName.CRASH)
    made, factory = counted_workers()
    found = OracleCriterion(verdict, workers=factory).confirm(case, 2)
    assert found.confirmed
    assert (found.hits, found.runs, len(made)) == (2, 2, 2)
    assert str(found) == "2 of 2 runs"


def test_a_confirmation_goes_on_where_it_stopped() -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    verdict = first_failure(case, OracleName.CRASH)
    made, factory = counted_workers()
    criterion = OracleCriterion(verdict, workers=factory)
    first = criterion.confirm(case, 3, until=1)
    assert (first.hits, first.runs, len(made)) == (1, 1, 1)
    whole = criterion.confirm(case, 3, begun=first)
    assert (whole.hits, whole.runs, len(made)) == (3, 3, 3)
    assert whole.confirmed


def test_what_is_reported_is_what_all_runs_confirm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case as it was drawn is run once; the smaller one that is reported in its stead, in all processes."""
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    runs: list[tuple[bool, int]] = []

    confirm = OracleCriterion.confirm

    def counted(criterion: OracleCriterion, each: Case, *arguments: Any, **options: Any) -> Confirmation:
        found = confirm(criterion, each, *arguments, **options)
        runs.append((each == case, found.runs))
        return found

    monkeypatch.setattr(OracleCriterion, "confirm", counted)
    result = triage(case, first_failure(case, OracleName.CRASH), tmp_path)
    assert result.state is TriageState.CONFIRMED
    assert result.minimized != case
    assert runs == [(True, 1), (False, 3)]


def test_without_a_smaller_case_the_first_one_is_confirmed_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(samples.two_functions(), "MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    verdict = first_failure(case, OracleName.CRASH)
    monkeypatch.setattr(Search, "run", lambda search: Minimized(search.case, reproduced=True))
    once: list[Confirmation] = []
    confirm = OracleCriterion.confirm

    def sometimes(*arguments: Any, **options: Any) -> Confirmation:
        found = confirm(*arguments, **options)
        once.append(found)
        return replace(found, hits=min(found.hits, 1))  # only the first of its runs showed it

    monkeypatch.setattr(OracleCriterion, "confirm", sometimes)
    result = triage(case, verdict, tmp_path)
    assert result.state is TriageState.FLAKY
    assert "reproduced in 1 of 3 runs" in result.note
    assert [found.runs for found in once] == [1, 3]


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence("InternalError", "anything"), (OracleName.CRASH,)),
        (death("signal 11", OracleName.IDEMPOTENCE), (OracleName.CRASH, OracleName.IDEMPOTENCE)),
        (death("hang"), (OracleName.CRASH,)),
        (death("hang", None), (OracleName.CRASH,)),
    ],
    ids=["error", "idempotence", "crash", "unknown"],
)
def test_only_the_oracles_that_are_needed_run(evidence: Evidence, expected: tuple[OracleName, ...]) -> None:
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "P", evidence=evidence)
    assert judging_oracles(verdict) == expected


def test_frames_of_another_build_path_do_not_count() -> None:
    fused = relax_ewise_fma()
    case = case_of(fused, "build:default", str(pipeline("build:default").expression))
    verdict = first_failure(case, OracleName.NUMERIC)
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "does-not-build"
    found = OracleCriterion(verdict).confirm(case, 2)
    assert found.confirmed


def relax_ewise_fma() -> Any:
    """A module with an operator that no stock pipeline lowers."""
    builder = relax.BlockBuilder()
    x = samples.var("x", 2)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.ewise_fma(x, x, x)))
    return builder.finalize()


@pytest.mark.parametrize(
    ("name", "expression", "fits"),
    [
        ("FuseOps", "relax.transform.FuseOps()", True),
        ("build:zero", 'relax.get_pipeline("zero")', True),
        ("RewriteCUDAGraph", "configured(relax.transform.RewriteCUDAGraph(), {})", True),
        ("Gradient", 'relax.transform.Gradient("main")', False),
        ("BindParams", 'relax.transform.BindParams("main", {})', False),
    ],
)
def test_other_failures_are_handed_on_where_arguments_fit_any_module(name: str, expression: str, fits: bool) -> None:
    """A minimized campaign once listed BindParams as failing on a module that had lost the function it names."""
    assert _fits_any_module(PassRef(name, expression)) is fits
