"""The text of a failure: what is wrong, the module made small, and the script that shows it to others."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import pytest

from fuzzer.core.case import Case
from fuzzer.core.text import counted, first_line, printable
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.repro.pristine import check_pristine
from fuzzer.triage.reduce import NotReduced, Reduced, reduce_case, script_request
from fuzzer.triage.script import repro_script, write_repro
from oracles.check import line
from oracles.core.verdict import Verdict
from relaxfuzz.pytest_plugin.options import Options
from relaxkit.passes.contract import OracleName


def failure_text(item: pytest.Function, case: Case, verdict: Verdict, options: Options, beside: int = 0) -> str:
    """Write the text of a failure that other processes can show again.

    Args:
        item: pytest's test.
        case: The module and passes as they were drawn.
        verdict: What was seen.
        options: Of the run.
        beside: Lines that are shown below the text.
    """
    try:
        reduced = reduce_case(case, verdict, SearchLimits(10**9, options.minimize), options.case_timeout)
    except NotReduced as error:
        again = "; give a pass with arguments as a string: check(module, 'relax.transform.FuseOps(0)')"
        return unreduced_text(verdict, case, f"not minimized: {error}{again}")
    small, seen = reduced.minimized.case, reduced.verdict or verdict
    criterion, trace = reduced.criterion, _trace(seen)
    try:
        script = repro_script(small, seen, nearest=False, full=options.full)
    except RuntimeError as error:
        said = [_observed(seen), "", *_size(reduced), "", *_shortened(reduced.script), "", f"no script: {error}"]
        return "\n".join(said)
    words = script.parts.words
    head = [printable(words.title), f"expected: {printable(words.expected)}", f"observed: {printable(words.observed)}"]
    path = _folder(item, options) / f"{re.sub(r'[^A-Za-z0-9_]+', '_', item.name)}-{criterion.id}.py"
    write_repro(script.text, path)
    checked = check_pristine(script.text, script.parts.ending)
    does = f"script, which does not reproduce the failure ({printable(checked.said)})"
    to = "to reproduce the failure, run" if checked.confirmed else does
    long = f" (long: there is no short one, {printable(script.why_long)})" if script.why_long else ""
    tail = [
        f"{to}: python {shlex.quote(str(path))}{long}",
        f"to accept it: {_accepted(verdict)}list its id {criterion.id} in the file given to --relaxfuzz-known",
        *_refusal(seen),
    ]
    module = reduced.script if script.parts.python else script.parts.module or reduced.script
    above = [*head, *trace, "", *_size(reduced), ""]
    left = _MOST_LINES - beside - len(above) - len(tail) - 1
    changed = _changed(script.parts.change, left // 2)
    return "\n".join([*above, *_shortened(module, ", in the script", left - len(changed)), *changed, "", *tail])


def _changed(change: str, most: int) -> list[str]:
    """Write the lines that the pass changes."""
    lines = [line for line in change.splitlines() if line[:1] in "+-"]
    more = [f"... {len(lines) - most + 3} more lines"] if len(lines) + 2 > most else []
    return ["", "what the pass changes:", *lines[: most - 2 - len(more)], *more] if lines else []


def _accepted(verdict: Verdict) -> str:
    """Write the argument of ``check`` that accepts a failure; a process that died cannot read it."""
    died = verdict.evidence is not None and verdict.evidence.is_death
    return "" if died else f'check(..., known=["{verdict.oracle}: {verdict.culprit}"]), or '


def _refusal(verdict: Verdict) -> list[str]:
    """Write the contract by which a pass refuses such input, where its own file raised the exception by a statement."""
    frames = verdict.evidence.details.raised_at if verdict.evidence is not None else ()
    if verdict.oracle is not OracleName.CRASH or not frames or ": raise " not in frames[-1]:
        return []
    pattern = re.escape(first_line(verdict.shown.message)).replace("\\ ", " ")
    refusal = f'Refusal("{verdict.shown.kind}", r"{pattern}", "WHY", "SOURCE")'
    contract = f'dataclasses.replace(default_contract("{verdict.culprit}"), refusals=({refusal},))'
    return [printable(f"if the pass is meant to refuse such modules: PASS.contract = {contract} (docs/own-pass.md)")]


_MOST_FRAMES, _MOST_LINES, _LEAST_LINES = 5, 24, 6
"""Frames of a trace, lines of the whole text, with which pytest writes 40, and of a module whatever is beside it."""


def _trace(verdict: Verdict) -> list[str]:
    """Write where in the user's files an exception was raised."""
    frames = verdict.evidence.details.raised_at if verdict.evidence is not None else ()
    return ["raised at, innermost last:", *(f"    {frame}" for frame in frames[-_MOST_FRAMES:])] if frames else []


def _shortened(module: str, elsewhere: str = "", most: int = 18) -> list[str]:
    lines = module.strip("\n").splitlines()
    if (begins := "@I.ir_module") in lines and any(line.startswith("metadata = ") for line in lines):
        lines = lines[lines.index(begins) :]  # large constants come first, and would be all that is shown
    lines, most = [*itertools.dropwhile(lambda line: line[:1] in ("", "#"), lines)], max(most, _LEAST_LINES)
    left = len(lines) - most + 1
    return lines if left <= 1 else [*lines[: most - 1], f"# ... and {left} more lines{elsewhere}"]


def unreduced_text(verdict: Verdict, case: Case, why: str) -> str:
    """Write the text of a failure whose module stays as it is, and why."""
    from fuzzer.minimizer.judge.judge import Judge
    from fuzzer.worker.worker import IsolatedWorker

    with IsolatedWorker() as worker:
        script = Judge(worker, ()).ask(script_request, case.module_json)
    shown = script.rstrip() if isinstance(script, str) else "# TVM cannot print this module"
    return "\n".join([_observed(verdict), "", why, "", *_shortened(shown), *_refusal(verdict)])


def _size(reduced: Reduced) -> list[str]:
    found = reduced.minimized
    ended = "" if found.stopped is None else f", stopped by --relaxfuzz-minimize ({found.stopped})"
    bindings = f"minimized from {counted(reduced.bindings_before or 0, 'binding')} to {reduced.bindings or 0}"
    return [
        f"{bindings} in {found.seconds:.0f} s{ended}; reproduced {reduced.before.hits}/{reduced.before.runs} times",
        *reduced.notes,
    ]


def _observed(verdict: Verdict) -> str:
    return "\n".join(printable(each) for each in line(verdict).splitlines())


def _folder(item: pytest.Function, options: Options) -> Path:
    if options.out is not None:
        return options.out
    cache = getattr(item.config, "cache", None)
    return Path(cache.mkdir("relaxfuzz")) if cache is not None else item.config.rootpath / ".relaxfuzz"
