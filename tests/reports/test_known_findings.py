"""What is known of a finding is told by every report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fuzzer.store.known import KnownAs
from reports.junit import render_junit
from reports.markdown import render_markdown
from reports.sarif import render_sarif
from reports.summary import report_object
from reports.tables import Report
from reports.text import render_text

KNOWN = KnownAs("some-case", "two words", "https://github.com/apache/tvm/issues/1")


@pytest.fixture
def told(report: Report) -> Report:
    """The first finding is a case of the corpus."""
    return replace(report, recognized={report.findings[0].id: KNOWN})


def test_every_report_tells(told: Report) -> None:
    assert KNOWN.line == (
        "known upstream (https://github.com/apache/tvm/issues/1) and in relaxfuzz's corpus (some-case): two words"
    )
    text = render_text(told)
    assert " ".join(KNOWN.line.split()) in " ".join(text.split())
    assert "Of 2 findings, 1 is known: 1 reported upstream" in text
    assert "\nKnown upstream (https://github.com/apache/tvm/issues/1)" in render_markdown(told, lambda _: "")
    assert f"\n{KNOWN.line}\n" in render_junit(told, None)
    (run,) = json.loads(render_sarif(told, None))["runs"]
    assert [each["properties"].get("known") for each in run["results"]].count(KNOWN.line) == 1
    assert [each["known"] for each in report_object([told])["findings"]] == [KNOWN.to_object(), None, None]


def test_nothing_is_told_of_what_nobody_knows(report: Report) -> None:
    assert "Already known" not in render_text(report)
    assert "Known," not in render_markdown(report, lambda _: "")
