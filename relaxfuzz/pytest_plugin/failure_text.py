"""The text of a failure: what is wrong, the module made small, and the script that shows it to others."""

from __future__ import annotations

import os
import re
import shlex
import site
import sys
import sysconfig
from pathlib import Path

import pytest

from fuzzer.core.case import Case
from fuzzer.core.text import printable
from fuzzer.findings.signature import signature
from fuzzer.minimizer.search.search import SearchLimits
from fuzzer.repro.run import check_repro
from fuzzer.triage.reduce import NotReduced, Reduced, reduce_case, script_request
from fuzzer.triage.script import repro_script, write_repro
from oracles.check import line
from oracles.core.verdict import Verdict
from relaxfuzz.pytest_plugin.options import Options


def failure_text(item: pytest.Function, case: Case, verdict: Verdict, options: Options) -> str:
    """Write the text of a failure that other processes can show again.

    Args:
        item: pytest's test.
        case: The module and passes as they were drawn.
        verdict: What was seen.
        options: Of the run.
    """
    try:
        reduced = reduce_case(case, verdict, SearchLimits(10**9, options.minimize), options.case_timeout)
    except NotReduced as error:
        again = "; a pass with arguments is best given as text, check(module, 'relax.transform.FuseOps(0)')"
        return unreduced_text(verdict, case, f"not made small: {error}{again}")
    small, seen = reduced.minimized.case, reduced.verdict or verdict
    head = [printable(signature(verdict).text), "", _size(reduced), *reduced.notes, ""]
    try:
        script = repro_script(small, seen, nearest=False)
    except RuntimeError as error:
        return "\n".join([*head, reduced.script.rstrip(), "", _observed(seen), "", f"No script: {error}"])
    path = _folder(item, options) / f"{re.sub(r'[^A-Za-z0-9_]+', '_', item.name)}-{reduced.criterion.id}.py"
    write_repro(script.text, path)
    roots = _roots(small)
    checked = check_repro(path, environment={**os.environ, **roots})
    setting = ["env", *(f"{name}={value}" for name, value in roots.items())] if roots else []
    tail = ["The whole script, for others to run:", f"    {shlex.join([*setting, 'python', str(path)])}"]
    return "\n".join([*head, script.front, "", *tail, f"which says: {printable(checked.said)}"])


def unreduced_text(verdict: Verdict, case: Case, why: str) -> str:
    """Write the text of a failure whose module stays as it is, and why."""
    from fuzzer.minimizer.judge.judge import Judge
    from fuzzer.worker.worker import IsolatedWorker

    with IsolatedWorker() as worker:
        script = Judge(worker, ()).ask(script_request, case.module_json)
    shown = script.rstrip() if isinstance(script, str) else "# TVM cannot print this module"
    return "\n".join([printable(signature(verdict).text), "", why, "", shown, "", _observed(verdict)])


def _size(reduced: Reduced) -> str:
    found = reduced.minimized
    ended = "" if found.stopped is None else f", stopped by --relaxfuzz-minimize ({found.stopped})"
    return (
        f"The module: {reduced.bindings_before or 0} bindings, made {reduced.bindings or 0} in "
        f"{found.seconds:.0f} s{ended}; it came back in {reduced.before} in fresh processes."
    )


def _observed(verdict: Verdict) -> str:
    return "\n".join(printable(each) for each in line(verdict).splitlines())


def _folder(item: pytest.Function, options: Options) -> Path:
    if options.out is not None:
        return options.out
    cache = getattr(item.config, "cache", None)
    return Path(cache.mkdir("relaxfuzz")) if cache is not None else item.config.rootpath / ".relaxfuzz"


def _roots(case: Case) -> dict[str, str]:
    """Return the variable that must be set for a script to find a pass in a package that is not installed."""
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    roots = []
    for ref in case.passes:
        if not ref.is_user or ref.in_file:
            continue
        package, *below = ref.place.split(".")
        file = getattr(sys.modules.get(package), "__file__", None)
        root = None if file is None else str(Path(file).parent.parent if below else Path(file).parent)
        if root is not None and root not in installed:
            roots.append(root)
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {"PYTHONPATH": os.pathsep.join([*dict.fromkeys(roots), *before])} if roots else {}
