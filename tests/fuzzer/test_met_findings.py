"""Failures that a minimization meets become findings of their own: few, once, and behind those that were drawn."""

from __future__ import annotations

import io
import logging
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from deaths import death
from sample_records import META, hit, shard, verdict

from oracles.core.verdict import Phase

sys.path.append(str(Path(__file__).resolve().parent / "minimizer"))
import samples
import tvm
from tvm import relax

from fuzzer.campaign.campaign import Campaign
from fuzzer.campaign.progress import Progress
from fuzzer.core.case import Case
from fuzzer.core.config import Config
from fuzzer.core.text import Standing
from fuzzer.findings.assessment import Assessment, EvidenceClass, Severity
from fuzzer.findings.file import KnownFindings
from fuzzer.findings.signature import signature
from fuzzer.minimizer.judge.criterion import OracleCriterion
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.messages import Failing
from fuzzer.minimizer.search.outcome import Minimized, Other
from fuzzer.store import known
from fuzzer.store.known import KnownAs
from fuzzer.store.records import FindingRecord, FindingState
from fuzzer.store.writer import MOST_MET, Store
from fuzzer.triage.finding import MOST_OTHERS, TriageJob, TriageResult, TriageState, _Triage, triage_finding
from fuzzer.triage.reduce import ReductionPlan
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

BUGS = """
import tvm


def run(module, context):
    text = module.script()
    if "R.matmul" in text and "R.sum" in text:
        raise RuntimeError("the sum of a product is not supported")
    for name in ("matmul", "sum", "tanh", "log", "abs", "sin"):
        if f"R.{name}(" in text:
            raise ValueError(f"{name * 2} alone")
    return module


def bugs():
    return tvm.transform.module_pass(run, opt_level=0, name="bugs")
"""


