"""The text of a failure: what is wrong, the module made small, and the script that shows it to others."""

from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tvm
from tvm import relax

from fuzzer.core.case import Case
from fuzzer.core.text import counted, first_line, printable, shell
from fuzzer.findings.symptom import is_of_another_type
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.run import check_text
from fuzzer.triage.reduce import NotReduced, Reduced, reduce_case, script_request
from fuzzer.triage.script import repro_script, write_repro
from fuzzer.worker.worker import IsolatedWorker
from oracles.check import line
from oracles.core.verdict import Outcome, Verdict
from relaxfuzz.pytest_plugin.child import JudgedModule, planted
from relaxfuzz.pytest_plugin.options import Options
from relaxkit.passes.contract import OracleName


def failure_text(
    item: pytest.Function, judged: JudgedModule, verdict: Verdict, options: Options, beside: int = 0
) -> str:
    """Write the text of a failure that other processes can show again.

    Args:
        item: pytest's test.
        judged: The module and passes as they were drawn, and all that was seen.
        verdict: What is told of it.
        options: Of the run.
        beside: Lines that are shown below the text.
    """
    case = judged.case
    try:
        alone = (replace(case, module_json=str(tvm.ir.save_json(each.alone()))) for each in planted(item.obj))
        reduced = reduce_case(case, verdict, SearchLimits(10**9, options.minimize), options.case_timeout, alone)
    except NotReduced as error:
        given = (getattr(relax.transform, each.name, None) for each in case.passes if not each.is_user)
        arguments = any(each is not None and inspect.signature(each).parameters for each in given)
        again = "; give a pass with arguments as a string: check(module, 'relax.transform.FuseOps(0)')" * arguments
        return unreduced_text(verdict, case, f"not minimized: {error}{again}")
    small, seen = reduced.minimized.case, reduced.verdict or verdict
    criterion, trace = reduced.criterion, _trace(seen)
    try:
        script = repro_script(small, seen, nearest=False, full=options.full)
    except RuntimeError as error:
        above = [printable(line(seen)), "", *_size(reduced), "", *_shortened(reduced.script)]
        return "\n".join([*above, "", f"no script: {error}"])
    words = script.parts.words
    head = [printable(words.title), f"expected: {printable(words.expected)}", f"observed: {printable(words.observed)}"]
    path = _folder(item, options) / f"{_script_name(item.nodeid)}-{criterion.id}.py"
    write_repro(script.text, path)
    checked = check_pristine(script.text, script.parts.ending)
    run = f"{shell('python')} {shlex.quote(str(path))}"
    runs = range(_RERUNS if checked.exit_code is not None else 0)  # one that hangs takes minutes
    if checked.confirmed:
        long = f" (no short script: {printable(script.why_long)})" if script.why_long else ""
        to = f"to reproduce the failure, run: {run}{long}"
    elif hits := sum(check_text(script.text, script.parts.ending).confirmed for _ in runs):
        to = f"This script does not reproduce the failure every time, but in {hits} of {_RERUNS + 1} runs: {run}"
    else:
        closest = f"The closest ({counted(len(script.text.splitlines()), 'line')})"
        to = f'No script reproduces this failure. {closest} prints "{printable(checked.said)}": {run}'
    known = _accepted(judged.verdicts or (verdict,))
    tail = [
        to,
        f"to accept it: {known}list its id {criterion.id} in the file given to --relaxfuzz-known",
        *_refusal(seen),
        *_cast_hint(seen, reduced.script),
    ]
    module = reduced.script if script.parts.python else script.parts.module or reduced.script
    above = [*head, *trace, "", *_size(reduced), ""]
    left = _MOST_LINES - beside - len(above) - len(tail) - 1
    lines = _changed_lines(script.parts.change)
    what = "what the second run changes:" if seen.oracle is OracleName.IDEMPOTENCE else "what the pass changes:"
    changed = _changed(what, lines, max(left // 2, _LEAST_LINES))
    shown = _shortened(module, " in the script", left - len(changed) - 1, [line[1:].strip() for line in lines])
    return "\n".join([*above, *shown, *changed, "", *tail])


def _script_name(test: str) -> str:
    """Return the beginning of a name that the scripts of no other test have; short and plain ones stay as they are."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", test.replace(".py::", "-").replace("::", "-").replace("/", ".").lstrip("."))
    if len(name) <= _LONGEST_NAME and re.fullmatch(r"[A-Za-z0-9_/]+\.py(::[A-Za-z0-9_]+)+", test):
        return name
    return f"{name[:_LONGEST_NAME]}-{hashlib.sha256(test.encode()).hexdigest()[:6]}"


def _changed_lines(change: str) -> list[str]:
    """Return the changed lines of a diff, last those that differ only in a type from one on the other side."""
    lines = [line for line in change.splitlines() if line[:1] in "+-"]
    untyped = [(line[:1], _TYPE.sub("", line[1:])) for line in lines]
    return [
        line
        for last in (False, True)
        for line, (side, text) in zip(lines, untyped, strict=True)
        if (("-" if side == "+" else "+", text) in untyped) is last
    ]


def _changed(what: str, lines: list[str], most: int) -> list[str]:
    """Write the first of the changed lines."""
    shown = lines if len(lines) < most else [*lines[: most - 3], f"... {len(lines) - most + 3} more lines"]
    return ["", what, *shown] if lines else []


def _accepted(verdicts: Sequence[Verdict]) -> str:
    """Write the argument of ``check`` that accepts all failures of a module, which one defect may show in several ways;
    a process that died cannot read it.
    """
    failed = [each for each in verdicts if each.outcome is Outcome.FAIL]
    kinds = dict.fromkeys((str(each.oracle), each.culprit) for each in failed)
    known = ", ".join(f'"{oracle}: {culprit}"' for oracle, culprit in kinds)
    wide = " and ".join(f"every {_FAILURES.get(oracle, f'{oracle} failure')} of {culprit}" for oracle, culprit in kinds)
    accepted = f"check(..., known=[{known}]) (accepts {wide}), or "
    return "" if any(each.shown.is_death for each in failed) else accepted


def _refusal(verdict: Verdict) -> list[str]:
    """Write the contract by which a pass refuses such input, where its own file raised the exception by a statement."""
    frames = verdict.evidence.details.raised_at if verdict.evidence is not None else ()
    if verdict.oracle is not OracleName.CRASH or not frames or ": raise " not in frames[-1]:
        return []
    pattern = re.escape(first_line(verdict.shown.message)).replace("\\ ", " ")
    refusal = f'Refusal("{verdict.shown.kind}", r"{pattern}", "WHY", "SOURCE")'
    contract = f'dataclasses.replace(default_contract("{verdict.culprit}"), refusals=({refusal},))'
    return [printable(f"if the pass is meant to refuse such modules: PASS.contract = {contract} (docs/own-pass.md)")]


def _cast_hint(verdict: Verdict, module: str) -> list[str]:
    """Name what own-pass.md says of patterns, where the type of a cast value does not fit."""
    ill_typed = verdict.oracle is OracleName.WELL_FORMED and is_of_another_type(verdict.shown) and _CAST in module
    hint = "if the pass uses rewrite_call: patterns also match through match_cast (docs/own-pass.md shows what to do)"
    return [hint] if ill_typed else []


_BRACKETS = functools.reduce(lambda inner, _: rf"\((?:[^()]|{inner})*\)", range(5), r"\([^()]*\)")
_TYPE = re.compile(rf"\bR\.(?:Tensor|Tuple|Shape|Any|Callable|Prim)\b(?:{_BRACKETS})?")
_FAILURES = {"numeric": "wrong result", "crash": "exception", "well-formed": "ill-formed output"}
_LONGEST_NAME, _RERUNS = 150, 9
_CAST, _MOST_CASTS = "R.match_cast(", 3
_MOST_FRAMES, _MOST_LINES, _LEAST_LINES = 5, 24, 5
"""Frames of a trace, lines of the whole text, with which pytest writes 40, and of a module whatever is beside it."""


def _trace(verdict: Verdict) -> list[str]:
    """Write where in the user's files an exception was raised."""
    frames = verdict.evidence.details.raised_at if verdict.evidence is not None else ()
    return ["raised at, innermost last:", *(f"    {frame}" for frame in frames[-_MOST_FRAMES:])] if frames else []


def _shortened(module: str, elsewhere: str = "", most: int = 18, changed: Sequence[str] = ()) -> list[str]:
    """Cut a module: its first lines are kept, and those around the first changed one, else a public function."""
    lines = module.strip("\n").splitlines()
    if (begins := "@I.ir_module") in lines and any(line.startswith("metadata = ") for line in lines):
        lines = lines[lines.index(begins) :]  # large constants come first, and would be all that is shown
    lines, most = [*itertools.dropwhile(lambda line: line[:1] in ("", "#"), lines)], max(most, _LEAST_LINES)
    if len(lines) <= most + 1:  # to hide two lines would save one
        return lines
    public = next((n for n, line in enumerate(lines, 2) if line.strip() == "@R.function"), 0)
    places = (n for text in changed for n, line in enumerate(lines) if line.strip() and text.startswith(line.strip()))
    if (start := min(next(places, public) - 2, len(lines) - most // 2)) > (head := most // 2 - 1) + 1:
        lines[head:start] = [f"# {start - head} more lines{elsewhere}"]
        if len(lines) <= most + 1:
            return lines
    casts = [line for line in lines[most - 1 :] if _CAST in line][:_MOST_CASTS]  # they decide what a pattern matches
    shown = max(most - 1 - len(casts), 1)
    among = ", including:" if casts else ""
    return [*lines[:shown], f"# {len(lines) - shown} more lines{elsewhere}{among}", *casts]


def unreduced_text(verdict: Verdict, case: Case, why: str) -> str:
    """Write the text of a failure whose module stays as it is, and why."""
    with IsolatedWorker() as worker:
        script = Judge(worker, ()).ask(script_request, case.module_json)
    shown = script.rstrip() if isinstance(script, str) else "# TVM cannot print this module"
    return "\n".join([printable(line(verdict)), "", why, "", *_shortened(shown), *_refusal(verdict)])


def _size(reduced: Reduced) -> list[str]:
    found, before, after = reduced.minimized, reduced.bindings_before or 0, reduced.bindings or 0
    ended = "" if found.stopped is None else f", stopped by --relaxfuzz-minimize ({found.stopped})"
    done = f"minimized from {counted(before, 'binding')} to {after}"
    if after == before:
        done = f"{'simplified' if found.steps else 'no smaller module found'} ({counted(after, 'binding')})"
    again = f"reproduced {reduced.before.hits}/{reduced.before.runs} times"
    return [f"{done} in {found.seconds:.0f} s{ended}; {again}", *reduced.notes]


def _folder(item: pytest.Function, options: Options) -> Path:
    if options.out is not None:
        return options.out
    cache = getattr(item.config, "cache", None)
    return Path(cache.mkdir("relaxfuzz")) if cache is not None else item.config.rootpath / ".relaxfuzz"
