"""A finding as a bug report in Markdown, in the sections of TVM's own issue template, ready to paste.

The template asks for expected behaviour, actual behaviour, environment and steps to reproduce
(``.github/ISSUE_TEMPLATE/bug-report.md`` of apache/tvm).  What a maintainer needs to see is visible; the script that
judges itself is folded away.
"""

from __future__ import annotations

import html
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.core.installed import pip_command
from fuzzer.core.text import MOST_LINE, disarmed, quoted_path, shell, shorten, visible
from fuzzer.store.records import STOPPED
from oracles.core.verdict import Notation
from relaxkit.compat.known import known as known_release

if TYPE_CHECKING:
    from fuzzer.findings.releases import Bisected
    from fuzzer.findings.script_parts import ScriptParts
    from fuzzer.store.known import Cause, KnownAs
    from fuzzer.store.records import CampaignInfo, FindingRecord
    from oracles.core.verdict import Evidence, Verdict


_MOST_FRAMES = 8
_WRAPPERS = ("ir/transform.py:", "ir/utils.py:", "relax/transform/transform.py:")
"""Files of the Python that starts every pass."""
LONGEST_SCRIPT = 20_000
"""Characters of a script that an issue holds: GitHub takes 65,536 in all, and a module is shown twice."""
_LONGEST_TEXT = 4_000
_SPECIAL = re.compile(r"[\\*`\[\]~|$]|(?<![^\W_])_|_(?![^\W_])|^[#=+:-]|^\d{1,9}(?=[.)](?:\s|$))")
"""What may begin markup: an underscore within a word does not, a sign or a number does where the line begins."""
_ACTING = re.compile(r"\\(?=[!-/:-@\[-`{-~]|$)|[*`~$]|(?<![^\W_])_|_(?![^\W_])|\](?=\()|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
"""The part of it that acts within a line, so that a title needs escapes for nothing else."""
_MENTION = re.compile(
    r"(?<=@)(?=\w)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)|(?<=\bgithub\.com/)|(?<=\b[0-9a-f]{20})(?=[0-9a-f]{20}\b)",
    re.IGNORECASE,
)
"""Where GitHub would tell a person, a team, another issue or a commit of the text."""
_CODE = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
_IDENTIFIER = re.compile(
    r"(?<![\w/.`@\"])(?=@?[\w:.>-]*(?:->|::|_))@?[A-Za-z_]\w*(?:(?:->|::|\.)~?[A-Za-z_]\w*)*(?:\(\))?(?![\w/])"
    r"(?=[^`]*(?:`[^`]*`[^`]*)*\Z)"
)
"""What is code in a sentence, though nobody has put it into backticks: a name with an underscore or a member."""
_SOURCE = re.compile(r"\b(?:src|include|python)/[\w./\\-]+\.(?:cc|h|py)")
"""A file of TVM, whose underscores are escaped."""
_PASS = re.compile(r"[A-Z]\w*")
"""How passes are called; functions and other parts of TVM are called otherwise."""
_TWO_MODULES = {
    "mutated": "The input before and after the run:",
    "not-equal": "What a run gives, and what the next one gives:",
    "reads-otherwise": "The module, and what is read back:",
    "loads-otherwise": "The module, and what is read back:",
    "not-local": "What the pass makes of one module, and of the other:",
}
"""What the changed lines are of, where these are not a pass's input and output, by the kind of the failure."""
_NAMED = re.compile(r"\A[A-Za-z_][\w.]*(?= (?:returns|gives)\b)")


def bug_report(
    finding: FindingRecord,
    verdict: Verdict,
    info: CampaignInfo,
    script: str,
    parts: ScriptParts,
    bisected: Bisected | None = None,
    known: KnownAs | None = None,
    directory: Path = Path("campaign"),
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
        directory: The campaign's, for the command that minimizes the finding.
    """
    words, own = parts.words, any(ref.is_user for ref in finding.case.passes)
    shown = verdict.shown
    attached = len(script) > LONGEST_SCRIPT
    above = not attached if parts.ending is not None else 0 < len(parts.module) < _LONGEST_TEXT
    module = "the module above" if above else f"the module in the {'attached ' if attached else ''}script"
    actual = _prose(words.observed) + "\n"
    if frames := told_frames(shown):
        where = "Raised at, innermost last" if shown.details.raised_at else "Innermost frames inside TVM"
        actual += f"\n{where}:\n\n{fenced(chr(10).join(frames))}"
    reported = known.reported if known is not None else ""
    cause = known.cause if known is not None and (known.same_program or known.perhaps_caused) else None
    heading = "Cause" if known is not None and known.same_program else "Perhaps the cause (read of another program)"
    change = fenced(shorten(parts.change, _LONGEST_TEXT), "diff") if parts.change else ""
    lead = _TWO_MODULES.get(shown.kind, "") if change else ""
    change = f"{lead}\n\n{change}" if lead else change
    if lead and words.observed.rstrip(".") == words.title:  # which the lines say more of
        actual, change = f"{actual}\n{change}", ""
    sections = [
        f"# {_title(words.title if own else words.headline)}\n",
        f"{_sentence(unbroken(_line(known.told_upstream)))}\n" if known is not None and reported else "",
        f"{_line(finding.assessment.told(verdict))}\n",
        f"### Expected behavior\n\n{_sentence(_prose(words.expected))}\n",
        f"### Actual behavior\n\n{_sentence(actual)}",
        "" if cause is None else cause_section(cause, info.tvm_version, reported, heading),
        f"### Environment\n\n{_environment(info)}",
        f"### Steps to reproduce\n\n{_steps(finding, parts, script, own, info.tvm_version)}",
        change and f"### {'What differs' if lead else 'Before and after'}\n\n{change}",
        _nearest(parts),
        _bisection(bisected),
        f"### Notes\n\n{_notes(finding, own, module, directory)}",
    ]
    return "\n".join(section for section in sections if section)


def minimizing(finding: FindingRecord, directory: Path) -> str:
    """Return the command that minimizes a finding of the campaign in a directory."""
    return f"{shell('relaxfuzz')} minimize {quoted_path(directory)} {finding.id}"


def fenced(text: str, language: str = "") -> str:
    """Return a block of code, whose fence is longer than any inside."""
    text = disarmed(visible(text))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def escaped(text: object, most: int = MOST_LINE) -> str:
    """Return text of somebody else's on one line, as Markdown shows it as it is, in a table as well: no markup."""
    flat = _flat(text, most)
    return flat if flat == "-" else _literal(flat)  # below no line of text a dash is one


def _flat(text: object, most: int = MOST_LINE) -> str:
    return disarmed(" ".join(visible(shorten(str(text), most)).split()))


def _literal(text: str) -> str:
    text = html.escape(text, quote=False)
    made = _SPECIAL.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", text)
    return _MENTION.sub("&#8203;", made)


def _prose(text: str) -> str:
    """Escape each line; code in backticks stays code."""
    lines = (_CODE.split(_flat(line, _LONGEST_TEXT)) for line in shorten(text, _LONGEST_TEXT).splitlines())
    return "\n".join("".join(part if at % 2 else _literal(part) for at, part in enumerate(line)) for line in lines)


def _code(text: str) -> str:
    text = _flat(text)  # any change of a command, such as of a backtick into a quote, could make it run something else
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _line(text: str) -> str:
    return " ".join(_prose(text).split())


def _title(text: str) -> str:
    """Return a title as it is typed into the field for it, and as Markdown shows it too: few have what must be escaped.

    Mentions are broken up by spaces: in that field an entity is shown as it is written.
    """
    line = _flat(text, _LONGEST_TEXT)
    parts = _CODE.split(line)
    signs = "".join(_ACTING.findall(" ".join(parts[::2])))
    shown = {"<": "&lt;", "&": "&amp;"} | {sign: sign for sign in "*`~$_" if signs.count(sign) == 1}  # it needs another
    for at, part in enumerate(parts):
        if not at % 2:
            parts[at] = _MENTION.sub(" ", _ACTING.sub(lambda sign: shown.get(sign[0], f"\\{sign[0]}"), part))
    return "".join(parts)


def _sentence(text: str) -> str:
    """Begin with a capital, but where the name of a function or of something of TVM's stands there."""
    text = _NAMED.sub(r"`\g<0>`", text)
    return text if text[:1] == "`" or re.match(r"[\w.]*[._]\w", text) else text[:1].upper() + text[1:]


def _environment(info: CampaignInfo) -> str:
    facts = (
        ("TVM", info.tvm_version), ("tvm-ffi", info.ffi_version), ("Python", platform.python_version()),
        ("Operating system", f"{platform.system()} {platform.machine()}"), ("Target", "llvm (CPU)"),
    )  # fmt: skip
    return "".join(f"* {name}: {_line(value)}\n" for name, value in facts if value)


def _steps(finding: FindingRecord, parts: ScriptParts, script: str, own: bool, version: str) -> str:
    needs = "the file of the pass, next to it or in the working directory" if own else "only TVM and NumPy"
    if (release := known_release(version)) and not own:
        needs += f" (`{pip_command(release)} numpy`, the releases with which it was tested)"
    attached = len(script) > LONGEST_SCRIPT
    how = f"Save this as `repro.py` and run `python repro.py`. It needs {needs}."
    if attached:
        own_file = f", `{finding.repro}` of the campaign," if finding.repro else ""
        how = f"The script{own_file} is attached, as it is too long for an issue ({len(script.splitlines()):,} lines)."
        how += f" Run it with Python. It needs {needs}."
    if parts.ending is not None:
        how += f" It fails while the defect exists, and exits with 0 once {parts.ending.gone}."
        return f"{how}\n" if attached else f"{how}\n\n{fenced(script, 'python')}"
    text = ""
    if parts.module and len(parts.module) < _LONGEST_TEXT:
        text = f"The module{' (built node by node)' if parts.python else ''}:\n\n"
        text += fenced(parts.module, "python") + "\n"
    text += f"{how} It prints `BUG: ...` and\nexits with 1 while the defect exists, and with 0 once it is fixed.\n\n"
    if attached:
        return text
    return f"{text}<details>\n<summary>repro.py</summary>\n\n{fenced(script, 'python')}\n</details>\n"


def _nearest(parts: ScriptParts) -> str:
    if (near := parts.near) is None:
        return ""
    said = f"The same check passes after this edit ({_line(near.what)}):\n\n"
    return f"### Nearest module that passes\n\n{said}{fenced(shorten(near.diff(), _LONGEST_TEXT), 'diff')}"


def _bisection(bisected: Bisected | None) -> str:
    if bisected is None:
        return ""
    rows = "".join(f"| {escaped(release)} | {escaped(said)} |\n" for release, said in bisected.releases)
    table = f"\n| TVM | the script says |\n|---|---|\n{rows}" if rows else ""
    return f"### Releases\n\n{_sentence(_line(bisected.judgement))}.\n{table}"


def cause_section(cause: Cause, release: str, reference: str = "", heading: str = "Cause") -> str:
    """Tell what somebody has read in TVM's source of a program, with links to it in the release that was tested."""
    told = (_prose(_IDENTIFIER.sub(r"`\g<0>`", each)) for each in (cause.reason, cause.place, cause.mend))
    reason, place, mend = (_SOURCE.sub(lambda found: _linked(found, release), each) for each in told)
    lines = (
        f"### {heading}\n\n{reason}",
        f"Where: {place}" if place else "",
        f"Possible fix: {mend}" if mend else "",
        f"Upstream: {_line(cause.upstream or reference) or 'no existing issue or pull request was found'}",
    )
    return unbroken("\n\n".join(filter(None, lines))) + "\n"


def unbroken(text: str) -> str:
    """Return text that people wrote into a list, whose links are meant."""
    text = text.replace("github.com/&#8203;", "github.com/")
    text = re.sub(r"\bPR #&#8203;(\d{4,})\b", r"PR [#\1](https://github.com/apache/tvm/pull/\1)", text)
    return re.sub(r"\\?#&#8203;(\d{4,})\b", r"[#\1](https://github.com/apache/tvm/issues/\1)", text)


def _linked(found: re.Match[str], release: str) -> str:
    """Return a file of TVM's source as a link."""
    path = found[0].replace("\\", "")
    return f"[{path}](https://github.com/apache/tvm/blob/v{release}/{path})"


def _placed(frames: tuple[str, ...], lines: tuple[int, ...]) -> tuple[str, ...]:
    """Return the frames that say something as ``file:line in function``, where the lines are known."""
    parts = [(*frame.partition(":")[::2], line) for frame, line in zip(frames, lines, strict=False)]
    if len(parts) == len(frames):
        frames = tuple(f"{file}:{line} in {name}" for file, name, line in parts)
    return tuple(each for each in frames if not each.startswith(_WRAPPERS))[:_MOST_FRAMES]


def told_frames(shown: Evidence) -> tuple[str, ...]:
    """Return where it was raised, else frames with a known source, and tvm-ffi's, else functions without a file."""
    if shown.details.raised_at:
        return shown.details.raised_at[-_MOST_FRAMES:]
    of_ffi = tuple(each for each in shown.details.functions if each.endswith("]"))
    others = tuple(f"{each} (source file unknown)" for each in shown.details.functions if each not in of_ffi)
    return (*of_ffi, *(_placed(shown.frames, shown.details.lines) or others))[:_MOST_FRAMES]


def _notes(finding: FindingRecord, own: bool, module: str, directory: Path) -> str:
    smaller = f"minimized to {module}"
    if STOPPED in finding.note:
        smaller += f", but not to the end: {STOPPED}. To go on, run {_code(minimizing(finding, directory))}"
    if not finding.is_reduced:
        smaller = f"{module} is as it was generated: no reduction was accepted"
    if not finding.is_minimized:
        left = "as it was generated" if finding.minimized is None else "what an unfinished minimization left"
        smaller = f"not minimized: {module} is {left}, and it is not yet known which parts the failure needs. "
        smaller += f"To minimize it, run {_code(minimizing(finding, directory))}, then generate this report again"
    name, tested = finding.assessment.blame or finding.culprit, finding.culprit
    kind = "Pass" if own or (_PASS.fullmatch(name) and name not in [*Notation]) else "Component"
    found = "" if name == tested else f" (found while testing {_code(tested)})"
    return f"* {kind}: {_code(name)}{found}\n* Found by fuzzing with relaxfuzz; {smaller}.\n"
