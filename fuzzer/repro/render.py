"""Putting a script together: what is wrong first, then the module, the passes and the check, then what they need."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

from fuzzer.core.case import Case, load_module, subject_of
from fuzzer.core.text import shorten
from fuzzer.findings.script_parts import Nearest, RenderedScript, ScriptParts, Words
from fuzzer.repro.bundle import import_lines, select
from fuzzer.repro.checks.check import NOT_EQUAL, Check
from fuzzer.repro.checks.documented import LEGALIZE, documented_check, shown_alone
from fuzzer.repro.checks.locality import NOT_LOCAL
from fuzzer.repro.module.format import wrapped
from fuzzer.repro.module.source import ModuleSource, literal_of, module_source
from fuzzer.repro.older_releases import names_for_older
from fuzzer.repro.table import EXTERNAL_PIECES, PIECES, check_of, words_of
from fuzzer.repro.telling import namesakes
from fuzzer.repro.title import AGAIN, title_of
from oracles.core.verdict import Phase, Verdict
from relaxkit.passes.pass_ref import PassRef, Substitute

_FACT = 300
_TITLE = '''\
#!/usr/bin/env python3
"""{title}

{facts}
'''
_USAGE = '''\
python FILE                checks whether the defect is present.  Exit code: 1 and a line "BUG: ..." if it is; 0 if it
                           is gone ("OK: ...") or something else happens ("DIFFERENT: ..."); 2 if the environment is
                           unsuitable ("ENVIRONMENT: ...").  Needs only tvm and numpy.
python FILE query MODULE   checks the module in another file (TVMScript or JSON) instead.  Exit code: 0 if it shows
                           the defect, otherwise 1, as C-Vise and other reducers expect.
