"""Putting a repro script together: the case, the oracle's check, and the pieces that they need."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_ffi.serialization import from_json_graph_str

from fuzzer.repro_checks import EXTERNAL_PIECES, PIECES, Check, check_of
from fuzzer.repro_module import ModuleSource, module_source
from fuzzer.repro_source import Selection, select
from oracles.contracts import contract_for
from oracles.passref import CODEGEN_PASS, CUDA_GRAPH_PASS, USER_PREFIX, PassRef
from oracles.plan import plan_of
from releases.adoption import needs_names

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

RELEASE_PIECES = tuple(f"releases/{name}.py" for name in ("publishing", "tables", "prims", "adoption"))

_HEADER = '''\
#!/usr/bin/env python3
"""{title}

{facts}

Needs only tvm and numpy.  Exit code: 1 and a line "BUG: ..." when the defect is there; 0 when it is gone
("OK: ...") or something else happens ("DIFFERENT: ..."); 2 when the environment does not fit ("ENVIRONMENT: ...").
"""

from __future__ import annotations

{standard}

try:
{tvm}
except Exception as error:
    print(f"ENVIRONMENT: {{type(error).__name__}}: {{error}}")
    sys.exit(2)
'''

_CASE = '''\
{remarks}MODULE = {literal}


def preparing_passes():
    """Passes that bring the module to the stage that the judged ones need."""
    return {prepare}


def judged_passes():
    """The passes under judgement."""
    return {passes}
'''

_CHECK = '''\
def check(module, passes):
    """The oracle: an outcome, and one line that says what was seen."""
    return {call}
'''

_LOAD = """\
    try:
        module = run_passes(preparing_passes(), {load}(MODULE))
        passes = judged_passes()
    except Exception as error:
        return report("ENVIRONMENT", f"{{type(error).__name__}}: {{first_line(error)}}")
"""

_MAIN = '''\
def main():
    """Load the module, build the passes, check."""
{loading}    try:
        return report(*check(module, passes))
    except Exception as error:
        return report("DIFFERENT", f"{{type(error).__name__}}: {{first_line(error)}}")


if __name__ == "__main__":
    sys.exit(main())
'''

_MAIN_DEATH = '''\
def main():
    """In a child process: load the module, build the passes, check; judge here how the child ended."""
    if "--child" not in sys.argv:
        return report(*in_child({death!r}, {seconds}))
{loading}    return child(lambda: check(module, passes), {seconds}, {megabytes})


if __name__ == "__main__":
    sys.exit(main())
'''


def render(case: Case, verdict: Verdict, signature: str) -> str:
    """The text of the script; see ``fuzzer.repro.render_repro``."""
    if verdict.evidence is None:
        raise ValueError("only a failing verdict has a repro script")
    module = from_json_graph_str(case.module_json)
    plan = plan_of(case.passes, tuple(contract_for(ref) for ref in case.passes), module)
    prepare, judged = [expression(ref) for ref in plan.prepare], [expression(step.ref) for step in plan.steps]
    check = check_of(case, verdict, module)
    source = module_source(module)
    tail = "\n\n".join(
        part.strip("\n") + "\n"
        for part in (
            _case(source, prepare, judged),
            check.preamble,
            _CHECK.format(call=check.call),
            _main(check, source),
        )
        if part.strip()
    )
    selection = select(PIECES + check.pieces + EXTERNAL_PIECES, tail)
    names = _names_of_release()
    header = _HEADER.format(
        title=_one_line(f"{verdict.culprit} fails the {verdict.oracle} oracle"),
        facts="\n".join(_facts(verdict, signature, judged)),
        standard="\n".join(sorted({*selection.standard, *names.standard})),
        tvm="\n".join(f"    {line}" for line in selection.tvm),
    )
    return "\n\n".join(part for part in (header, names.text, f"{selection.text}\n\n\n{tail}") if part)


def _names_of_release() -> Selection:
    """What gives an older TVM the names that the script uses; nothing where TVM has them."""
    if not needs_names():
        return Selection("", (), ())
    call = "adopt()\n"
    found = select(RELEASE_PIECES, call)
    remark = "# This TVM calls otherwise some of what is used below.\n"
    return Selection(f"{remark}{found.text}\n\n\n{call}", found.standard, found.tvm)


def expression(ref: PassRef) -> str:
    """The Python expression that builds a pass inside a script."""
    if not ref.is_user:
        if ref.name == CUDA_GRAPH_PASS:
            return f"with_cuda_graph({ref.expression})"
        return f"with_codegen({ref.expression}, plain_build)" if ref.name == CODEGEN_PASS else ref.expression
    where, _, factory = ref.expression[len(USER_PREFIX) :].rpartition(":")
    path = str(Path(where).resolve()) if where.endswith(".py") else where
    return f"user_pass({path!r}, {factory!r})"


def _case(source: ModuleSource, prepare: list[str], judged: list[str]) -> str:
    remarks = "".join(f"# {line}".rstrip() + "\n" for line in source.remarks)
    return _CASE.format(remarks=remarks, literal=source.literal, prepare=_listed(prepare), passes=_listed(judged))


def _main(check: Check, source: ModuleSource) -> str:
    loading = _LOAD.format(load=source.loader)
    if check.death:
        return _MAIN_DEATH.format(death=check.death, seconds=check.seconds, loading=loading, megabytes=check.megabytes)
    return _MAIN.format(loading=loading)


def _listed(expressions: list[str]) -> str:
    return "[\n" + "".join(f"        {item},\n" for item in expressions) + "    ]" if expressions else "[]"


def _facts(verdict: Verdict, signature: str, passes: Sequence[str]) -> list[str]:
    evidence = verdict.evidence
    assert evidence is not None
    versions = f"tvm {_version('apache-tvm')}, ffi {_version('apache-tvm-ffi')}, python {platform.python_version()}"
    facts = {
        "signature": signature,
        "oracle": verdict.oracle,
        "pass": verdict.culprit,
        "passes": ", ".join(passes),
        "kind": evidence.kind,
        "message": evidence.message,
        "expected": evidence.expected,
        "found with": versions,
    }
    return [f"{key}: {_one_line(value)}" for key, value in facts.items() if value]


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _one_line(text: Any) -> str:
    """The first line, safe inside a docstring, short enough for a line of a script."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    line = (lines[0] if lines else "").replace("\\", "/").replace('"""', "'''")
    return line if len(line) <= 200 else line[:197] + "..."
