"""``relaxfuzz report`` and the closing summary on a store that was written as a campaign writes it."""

import io
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import tvm
from page_samples import dies
from tvm import relax

from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.findings.signature import signature
from fuzzer.store.records import FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef
from reports.page.tvm_worker import TvmWorker
from reports.summary import summarize

VERDICT = Verdict(
    OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=Evidence("InternalError", "<b>boom</b>", ("a.cc:F",))
)
ID = signature(VERDICT).id


def module_json() -> str:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    return str(tvm.ir.save_json(builder.finalize()))


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    case = Case(module_json(), (PassRef("FuseOps", "relax.transform.FuseOps()"),), 0)
    result = ShardResult(0, examples=103, modules=50)
    result.tallies = Counter({("crash", "FuseOps", "pass", ""): 100, ("crash", "FuseOps", "fail", ""): 3})
    result.hits = {ID: SignatureHits.of(signature(VERDICT), VERDICT, case, 0, 3)}
    meta = {
        "seed": "7", "passes": json.dumps(["FuseOps"]), "oracles": json.dumps(["crash"]), "tvm_version": "0.27.0",
        "ffi_version": "0.1.14", "workers": "2", "budget": "10 s",
    }  # fmt: skip
    with Store.create(tmp_path / "campaign", meta) as store:
        store.record_shard(result, 5.0)
        store.save_triage(ID, FindingState.CONFIRMED, case, 1, f"repros/{ID}.py", "")
    return tmp_path / "campaign"


def test_summary_prints_and_writes_the_report(campaign: Path) -> None:
    stream = io.StringIO()
    summarize(campaign, stream)
    text = stream.getvalue()
    assert "1 finding: 1 confirmed" in text
    assert f"report: {campaign / 'report.md'} and {campaign / 'report.html'}" in text
    assert f"repro scripts: 1, for example: python {campaign / 'repros' / ID}.py" in text
    page = (campaign / "report.html").read_text()
    assert "R.exp(x)" in page
    assert "<b>boom" not in page
    assert "R.exp(x)" not in text
    assert "R.exp(x)" in (campaign / "report.md").read_text()


def test_the_files_that_run_writes_show_what_people_decided(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decided = f'[[merge]]\ninto = "F012345678"\nids = ["{ID}"]\nreason = "as people decided"\n'
    monkeypatch.chdir(campaign)
    Path("findings.toml").write_text(decided)
    summarize(campaign, io.StringIO())
    assert "as people decided" in (campaign / "report.html").read_text()


def test_report_in_the_terminal(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(campaign)]) == 0
    out = capsys.readouterr().out
    assert ID in out
    assert "97.08%" in out


def test_report_files(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit, page = campaign / "junit.xml", campaign / "page.html"
    assert main(["report", str(campaign), "--junit", str(junit), "--html", str(page), "--markdown", "-"]) == 0
    (failure,) = ElementTree.parse(junit).getroot().iter("failure")
    assert f"repro: repros/{ID}.py" in (failure.text or "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    out = capsys.readouterr().out
    assert out.startswith("# Fuzzing report")


def test_a_campaign_of_other_passes_is_not_compared(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older, page = campaign.with_name("older"), campaign / "page.html"
    meta = {
        "seed": "6", "passes": '["FoldConstant"]', "oracles": "[]", "tvm_version": "", "ffi_version": "",
        "workers": "1", "budget": "", "started_at": "2020-01-01T00:00:00+00:00",
    }  # fmt: skip
    with Store.create(older, meta):
        pass
    assert main(["report", str(older), str(campaign), "--html", str(page)]) == 0
    assert f"'{older}' tested different passes and is not compared" in capsys.readouterr().err
    assert f'"not_compared":["{older}"]' in page.read_text().replace(": ", ":")


def test_the_page_as_a_directory_with_its_history(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older, policy, out = campaign.with_name("older"), campaign / "policy.toml", campaign / "page"
    meta = {
        "seed": "6", "passes": '["FuseOps"]', "oracles": "[]", "tvm_version": "", "ffi_version": "", "workers": "1",
        "budget": "", "started_at": "2020-01-01T00:00:00+00:00",
    }  # fmt: skip
    with Store.create(older, meta):
        pass
    policy.write_text("[oracles.crash]\nmin_pass_rate = 1.0\n")
    # The campaign that is reported is the one that was started last, wherever it is named.
    assert main(["report", str(campaign), str(older), str(campaign), "--html", str(out), "--policy", str(policy)]) == 0
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"relaxfuzz: open {out / 'index.html'}\n")
    assert sorted(path.name for path in out.iterdir()) == [
        "data.js", "index.html", "page.css", "page.js", "uPlot.LICENSE.txt", "uPlot.js",
    ]  # fmt: skip
    data = (out / "data.js").read_text()
    assert "R.exp(x)" in data
    assert '"word":"failed"' in data
    assert '"name":"older"' in data
    assert data.count('"started":"2020-01-01') == 1
    assert data.count('"new":1') == 1
    assert "<b>boom" not in data


def test_one_json_object(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(campaign), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["campaign"]["seed"] == 7
    (row,) = found["oracles"]
    assert (row["oracle"], row["pass"], row["fail"], row["pass_rate"]) == ("crash", 100, 3, 100 / 103)
    assert [finding["id"] for finding in found["findings"]] == [ID]
    assert [family["findings"] for family in found["families"]] == [[ID]]
    assert (found["gate"], found["history"]) == (None, None)
    stream = io.StringIO()
    summarize(campaign, stream, as_json=True)
    assert json.loads(stream.getvalue()) == found
    assert (campaign / "report.html").is_file()


def test_a_module_whose_printing_kills_the_process_costs_only_itself(
    campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(campaign) as store:
        (finding,) = store.findings()
    other = replace(finding, id="1111111111", minimized=replace(finding.case, module_json="no module"))
    with TvmWorker() as side:
        assert "R.exp(x)" in side.module(finding)
        assert side.module(other) == ""
    with TvmWorker() as side:
        with monkeypatch.context() as patch:
            patch.setattr("reports.page.tvm_worker._script", dies)
            assert side.module(finding) == ""
        assert "R.exp(x)" in side.module(replace(finding, id="2222222222"))


def test_no_function_that_a_module_names_is_called(campaign: Path) -> None:
    """An attribute may be any registered function, under any name."""
    calls = tvm.ir.make_node("ir.DictAttrs", script=tvm.ir.EnvFunc.get("runtime.NumThreads"))
    with Store.open(campaign) as store:
        (finding,) = store.findings()
    with TvmWorker() as side:
        assert side.module(replace(finding, minimized=replace(finding.case, module_json=tvm.ir.save_json(calls)))) == ""


def test_bad_input_is_one_line(campaign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(campaign / "nowhere")]) == 2
    assert main(["report", str(campaign), "--html", str(campaign / "no" / "page.html")]) == 2
    assert main(["report", str(campaign), "--html", str(campaign / "campaign.sqlite" / "page")]) == 2
    assert main(["report", str(campaign), str(campaign / "nowhere"), "--json"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("relaxfuzz: error: ") for line in lines)
    assert "cannot write" in lines[1]
    assert "cannot write" in lines[2]
    assert "nowhere" in lines[3]