"""

from __future__ import annotations

{standard}

try:
{tvm}
except Exception as error:
    print(f"ENVIRONMENT: {{type(error).__name__}}: {{error}}")
    sys.exit(2)
'''

_PASSES = '''\
def preparing_passes():
    """Passes that bring the module to the stage that the judged ones need."""
    return {prepare}


def judged_passes():
    """The passes under judgement."""
    return {passes}
'''

_CHECK = '''\
def check(module, passes):
    """An outcome, and one line that says what was seen."""
    return {call}
'''

_REST = "# " + "-" * 20 + " What the above needs; nothing in it belongs to this defect. " + "-" * 20 + "\n"

_JUDGED = '''\
def judged(text=None):
    """Load the module (that of a text, or the given one), build the passes, check{outside}."""
    try:
        module = given_module() if text is None else load(text)
        module, passes = run_passes(preparing_passes(), module), judged_passes()
    except Exception as error:
        return "ENVIRONMENT", f"{{type(error).__name__}}: {{first_line(error)}}"
    try:
        return {checked}
    except Exception as error:
        return "DIFFERENT", f"{{type(error).__name__}}: {{first_line(error)}}"


def shows(module):
    """Whether a module shows the defect: what relaxfuzz asks while it makes one smaller."""
    return judged(tvm.ir.save_json(module))[0] == "BUG"


def main(mode="run", path=""):
    """Do what the first lines of this file say."""
    if mode not in ("run", "query"):
        print(f"ENVIRONMENT: {{mode!r}} is not one of the modes listed at the top of this file")
        return 2
    try:
        text = open(path, encoding="utf-8").read() if mode == "query" else None
    except (OSError, ValueError) as error:
        print(f"ENVIRONMENT: the module cannot be read: {{error}}")
        return 2
    outcome, said = judged(text)
    print(f"{{outcome}}: {{said}}")
    if mode == "query":
        return 0 if outcome == "BUG" else 1
    if outcome == "BUG":
        print("expected:", {expected})
    print("with: tvm", tvm.__version__, "python", sys.version.split()[0])
    return {{"BUG": 1, "ENVIRONMENT": 2}}.get(outcome, 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
'''

_GIVEN = '''\
def given_module():
    """The module that shows the defect."""
    return load(MODULE)
'''


def render_repro(
    case: Case,
    verdict: Verdict,
    signature: str,
    nearest: Nearest | None = None,
    blame: str = "",
    minimized: bool = True,
) -> RenderedScript:
    """Render the script for one failing verdict.

    Args:
        case: Module and passes.
        verdict: A failing verdict on exactly this case: its message is what the script looks for.
        signature: One line that names the finding, for the header.
        nearest: The nearest module that passes, to be shown beside it.
        blame: What is at fault, where it is not the judged pass.
        minimized: Whether the case was made as small as it gets.
    """
    subject = subject_of(case)
    died_preparing = verdict.evidence is not None and verdict.evidence.details.stage is Phase.PREPARE
    judged = [expression(step.ref) for step in subject.plan.steps]
    prepare = [*map(expression, subject.preparing)]  # what changes nothing is not shown
    if died_preparing:
        prepare, judged = [], [*map(expression, subject.plan.prepare), *judged]  # all of them in the child process
    alone = shown_alone(case, verdict)
    title = title_of(case, verdict, nearest, None if alone is None else alone.call, blame, minimized)
    words = words_of(verdict, title)
    if verdict.evidence is not None and verdict.evidence.kind in ("mutated", NOT_EQUAL, NOT_LOCAL):
        _, again, change = title.partition(AGAIN)
        words = replace(words, observed=f"the second run {change}" if again else title)  # not that two modules differ
    words = replace(words, observed=words.observed + namesakes(words.observed, load_module(case)))
    if alone is not None:
        prepare, judged, nearest = [], [LEGALIZE], None  # which is one of the whole module
    check = check_of(case, verdict) if alone is None else documented_check(alone)
    source = module_source(load_module(case) if alone is None else alone.call.module)
    roots = sorted({str(root) for step in subject.plan.steps if step.ref.is_user for root in step.ref.roots})
    front = _joined(
        _module(source),
        f"sys.path += {roots}" if roots else "",
        wrapped(_PASSES.format(prepare=_listed(prepare), passes=_listed(judged))),
        check.preamble,
        wrapped(_CHECK.format(call=check.call)),
    )
    back = wrapped(_JUDGED.format(**_judging(check), expected=repr(words.expected)))
    selection = select(PIECES + check.pieces + EXTERNAL_PIECES, f"{front}\n\n{back}")
    names = names_for_older(f"{front}\n\n{selection.text}\n\n{back}")
    title = _TITLE.format(title=_safe(words.headline), facts="\n".join(_facts(verdict, words, signature)))
    usage = _USAGE.format(
        standard=import_lines({*selection.standard, *names.standard}),
        tvm="\n".join(f"    {line}" for line in dict.fromkeys((*selection.tvm, *names.tvm))),
    )
    text = _joined(f"{title}\n{usage}", front, f"{_REST}\n\n{_joined(names.text, selection.text)}", back)
    shown = source.builder or (source.text.strip("\n") if source.is_script else "")
    return RenderedScript(text, ScriptParts(shown, bool(source.builder), words, nearest))


def _joined(*parts: str) -> str:
    return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


_SUBSTITUTES = {
    None: "{}",
    Substitute.CODEGEN: "with_codegen({}, plain_build)",
    Substitute.CUDA_GRAPH: "with_cuda_graph({})",
    Substitute.ALL_REDUCE: "with_all_reduce({})",
}


def expression(ref: PassRef) -> str:
    """Return the Python expression that builds a pass inside a script."""
    if not ref.is_user:
        return _SUBSTITUTES[ref.substitute].format(ref.expression)
    return f"user_pass({', '.join([*map(repr, ref.factory), *filter(None, [ref.arguments])])})"


def _module(source: ModuleSource) -> str:
    remarks = "".join(f"# {line}".rstrip() + "\n" for line in source.remarks)
    if source.builder:
        return f"{remarks}{source.builder}"
    return _joined(f"{remarks}MODULE = {literal_of(source.text)}\n", _GIVEN)


def _judging(check: Check) -> dict[str, str]:
    call = "check(module, passes)"
    if not check.death:
        return {"checked": call, "outside": ""}
    how = f"{check.death!r}, {check.seconds}, {check.megabytes}"
    return {"checked": f"in_child(lambda: {call}, {how})", "outside": " in a process of its own"}


def _listed(expressions: Sequence[str]) -> str:
    return "[\n" + "".join(f"        {item},\n" for item in expressions) + "    ]" if expressions else "[]"


def _facts(verdict: Verdict, words: Words, signature: str) -> list[str]:
    versions = f"tvm {_version('apache-tvm')}, ffi {_version('apache-tvm-ffi')}, python {platform.python_version()}"
    facts = {
        "expected": words.expected,
        "observed": words.observed,
        "raised at": "" if verdict.evidence is None else "".join(verdict.evidence.details.raised_at[-1:]),
        "pass": verdict.culprit,
        "oracle": verdict.oracle.value,
        "found with": versions,
        "signature": signature,
    }
    return [
        textwrap.fill(_safe(value), 118, initial_indent=f"{key + ':':<11} ", subsequent_indent=" " * 12)
        for key, value in facts.items()
        if value
    ]


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _safe(text: Any) -> str:
    """Return the first line, safe inside a docstring, short enough for a line of a script."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    line = (lines[0] if lines else "").replace("\\", "/").replace('"""', "'''")
    return shorten(line, _FACT)
