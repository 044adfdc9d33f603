"""What a bisection came to stands beside its finding, in every form that people read."""

from __future__ import annotations

from dataclasses import replace

from page_samples import full, sample_page

from fuzzer.findings.releases import Bisected
from reports.markdown import render_markdown
from reports.tables import Report
from reports.text import render_text

KNOWN = Bisected("appeared in 0.26.0", (("0.25.0", "absent: fine"), ("0.26.0", "present: not fine")))


def test_the_releases_of_a_finding_are_shown(report: Report) -> None:
    first, *others = report.findings
    told = replace(report, findings=[replace(first, bisected=KNOWN), *others])
    assert render_text(told).count("  releases: appeared in 0.26.0\n") == 1
    assert render_markdown(told, lambda _: "").count("Releases of TVM: appeared in 0.26.0\n") == 1
    rows = {row["id"]: row["releases"] for row in sample_page(full(told))["findings"]}
    assert rows == {first.id: "appeared in 0.26.0", **{other.id: "" for other in others}}


def test_nothing_is_said_of_what_was_not_bisected(report: Report) -> None:
    assert "releases:" not in render_text(report)
    assert "Releases of TVM" not in render_markdown(report, lambda _: "")
