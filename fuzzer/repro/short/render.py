"""Putting a short script together: head, imports, the module, the call, one assertion."""

from __future__ import annotations

import ast
import difflib
import functools
import re
import signal
import textwrap
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import tvm
import tvm_ffi

from fuzzer.core.installed import installed, pip_command
from fuzzer.core.text import counted, first_line, first_lines
from fuzzer.findings.assessment import Culprit
from fuzzer.findings.script_parts import Ending, Nearest, ShortForms, ShortScript
from fuzzer.repro.bundle import OPTIONAL, import_lines
from fuzzer.repro.checks.check import FailingCase
from fuzzer.repro.module.builder import Unsayable
from fuzzer.repro.module.format import WIDTH, wrapped
from fuzzer.repro.module.tvmscript import plain_lines, readable
from fuzzer.repro.nearest.edits import edits_between
from fuzzer.repro.pieces.frame import load
from fuzzer.repro.short.before import as_read, sources_of
from fuzzer.repro.short.numeric import of_the_machine
from fuzzer.repro.short.scene import BEFORE, Scene, Showing, scenes
from fuzzer.repro.table import OracleForms, forms_of, words_of
from fuzzer.repro.title import title_of
from oracles.core.verdict import Death
from relaxkit.compat.known import known
from relaxkit.ir.functions import functions_by_name

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.findings.assessment import Assessment
    from oracles.core.verdict import Verdict

MOST_LINES = 150
"""A script of more lines is not short."""
_SCREEN = 80
_TRIED = 8  # a pass alone may be shown in six ways, and then the passes behind it belong to the failure
_CHANGED_LINES = 60
_MEGABYTES = 4096
_STANDARD = ("contextlib", "io", "os", "resource", "signal", "sys", "threading")


def short_forms(
    case: Case, verdict: Verdict, assessment: Assessment | None = None, title: str = "", nearest: Nearest | None = None
) -> ShortForms:
    """Write the short scripts that may show a failure; runs in a worker, and runs what the failure is about.

    Which of them shows it is for a fresh process to say, as is whether it ends well with ``nearest``.
    """
    failure = FailingCase(case, verdict)
    forms = forms_of(verdict)
    if assessment is not None and assessment.blame == Culprit.MACHINE:
        forms = replace(forms, short=of_the_machine)
    head = functools.partial(_head, failure, forms, assessment, title or title_of(case, verdict))
    found: list[ShortScript] = []
    why = ""
    for scene in scenes(failure):
        try:
            own = scene.text == case.module_json
            near = load(nearest.applied(readable(failure.module))) if nearest and own else None
            scene = replace(scene, text=as_read(scene.text, BEFORE))
            for showing in forms.short(scene):
                try:
                    found += _written(scene, showing, forms, head, near)
                except Unsayable as error:  # that one's module; another showing may be of the module before it
                    why = why or first_line(f"{error}")
        except Exception as error:  # the long form remains
            why = why or first_line(f"{error}" or type(error).__name__)
    # What fits on a screen comes first, in the order of the scenes; of the rest the shortest.
    sizes = [len(script.text.splitlines()) for script in found]
    order = sorted(
        range(len(found)), key=lambda each: (sizes[each] > _SCREEN, sizes[each] if sizes[each] > _SCREEN else 0, each)
    )
    scripts = tuple(found[each] for each in order if sizes[each] <= MOST_LINES)
    if found and not scripts:
        why = f"it would have {min(sizes)} lines"
    return ShortForms(scripts[:_TRIED], why)


def _written(
    scene: Scene, showing: Showing, forms: OracleForms, head: Callable[[], list[str]], passing: Any
) -> Iterator[ShortScript]:
    module = scene.fresh() if showing.module is None else showing.module
    acts = _dying(scene.failure, forms, showing) if scene.failure.died else showing
    prepared = scene.prepared()
    for before, equal in sources_of(module, BEFORE):
        if not equal and not acts.ending.words:  # the words tell a failure from another one
            continue
        needed = scene.definitions if showing.module is None or showing.second else ""
        parts = (wrapped(acts.definitions), before, acts.second, wrapped(needed))
        front = "\n\n".join(part.rstrip() for part in parts if part.strip())
        user = scene.imports
        body = [*map(wrapped, prepared), *map(wrapped, acts.lines)]
        guard = _guard() if any("_json(" in line for line in body) else []
        imports = _imports("\n".join([*user, *guard, front, *body]))
        remark = [f"# {acts.remark}"] if acts.remark else []
        text = "\n".join([*head(), *remark, *imports, *user, *guard, "", front, "", ""])
        shown = body[: len(prepared) + acts.ending.line]
        first = len(text.splitlines()) + sum(len(each.splitlines()) for each in shown)
        ending = replace(acts.ending, line=first + 1)
        text += "\n".join(body) + "\n"
        near = None if passing is None or showing.module is not None else _edited(text, before, passing)
        yield ShortScript(text, ending, _change(scene, showing), near)


def _guard() -> list[str]:
    """Return lines that end a script where it would die of a tvm-ffi that does not fit TVM, whose JSON it needs."""
    versions = installed()
    if (release := known(versions.tvm)) is None:
        return []
    fits = f'tvm_ffi.__version__.startswith("{".".join(map(str, release.least))}")'
    says = f"print({f'this release of tvm-ffi crashes: {pip_command(release)}'!r})"
    return [f'if tvm.__version__ == "{release.tvm}" and not {fits}:', f"    {says}", "    raise SystemExit(2)"]


