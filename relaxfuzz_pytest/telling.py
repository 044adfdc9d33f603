"""What is shown of a failure: what is wrong, the module made small, and the script that shows it to others."""

from __future__ import annotations

import os
import re
import shlex
import site
import sys
import sysconfig
from pathlib import Path
from typing import Any

from fuzzer.cases import Case
from fuzzer.minimizer.search import Limits
from fuzzer.minimizing import NotReduced, Reduced, reduce_case, repro_text, script_request, write_repro
from fuzzer.plaintext import printable
from fuzzer.repro import check_repro
from fuzzer.signatures import signature
from oracles.check import line
from oracles.passref import USER_PREFIX
from oracles.verdict import Verdict
from relaxfuzz_pytest.options import Options

_REST = re.compile(r"^# -{20} What the above needs.*", re.MULTILINE)

_LAST_IMPORT = "    sys.exit(2)\n"


def told(item: Any, case: Case, verdict: Verdict, options: Options) -> str:
    """The text of a failure that other processes can show again.

    Args:
        item: pytest's test.
        case: The module and passes as they were drawn.
        verdict: What was seen.
        options: Of the run.
    """
    try:
        reduced = reduce_case(case, verdict, Limits(10**9, options.minimize), options.case_timeout)
    except NotReduced as error:
        again = "; a pass with arguments is best given as text, check(module, 'relax.transform.FuseOps(0)')"
        return told_as_is(verdict, case, f"not made small: {error}{again}")
    small, seen = reduced.minimized.case, reduced.verdict or verdict
    head = [printable(signature(verdict).text), "", _size(reduced), *reduced.notes, ""]
    try:
        text = repro_text(small, seen, nearest=False)
    except RuntimeError as error:
        return "\n".join([*head, reduced.script.rstrip(), "", _observed(seen), "", f"No script: {error}"])
    path = _folder(item, options) / f"{re.sub(r'[^A-Za-z0-9_]+', '_', item.name)}-{reduced.signature}.py"
    write_repro(text, path)
    roots = _roots(small)
    checked = check_repro(path, environment={**os.environ, **roots})
    setting = ["env", *(f"{name}={value}" for name, value in roots.items())] if roots else []
    tail = ["The whole script, for others to run:", f"    {shlex.join([*setting, 'python', str(path)])}"]
    return "\n".join([*head, _front(text), "", *tail, f"which says: {printable(checked.said)}"])


def told_as_is(verdict: Verdict, case: Case, why: str) -> str:
    """The text of a failure whose module stays as it is, and why."""
    from fuzzer.isolation import IsolatedWorker
    from fuzzer.minimizer.judging import Judge

    with IsolatedWorker() as worker:
        script = Judge(worker, ()).ask(script_request, case.module_json)
    shown = script.rstrip() if isinstance(script, str) else "# TVM cannot print this module"
    return "\n".join([printable(signature(verdict).text), "", why, "", shown, "", _observed(verdict)])


def _size(reduced: Reduced) -> str:
    found = reduced.minimized
    ended = "" if found.stopped is None else f", stopped by --relaxfuzz-minimize ({found.stopped})"
    return (
        f"The module: {reduced.bindings_before} bindings, made {reduced.bindings} in {found.seconds:.0f} s{ended}; "
        f"it came back in {reduced.before} in fresh processes."
    )


def _observed(verdict: Verdict) -> str:
    return "\n".join(printable(each) for each in line(verdict).splitlines())


def _folder(item: Any, options: Options) -> Path:
    if options.out is not None:
        return options.out
    cache = getattr(item.config, "cache", None)
    return Path(cache.mkdir("relaxfuzz")) if cache is not None else item.config.rootpath / ".relaxfuzz"


def _front(script: str) -> str:
    """What of a script belongs to this failure: what is wrong, module, passes, inputs, check."""
    own = _REST.split(script, maxsplit=1)[0].rstrip()
    facts, _, rest = own.partition("\n\npython FILE ")
    return f'{facts}\n"""\n\n{rest.partition(_LAST_IMPORT)[2].lstrip()}' if _LAST_IMPORT in rest else own


def _roots(case: Case) -> dict[str, str]:
    """The variable that must be set for a script to find a pass in a package that is not installed."""
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    roots = []
    for ref in case.passes:
        where = ref.expression.removeprefix(USER_PREFIX).rpartition(":")[0]
        if not ref.is_user or where.endswith(".py"):
            continue
        package = sys.modules.get(where.partition(".")[0])
        file = getattr(package, "__file__", None)
        root = None if file is None else str(Path(file).parent.parent if "." in where else Path(file).parent)
        if root is not None and root not in installed:
            roots.append(root)
    before = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    return {"PYTHONPATH": os.pathsep.join([*dict.fromkeys(roots), *before])} if roots else {}
