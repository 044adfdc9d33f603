"""Putting a repro script together from the pieces."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm_ffi.serialization import from_json_graph_str

from fuzzer.repro_checks import Check, check_of
from fuzzer.repro_module import module_source
from oracles.contracts import contract_for
from oracles.passref import USER_PREFIX, PassRef
from oracles.plan import plan_of

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

_PIECES = Path(__file__).parent / "repro_pieces"

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
    import numpy as np
    import tvm
    import tvm_ffi
    from tvm import relax, tirx
    from tvm.relax.dpl import is_op, wildcard
    from tvm.script import ir as I
    from tvm.script import relax as R
    from tvm.script import tirx as T
except Exception as error:
    print(f"ENVIRONMENT: {{type(error).__name__}}: {{error}}")
    sys.exit(2)
'''

_CHECK = '''\
def check(module: Any, passes: list[Any]) -> tuple[str, str]:
    """The oracle."""
    return {call}
'''

_MAIN = '''\
def main() -> int:
    """Load the module, build the passes, check."""
    if {death} and "--child" not in sys.argv:
        return report(*in_child({death}, {seconds}))
    try:
        module = {load}(MODULE)
        module = run_passes(prepare(), module)
        judged = passes()
    except Exception as error:
        return report("ENVIRONMENT", f"{{type(error).__name__}}: {{first_line(error)}}")
    if "--child" in sys.argv:
        return child(lambda: check(module, judged), {megabytes})
    try:
        return report(*check(module, judged))
    except Exception as error:
        return report("DIFFERENT", f"{{type(error).__name__}}: {{first_line(error)}}")


if __name__ == "__main__":
    sys.exit(main())
'''


@dataclass(frozen=True, slots=True)
class _Plan:
    """Expressions of the passes that prepare the module, and of those under judgement."""

    prepare: tuple[str, ...]
    passes: tuple[str, ...]


def render(case: Case, verdict: Verdict, signature: str) -> str:
    """The text of the script; see ``fuzzer.repro.render_repro``."""
    evidence = verdict.evidence
    if evidence is None:
        raise ValueError("only a failing verdict has a repro script")
    module = from_json_graph_str(case.module_json)
    steps = plan_of(case.passes, tuple(contract_for(ref) for ref in case.passes), module)
    plan = _Plan(tuple(expression(ref) for ref in steps.prepare), tuple(expression(step.ref) for step in steps.steps))
    check = check_of(case, verdict, module)
    source = module_source(module)
    user = any(ref.is_user for ref in case.passes)
    pieces = ["frame", *(["user_pass"] if user else []), *check.pieces]
    parts = [
        _HEADER.format(
            title=_one_line(f"TVM defect: {verdict.culprit} fails the {verdict.oracle} oracle"),
            facts="\n".join(_facts(verdict, signature, plan)),
            standard="\n".join(f"import {name}" for name in _standard(pieces)) + "\nfrom typing import Any, Callable",
        ),
        *(f"# -- {name.replace('_', ' ')} " + "-" * 40 + f"\n\n{piece(name)}" for name in pieces),
        "# -- the case " + "-" * 40 + "\n",
        *(f"# {line}" for line in source.remarks),
        f"MODULE = {source.literal}\n",
        _passes("prepare", "Passes that bring the module to the stage that the judged ones need.", plan.prepare),
        _passes("passes", "The passes under judgement.", plan.passes),
        check.preamble,
        _CHECK.format(call=check.call),
        _MAIN.format(death=repr(check.death), seconds=check.seconds, load=source.loader, megabytes=check.megabytes),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def expression(ref: PassRef) -> str:
    """The Python expression that builds a pass inside a script."""
    if not ref.is_user:
        return ref.expression
    where, _, factory = ref.expression[len(USER_PREFIX) :].rpartition(":")
    path = str(Path(where).resolve()) if where.endswith(".py") else where
    return f"user_pass({path!r}, {factory!r})"


def piece(name: str) -> str:
    """Source text of a piece without its docstring and imports."""
    lines = (_PIECES / f"{name}.py").read_text(encoding="utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith(("def ", "class ", "_", "@")))
    return "\n".join(lines[start:])


def _standard(pieces: list[str]) -> list[str]:
    names = {"os", "subprocess", "sys"}
    for name in pieces:
        for line in (_PIECES / f"{name}.py").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if line.startswith("import ") and words[1].partition(".")[0] not in ("tvm", "tvm_ffi", "numpy"):
                names.add(words[1])
    return sorted(names)


def _facts(verdict: Verdict, signature: str, plan: _Plan) -> list[str]:
    evidence = verdict.evidence
    assert evidence is not None
    facts = {
        "signature": signature,
        "oracle": str(verdict.oracle),
        "pass": verdict.culprit,
        "passes": ", ".join(plan.passes),
        "kind": evidence.kind,
        "message": evidence.message,
        "expected": evidence.expected,
        "found with": f"tvm {_version('apache-tvm')}, ffi {_version('apache-tvm-ffi')}, "
        f"python {platform.python_version()}",
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


def _passes(name: str, says: str, expressions: tuple[str, ...]) -> str:
    body = "".join(f"        {item},\n" for item in expressions)
    listed = f"[\n{body}    ]" if expressions else "[]"
    return f'def {name}() -> list[Any]:\n    """{says}"""\n    return {listed}\n'


__all__ = ["Check", "expression", "piece", "render"]