def _edited(script: str, before: str, passing: Any) -> Nearest | None:
    """Return how a script's module is edited into a passing one; ``None`` where that cannot be said in few lines."""
    for text, _ in sources_of(passing, BEFORE):
        edits = edits_between(before, text)
        if edits is not None and (near := Nearest("", edits)).of(script):
            return near
    return None


def _dying(failure: FailingCase, forms: OracleForms, showing: Showing) -> Showing:
    """Return what is shown of a process that dies: the script dies in the same way."""
    details, lines = failure.evidence.details, showing.lines
    if details.death is Death.HANG:
        seconds = int(forms.short_seconds)
        remark = f"It does not end: an alarm kills this process after {seconds} s (SIGALRM)."
        return replace(showing, lines=(f"signal.alarm({seconds})", *lines), ending=Ending(signal=14), remark=remark)
    if details.death is Death.MEMORY:
        limit = f"resource.setrlimit(resource.RLIMIT_AS, ({_MEGABYTES} << 20, {_MEGABYTES} << 20))"
        remark = f"It runs out of memory: the limit is {_MEGABYTES} MB."
        return replace(showing, lines=(limit, *lines), ending=Ending(), remark=remark)
    if details.death is Death.SIGNAL:
        name = signal.Signals(details.code).name
        return replace(showing, ending=Ending(signal=details.code), remark=f"This script dies of {name}.")
    if not details.code:
        raise ValueError("a process that ends itself with 0 shows nothing")
    return replace(showing, ending=Ending(), remark=f"The process exits with code {details.code}.")


def _head(failure: FailingCase, forms: OracleForms, assessment: Assessment | None, title: str) -> list[str]:
    words = words_of(failure.verdict, title)
    kind, numbers = failure.evidence.kind, failure.evidence.details.numbers
    source = "" if failure.died else forms.sources.get(kind, forms.source)
    if numbers:
        expected = f"{numbers[1]}, {forms.origins.get(kind, 'as the same program returns before the pass')}"
    else:
        machine = assessment is not None and assessment.blame == Culprit.MACHINE
        due = "the program runs" if machine else words.expected.rstrip(".")  # no pass is shown before which it did
        expected = f"{due}{f' ({source})' if source else ''}"
    told = f"tvm {metadata.version('apache-tvm')}, target llvm. Expected: {expected}."
    severity = "" if assessment is None else assessment.told(failure.verdict)
    return [*_comment(title, 2), *_comment(told, 2), *_comment(severity, 3)]


def _comment(text: str, most: int) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", max_lines=most, placeholder=" ...")


def _imports(body: str) -> list[str]:
    """Return the import lines of what a text mentions."""
    names = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    standard = [f"import {name}" for name in _STANDARD if name in names]
    needed = [line for name, line in OPTIONAL.items() if name in names]
    return [line for part in (import_lines(standard), import_lines(needed)) for line in part.splitlines()]


def _change(scene: Scene, showing: Showing) -> str:
    """Return the changed lines of the two modules that a script compares, else of those before and after its passes.

    Relax functions come first; added kernels are counted if there is no room. Of a call alone, a kernel says nothing.
    """
    compared = None if scene.failure.died else scene.compared(showing)
    if scene.failure.died or (compared is None and (showing.module is not None or not scene.judged)):
        return ""
    try:
        left, right = compared or _around(scene)
        before, after = (_functions(plain_lines(each)) for each in (left, right))
        functions = [functions_by_name(each) for each in (left, right)]
    except Exception:  # the passes raise, or what they give cannot be printed
        return ""
    for name in before.keys() & after.keys() - {""}:  # TVM numbers what it prints by where that lies in memory
        if tvm_ffi.structural_equal(*(each.get(name) for each in functions), map_free_vars=True):
            after[name] = before[name]
    added = {name for name, lines in after.items() if name not in before and lines[0].startswith("    @T.")}
    first = _differences(before, after, {*before, *after} - {"", *added})
    rest = _differences(before, after, {"", *added})
    if not first:
        first, rest = rest, []
    if rest and added and len(first) + len(rest) > _CHANGED_LINES:
        rest = [f"... and adds {counted(len(added), 'PrimFunc')}"]
    return "\n".join([*first_lines(first, _CHANGED_LINES), *rest])


def _around(scene: Scene) -> tuple[Any, Any]:
    """Return the module before and after the judged passes; preparing passes run once, and may name things anew."""
    before = replace(scene, judged=()).after
    return before, replace(scene, text=str(tvm.ir.save_json(before)), prepare=()).after


def _functions(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of each function by its name, kernels last; what stands before them has none."""
    blocks = [each.splitlines() for each in re.split(r"\n(?=    @)", "\n".join(lines))]
    names = [next((line[8:].split("(")[0] for line in each if line.startswith("    def ")), "") for each in blocks]
    return dict(sorted(zip(names, blocks, strict=True), key=lambda each: each[1][0].startswith("    @T.")))


def _differences(before: dict[str, list[str]], after: dict[str, list[str]], names: Set[str]) -> list[str]:
    left, right = ([line for name in each if name in names for line in each[name]] for each in (before, after))
    return list(difflib.unified_diff(left, right, lineterm="", n=1))[2:]
