"""A finding as a bug report in Markdown, in the sections of TVM's own issue template, ready to paste.

The template asks for expected behaviour, actual behaviour, environment and steps to reproduce
(``.github/ISSUE_TEMPLATE/bug-report.md`` of apache/tvm).  What a maintainer needs to see is visible; the script that
judges itself is folded away.
"""

from __future__ import annotations

import html
import platform
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fuzzer.core.text import MOST_LINE, disarmed, shorten, visible
from fuzzer.repro.module.format import wrapped

if TYPE_CHECKING:
    from fuzzer.findings.releases import Bisected
    from fuzzer.findings.script_parts import ScriptParts
    from fuzzer.store.known import KnownAs
    from fuzzer.store.records import CampaignInfo, FindingRecord
    from oracles.core.verdict import Verdict


_IMPORTS = {
    "I": "from tvm.script import ir as I",
    "R": "from tvm.script import relax as R",
    "T": "from tvm.script import tirx as T",
}
_MOST_FRAMES = 8
LONGEST_SCRIPT = 20_000
"""Characters of a script that an issue holds: GitHub takes 65,536 in all, and a module is shown twice."""
_LONGEST_TEXT = 4_000
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCK = re.compile(r"^(\s*)(?=#|`{3}|~{3})", re.MULTILINE)


def bug_report(
    finding: FindingRecord,
    verdict: Verdict,
    info: CampaignInfo,
    script: str,
    parts: ScriptParts,
    bisected: Bisected | None = None,
    known: KnownAs | None = None,
) -> str:
    """Write the report.

    Args:
        finding: The finding.
        verdict: Its failing verdict; in words it is told as the script tells it, which is of the smallest case.
        info: The campaign.
        script: Source of its repro script.
        parts: What the script is made of.
        bisected: What is known of the releases of TVM.
        known: What people know of the finding.
    """
    words, own = parts.words, any(ref.is_user for ref in finding.case.passes)
    actual = _prose(f"{parts.numbers}." if parts.numbers else words.observed) + "\n"
    if frames := verdict.shown.frames[:_MOST_FRAMES]:
        actual += f"\nInnermost frames inside TVM:\n\n{fenced(chr(10).join(frames))}"
    sections = [
        f"# {_line(words.title if own else words.headline)}\n",
        f"### Expected behavior\n\n{_sentence(_prose(words.expected))}\n",
        f"### Actual behavior\n\n{_sentence(actual)}",
        f"### Environment\n\n{_environment(info)}",
        f"### Steps to reproduce\n\n{_steps(finding, parts, script, own)}",
        f"### Before and after\n\n{fenced(shorten(parts.change, _LONGEST_TEXT), 'diff')}" if parts.change else "",
        _nearest(parts),
        _bisection(bisected),
        f"### Notes\n\n{_notes(finding, info, parts, known)}",
        "" if own else "### Triage\n\n* needs-triage\n",
    ]
    return "\n".join(section for section in sections if section)


def fenced(text: str, language: str = "") -> str:
    """Return a block of code, whose fence is longer than any inside."""
    text = disarmed(visible(text))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _prose(text: str) -> str:
    """Return text of somebody else's as text: no markup, no block of Markdown, no command."""
    return _BLOCK.sub(r"\1\\", _MARKUP.sub("&lt;", disarmed(visible(shorten(text, _LONGEST_TEXT)))))


def _line(text: str) -> str:
    return " ".join(_prose(text).split())


def _sentence(text: str) -> str:
    """Begin with a capital, but where a name of TVM's stands there."""
    return text if re.match(r"[\w.]*[._]\w", text) else text[:1].upper() + text[1:]


def _environment(info: CampaignInfo) -> str:
    facts = (
        ("TVM", info.tvm_version),
        ("tvm-ffi", info.ffi_version),
        ("Python", platform.python_version()),
        ("Operating system", f"{platform.system()} {platform.machine()}"),
        ("Target", "llvm (CPU)"),
    )
    return "".join(f"* {name}: {_line(value)}\n" for name, value in facts if value)


