"""Long texts of somebody else's take no more time than their length, whatever they repeat."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from sample_findings import finding

from fuzzer.core.text import disarmed, first_line, plain, printable
from fuzzer.findings.script_parts import ScriptParts, Words
from fuzzer.findings.signature import normalise
from fuzzer.repro.essence import essence
from fuzzer.repro.markdown import _prose, escaped, fenced
from fuzzer.store.writer import FindingState
from oracles.core.verdict import Evidence
from reports.junit import render_junit
from reports.markdown import render_markdown
from reports.tables import Report

PIECES = (
    *("\n", " ", "\t", "\r", ":", "::", "#", "##", "##a", "`", "``", "a`", "_", "a_", "@", "@a", "1", "1.", "a_1", "-"),
    *(
        "R.Tensor(",
        "R.Tensor((",
        "[",
        "[[",
        "(",
        "'",
        '"',
        "“",
        "/",
        "/a",
        "/a.",
        "Op(relax.",
        "R.",
        "0x",
        "1e",
        "a 1 ",
    ),
    *("Check failed: ", "Check failed: (", "got ", "ErrorContext(", "but received ", "access x.shape", "PrimExpr "),
    *("when calling: `a(", "# from typing", "File ", "1: ", "ir.Op(", "relax.A(", "arguments ((", "function "),
    *("impure call: R.a(", "T.float32(", "CodeGenVM cannot "),
)
LONG = 60_000


def title(text: str) -> str:
    return essence(Evidence("InternalError", text, ()))


READERS = (normalise, title, printable, disarmed, first_line, plain, escaped, _prose, fenced)
SECONDS = 2.0
"""Of processor time, for what takes some milliseconds; each of the slow ones took more than ten."""


@pytest.mark.parametrize("piece", PIECES)
def test_what_a_text_repeats_is_read_once(piece: str) -> None:
    text = f"x{piece * (LONG // len(piece))}y"
    for read in READERS:
        begun = time.process_time()
        read(text)
        assert time.process_time() - begun < SECONDS, read.__name__


def test_reports_of_many_line_ends(report: Report) -> None:
    text = f"x{chr(10) * LONG}y"
    parts = ScriptParts(text, False, Words("t", text, text), change=text)
    bad = replace(finding(3, "FuseOps", FindingState.CONFIRMED, "crash", text), note=text, parts=parts)
    begun = time.process_time()
    render_junit(replace(report, findings=[bad]))
    assert len(render_markdown(replace(report, findings=[bad]), lambda _: "")) < LONG
    assert time.process_time() - begun < SECONDS


@pytest.mark.parametrize(
    "text", ["##vso[task.complete result=Succeeded;]", "##teamcity[buildStop]", "##[error]x", "\n\n  ::error::x"]
)
def test_no_command_of_any_runner_is_left(text: str) -> None:
    for made in (printable(text), escaped(text), _prose(text), fenced(text)):
        assert not re.search(r"##\w*\[|^\s*::", made, re.MULTILINE)
