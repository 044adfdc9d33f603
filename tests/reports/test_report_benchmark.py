"""The benchmark's made-up campaign is one that the page can show in full."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

from page_samples import sample_page

from reports.html import render_html
from reports.tables import load_report

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))


def test_a_made_up_campaign_fills_every_view(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("report_benchmark", ROOT / "benchmarks" / "report.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    benchmark.make_campaign(tmp_path / "campaign", 1100, 5)
    report = load_report(tmp_path / "campaign")
    assert (report.info.examples, len(report.findings)) == (1100, 5)
    page = sample_page(report)
    assert len(page["growth"]["at"]) == 4
    assert page["growth"]["examples"][-1] == 1100
    assert all(finding["script"] and finding["seen"] for finding in page["findings"])
    assert page["spent"]["steps"]
    assert len(page["coverage"]["pairs"]) > 100
    # The scripts' shared lines are kept once.
    assert len(json.dumps(page["lines"])) < 2 * len(benchmark._SHARED)
    assert len(render_html(page)) < 1_000_000