def test_what_a_minimization_met_is_new_once(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (parent,) = store.record_shard(shard(3, hit("boom", 5)), 1.0)
        met = [hit("met", 0, module="small"), hit("boom", 0, module="small")]
        ((place, name),) = store.record_met(parent, met, 2.0)
        assert store.record_met(parent, met, 3.0) == []
        finding = store.finding(name)
        assert (finding.count, finding.state, finding.case.module_json) == (0, FindingState.NEW, "small")
        assert store.finding(parent).case.module_json == "{}"
        assert store.untriaged() == [(3, parent), (place, name)], "looked into when all that were drawn are"
        assert store.record_met(name, [hit("further", 0)], 4.0) == [], "it leads to no further ones"
        assert len(store.findings()) == 2


def test_a_campaign_takes_so_many_and_no_more(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    with Store.create(tmp_path, META) as store:
        (parent,) = store.record_shard(shard(0, hit("boom", 5)), 1.0)
        met = [hit(f"the {letter * 3} is wrong", 0) for letter in letters]
        assert len({each.signature.id for each in met}) == len(letters)
        assert len(store.record_met(parent, met, 2.0)) == MOST_MET
        assert store.record_met(parent, met, 3.0) == []
        assert len(store.findings()) == MOST_MET + 1


def test_a_drawn_case_takes_the_place_of_one_that_was_met(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (parent,) = store.record_shard(shard(0, hit("boom", 5)), 1.0)
        ((_, name),) = store.record_met(parent, [hit("met", 0, module="small")], 2.0)
        assert store.record_shard(shard(1, hit("met", 9, 2, "drawn")), 3.0) == []
        finding = store.finding(name)
        assert (finding.count, finding.case.module_json) == (2, "drawn")
        assert store.untriaged() == [(0, parent), (1, name)]


def test_how_far_a_minimization_has_come_is_kept_until_it_ends(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        (name,) = store.record_shard(shard(0, hit("boom", 5)), 1.0)
        best = replace(hit("boom", 5).case, module_json="best")
        store.save_best(name, best)
        assert (store.finding(name).minimized, store.finding(name).state) == (best, FindingState.NEW)
        store.save_triage(name, FindingState.FLAKY, None, None, None, "")
        store.save_best(name, best)
        assert store.finding(name).minimized is None


def test_a_campaign_records_what_triage_met(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "relaxfuzz")
    config = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1)
    with Store.create(tmp_path / "out", {**META, "config": config.to_json()}) as store:
        (parent,) = store.record_shard(shard(0, hit("boom", 5)), 1.0)
        written = io.StringIO()
        campaign = Campaign(store, config, Progress(config, written))
        other = verdict("met")
        name = signature(other).id
        met = Other(Failing(name, signature(other).text, other), hit("met", 0, module="small").case)
        campaign._record_triage(TriageResult(parent, TriageState.CONFIRMED, hit("boom", 5).case, 1, others=(met,)))
        assert [finding.id for finding in store.findings()] == [parent, name]
        assert f"finding {name}: crash: FuseOps: InternalError" in written.getvalue()
        campaign._record_triage(TriageResult(name, TriageState.CONFIRMED, met.case, 1, "repros/x.py", others=(met,)))
        assert store.finding(name).note == "found while another finding was minimized"


def test_a_campaign_records_what_readers_call_debatable_as_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[object, ...]]()

    def recognize(findings: list[FindingRecord], listed: KnownFindings) -> dict[str, KnownAs]:
        asked.extend((each.state, each.minimized, each.assessed) for each in findings)
        return {each.id: KnownAs("a-cause", "It may be meant so.", debatable=True) for each in findings}

    config = Config(7, ("FuseOps",), (), (OracleName.CRASH,), 64, None, 1)
    assessed = Assessment(EvidenceClass.HARD, Severity.S3, "FuseOps", final=True)
    with Store.create(tmp_path / "out", {**META, "config": config.to_json()}) as store:
        (name,) = store.record_shard(shard(0, hit("boom", 5)), 1.0)
        campaign = Campaign(store, config, Progress(config, io.StringIO()))
        monkeypatch.setattr(known, "recognize", recognize)
        case = hit("boom", 5).case
        campaign._record_triage(TriageResult(name, TriageState.CONFIRMED, case, 1, "repros/x.py", assessment=assessed))
        assert asked == [(FindingState.CONFIRMED, case, assessed)], "asked of what triage has made of it"
        assert store.finding(name).assessed == replace(assessed, evidence=EvidenceClass.DEBATABLE)
        assert store.finding(name).standing is Standing.QUESTION


@pytest.fixture
def bugs(tmp_path: Path) -> PassRef:
    path = tmp_path / "bugs.py"
    path.write_text(BUGS)
    return PassRef("bugs", f"user:{path}:bugs")


@pytest.mark.slow
def test_triage_hands_a_few_others_on_and_goes_on_where_it_was(tmp_path: Path, bugs: PassRef) -> None:
    case = Case(str(tvm.ir.save_json(samples.guarded_log())), (bugs,), 0)
    with IsolatedWorker() as worker:
        (failed,) = Judge(worker, (OracleName.CRASH,)).verdicts(case)
    name = signature(failed)
    saved: list[Case] = []
    job = TriageJob(name.id, name.text, failed, case, tmp_path, ReductionPlan(runs=1, save=saved.append))
    result = triage_finding(job)
    assert result.state is TriageState.CONFIRMED, result
    assert result.bindings == 2
    assert saved[-1] == result.minimized
    assert 0 < len(result.others) <= MOST_OTHERS
    assert all(other.failing.id != name.id and other.case.passes == case.passes for other in result.others)
    again = triage_finding(replace(job, start=result.minimized))
    assert again.minimized == result.minimized
    assert again.steps == ()
    assert again.queries <= result.queries


def handed_on(job: TriageJob, judge: Judge, *met: Other) -> tuple[Other, ...]:
    """What triage hands on of the failures that a minimization met."""
    return _Triage(job, OracleCriterion(job.verdict), judge)._findings(Minimized(job.case, True, others=met))


@pytest.mark.parametrize(("expression", "handed"), [("FuseOps()", 1), ('FuseOps("main")', 0)])
def test_failures_under_arguments_for_another_module_are_not_handed_on(
    tmp_path: Path, expression: str, handed: int
) -> None:
    """BindParams was once listed as failing on a module that had lost the function it names."""
    case = replace(hit("boom", 5).case, passes=(PassRef("FuseOps", f"relax.transform.{expression}"),))
    job = TriageJob("id", "text", verdict("boom"), case, tmp_path)
    met = Other(Failing("other", "text", verdict("met")), replace(case, module_json="small"))
    with IsolatedWorker() as worker:
        assert len(handed_on(job, Judge(worker, ()), met)) == handed


def quotient(guarded: bool) -> str:
    """A division of integers, with or without what keeps the divisor from zero."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((2,), "int8")) for name in "xy")
    with builder.function("main", [x, y]):
        divisor = builder.emit(relax.op.maximum(y, relax.const(1, "int8"))) if guarded else y
        builder.emit_func_output(builder.emit(relax.op.divide(x, divisor)))
    return str(tvm.ir.save_json(builder.get()))


def test_what_an_edit_may_have_made_undefined_is_not_handed_on(tmp_path: Path) -> None:
    """A candidate without its guard died of a division by zero, and one of an endless recursion."""
    case = replace(hit("boom", 5).case, module_json=quotient(True), passes=(PassRef("P", "relax.transform.FuseOps()"),))
    job = TriageJob("id", "text", verdict("boom"), case, tmp_path)
    wrong = Evidence("wrong-value", "results differ")
    dies_running = death("signal 8", OracleName.NUMERIC, Phase.RUN_ORIGINAL, "main")
    dies_in_pass = death("signal 11")
    with IsolatedWorker() as worker:
        judge = Judge(worker, ())

        def handed(oracle: OracleName, evidence: Evidence, guarded: bool) -> int:
            failed = Verdict(oracle, Outcome.FAIL, "P", evidence=evidence)
            met = Other(Failing("other", "text", failed), replace(case, module_json=quotient(guarded)))
            return len(handed_on(job, judge, met))

        assert handed(OracleName.NUMERIC, wrong, guarded=True) == 1
        assert handed(OracleName.NUMERIC, wrong, guarded=False) == 0
        assert handed(OracleName.CRASH, dies_running, guarded=True) == 0
        assert handed(OracleName.CRASH, dies_in_pass, guarded=False) == 1