def _steps(finding: FindingRecord, parts: ScriptParts, script: str, own: bool) -> str:
    needs = "the file of the pass, beside it or in the working directory" if own else "only TVM and NumPy"
    attached = len(script) > LONGEST_SCRIPT
    how = f"Save this as `repro.py`, and run `python repro.py`. It needs {needs}."
    if attached:
        own_file = f", `{finding.repro}` of the campaign," if finding.repro else ""
        how = f"The script{own_file} is attached, as it is too long for an issue ({len(script.splitlines()):,} lines)."
        how += f" Run it with Python. It needs {needs}."
    if parts.ending is not None:
        how += " It fails while the defect is there, and exits with 0 once the defect is gone."
        return f"{how}\n" if attached else f"{how}\n\n{fenced(script, 'python')}"
    prepared, judged = parts.passes[: -parts.judged or None], parts.passes[-parts.judged :] if parts.judged else ()
    text = ""
    if parts.module and not attached:
        text += f"The module{' (built node by node, as TVMScript does not give it back)' if parts.python else ''}:\n\n"
        text += fenced(_shown(parts), "python") + "\n"
    if prepared:
        text += f"Passes that bring it to the stage that is needed:\n\n{fenced(_lines(prepared), 'python')}\n"
    if judged:
        what = "The pass" if len(judged) == 1 else "The passes, in order"
        text += f'{what}, under `tvm.target.Target("llvm")`:\n\n{fenced(_lines(judged), "python")}\n'
    text += (
        f"{how} It prints `BUG: ...` and\n"
        "exits with 1 while the defect is there, and with 0 once the defect is gone.\n\n"
    )
    if attached:
        return text
    return f"{text}<details>\n<summary>repro.py</summary>\n\n{fenced(script, 'python')}\n</details>\n"


def _shown(parts: ScriptParts) -> str:
    if parts.python:
        return f"import tvm\nfrom tvm import relax\n\n\n{parts.module}"
    needed = [line for name, line in _IMPORTS.items() if re.search(rf"\b{name}\.", parts.module)]
    return "\n".join(needed) + f"\n\n\n{parts.module}"


def _lines(expressions: Sequence[str]) -> str:
    return "\n".join(map(wrapped, expressions))


def _nearest(parts: ScriptParts) -> str:
    if parts.nearest is None:
        return ""
    said = f"The same check passes after this edit ({_line(parts.nearest.what)}):\n\n"
    return f"### Nearest module that passes\n\n{said}{fenced(shorten(parts.nearest.diff(), _LONGEST_TEXT), 'diff')}"


def _bisection(bisected: Bisected | None) -> str:
    if bisected is None:
        return ""
    rows = "".join(f"| {_cell(release)} | {_cell(said)} |\n" for release, said in bisected.releases)
    table = f"\n| TVM | the script says |\n|---|---|\n{rows}" if rows else ""
    return f"### Releases\n\n{_sentence(_line(bisected.judgement))}.\n{table}"


def _cell(text: str) -> str:
    return html.escape(disarmed(" ".join(visible(shorten(text, MOST_LINE)).split())), quote=False).replace("|", "\\|")


def _notes(finding: FindingRecord, info: CampaignInfo, parts: ScriptParts, known: KnownAs | None) -> str:
    cases = "case" if finding.count == 1 else "cases"
    size = f", {finding.bindings} binding{'s' * (finding.bindings != 1)}" if finding.bindings is not None else ""
    seen = f"in {finding.count:,} {cases} out of {info.examples:,}"
    smaller = f"minimized to the module above ({parts.lines} lines{size})"
    if finding.minimized is None:
        smaller = "not minimized yet"
    assessment = finding.assessment
    blame = assessment.beside(finding.culprit)
    lines = [
        f"* Pass: `{_line(finding.culprit).replace('`', chr(39))}`",
        f"* Severity: {assessment.severity}; evidence: {assessment.evidence}",
        *([f"* {_cell(blame[0].upper() + blame[1:])}"] if blame else []),
        *([f"* {_cell(_sentence(line))}" for line in known.lines] if known is not None else []),
        f"* Found by fuzzing, {seen}; {smaller}.",
        f"* Signature: `{finding.id}` {_cell(finding.signature).replace('`', chr(39))}",
    ]
    return "\n".join(lines) + "\n"
