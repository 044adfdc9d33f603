"""A campaign's report as one HTML page without outside resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape

from fuzzer.plaintext import first_line
from fuzzer.store import FindingRecord
from reports.modules import module_text, passes_text
from reports.tables import Report, counted, duration, oracle_rows, percent, reason_rows, states_text

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --dim: #5b6670; --page: #ffffff; --box: #f4f6f8; --line: #dde2e7;
  --bad: #b3261e; --good: #1a7f4b; --mark: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e7eb; --dim: #9aa5af; --page: #14181c; --box: #1d2329; --line: #323a42;
    --bad: #ff8a80; --good: #6fd49b; --mark: #82b7f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .4rem 0; } .dim { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--dim); font-weight: 600; } .n { text-align: right; white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; } .good { color: var(--good); }
code, pre { font: 13px/1.45 ui-monospace, monospace; } td code { overflow-wrap: anywhere; }
td a code { white-space: nowrap; }
a { color: var(--mark); }
details { margin: .6rem 0; border: 1px solid var(--line); border-radius: 6px; background: var(--box); }
summary { padding: .55rem .8rem; cursor: pointer; overflow-wrap: anywhere; }
details > div { padding: 0 .8rem .8rem; }
pre { margin: .5rem 0; padding: .7rem; overflow-x: auto; background: var(--page); border: 1px solid var(--line);
  border-radius: 4px; }
"""

_Cell = tuple[str, str]  # class, text; the text is escaped when it is written


def render_html(report: Report, module_of: Callable[[FindingRecord], str] = module_text) -> str:
    """The page; ``module_of`` gives a finding's module as text, or an empty text."""
    info = report.info
    told = (
        f"Seed {info.seed}, TVM {escape(info.tvm_version)} (ffi {escape(info.ffi_version)}): {info.modules} modules, "
        f"{info.examples} cases in {duration(info.elapsed_seconds)} with {counted(info.workers, 'worker')}; "
        f"{escape(info.state)}."
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>relaxfuzz: {states_text(report.findings)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{states_text(report.findings)}</h1>",
        f'<p class="dim">{told}</p>',
        "<h2>Oracles</h2>",
        _table(("oracle", "pass", "fail", "pass rate", "skip", "reject", "invalid"), _oracle_cells(report)),
        "<h2>Findings</h2>",
        _findings_table(report.findings),
        *(_details(finding, module_of(finding)) for finding in report.findings),
        "<h2>What judged nothing</h2>",
        _table(
            ("oracle", "outcome", "why", "count"),
            [
                [("", row.oracle), ("", str(row.outcome)), ("", row.reason), ("n", str(row.count))]
                for row in reason_rows(report.tallies)
            ],
        ),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _oracle_cells(report: Report) -> Iterable[list[_Cell]]:
    for row in oracle_rows(report.tallies):
        numbers = [str(number) for number in (row.skipped, row.rejected, row.invalid)]
        yield [
            ("", row.name),
            ("n", str(row.passed)),
            ("n bad" if row.failed else "n", str(row.failed)),
            ("n good" if row.rate == 1.0 else "n", percent(row.rate)),
            *(("n", number) for number in numbers),
        ]


def _findings_table(findings: Sequence[FindingRecord]) -> str:
    if not findings:
        return "<p>None.</p>"
    rows = [
        [
            ("link", finding.id), ("", str(finding.oracle)), ("", finding.culprit), ("n", str(finding.count)),
            ("n", "-" if finding.bindings is None else str(finding.bindings)), ("", finding.state.value),
            ("code", first_line(finding.message, finding.kind)),
        ]
        for finding in findings
    ]  # fmt: skip
    return _table(("id", "oracle", "pass", "count", "bindings", "state", "message"), rows)


def _details(finding: FindingRecord, module: str) -> str:
    name = escape(finding.id)
    title = f"<code>{name}</code> {escape(str(finding.oracle))}: {escape(finding.culprit)}"
    blocks = [
        f'<details id="f-{name}"><summary>{title}</summary><div>',
        f'<p class="dim">{escape(finding.signature)}</p>',
    ]
    if finding.note:
        blocks.append(f"<p>{escape(finding.note)}</p>")
    if finding.repro:
        blocks.append(f"<p>Reproduce: <code>python {escape(finding.repro)}</code></p>")
    for text in (passes_text(finding), finding.message or finding.kind, module):
        if text:
            blocks.append(f"<pre>{escape(text)}</pre>")
    return "\n".join([*blocks, "</div></details>"])


def _table(headers: Sequence[str], rows: Iterable[Sequence[_Cell]]) -> str:
    numeric = {"pass", "fail", "pass rate", "skip", "reject", "invalid", "count", "bindings"}
    # In the findings table "pass" names the pass under test.
    names = {"pass"} if "message" in headers else set()
    head = "".join(
        f'<th class="n">{escape(name)}</th>' if name in numeric - names else f"<th>{escape(name)}</th>"
        for name in headers
    )
    body = "\n".join(f"<tr>{''.join(_cell(*value) for value in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _cell(kind: str, text: str) -> str:
    safe = escape(text)
    if kind == "link":
        return f'<td><a href="#f-{safe}"><code>{safe}</code></a></td>'
    if kind == "code":
        return f"<td><code>{safe}</code></td>"
    return f'<td class="{kind}">{safe}</td>' if kind else f"<td>{safe}</td>"
