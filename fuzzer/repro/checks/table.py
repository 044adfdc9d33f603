"""Which check a script makes and which words tell of a failure, by the oracle."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import tvm

from fuzzer.core.text import cut, plain
from fuzzer.findings.script_parts import Words
from fuzzer.repro.checks.check import Check, FailingCase, ScriptCheck, Told
from fuzzer.repro.checks.environment import ENVIRONMENT
from fuzzer.repro.checks.locality import LOCALITY
from fuzzer.repro.checks.numeric import NUMERIC
from fuzzer.repro.checks.postcondition import POSTCONDITION
from fuzzer.repro.checks.roundtrip import ROUNDTRIP
from fuzzer.repro.checks.runs import ANSWER, CRASH, DETERMINISM, IDEMPOTENCE, MUTATION, SEQUENTIAL
from fuzzer.repro.checks.well_formed import WELL_FORMED
from oracles.core.verdict import Death, Evidence, Notation
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.verdict import Verdict

SCRIPT_CHECKS: dict[OracleName, ScriptCheck] = {
    each.oracle: each
    for each in (
        CRASH, MUTATION, DETERMINISM, SEQUENTIAL, IDEMPOTENCE, WELL_FORMED, POSTCONDITION, ROUNDTRIP, LOCALITY,
        ENVIRONMENT, NUMERIC,
    )
}  # fmt: skip
PIECES = (
    "relaxkit/passes/configured.py",
    "fuzzer/repro/pieces/frame.py",
    "fuzzer/repro/pieces/death.py",
    "relaxkit/ir/functions.py",
    "relaxkit/ir/walk.py",
)
"""Files whose definitions every script may use."""
EXTERNAL_PIECES = tuple(
    f"relaxkit/runtime/{name}.py"
    for name in ("values", "compile/lowering", "compile/linking", "run", "external", "cuda_graph")
)
"""Files with what ``with_codegen``, in the expression of a ``RunCodegen``, needs."""
_MEGABYTES = 3072  # the memory limit of a campaign's worker
_TITLE, _LINE = 140, 300
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def check_of(case: Case, verdict: Verdict, module: tvm.IRModule) -> Check:
    """Return the check that shows the failure of ``verdict`` on ``case``.

    Where the process died, the same step as in the oracle at work is taken inside a child process.
    """
    failure = FailingCase(case, verdict, module)
    details = failure.evidence.details
    if details.death is None:
        return SCRIPT_CHECKS[verdict.oracle].build(failure)
    at_work = SCRIPT_CHECKS[details.oracle or OracleName.CRASH]
    check = at_work.build(failure)
    return replace(
        check,
        death=failure.evidence.kind,
        seconds=at_work.hang_seconds if details.death is Death.HANG else check.seconds,
        megabytes=_MEGABYTES if details.death is Death.MEMORY else 0,
    )


def words_of(verdict: Verdict) -> Words:
    """Tell a failing verdict to a maintainer who has never heard of oracles; raises ``ValueError`` for another."""
    evidence = verdict.evidence
    if evidence is None:
        raise ValueError("only a failing verdict can be told")
    tell = _tell_death if evidence.is_death else SCRIPT_CHECKS[verdict.oracle].words
    title, expected, observed = tell(verdict.culprit, evidence)
    component = "TVMScript" if verdict.culprit == Notation.TVMSCRIPT.value else "Relax"
    return Words(_one_line(title, _TITLE), _one_line(expected), _one_line(observed), component)


def _tell_death(culprit: str, evidence: Evidence) -> Told:
    kind, details = evidence.kind, evidence.details
    when = SCRIPT_CHECKS[details.oracle].at_work if details.oracle is not None else ""
    during = f" when {when}{f' ({details.step})' if details.step else ''}" if when else ""
    expected = f"the process neither crashes nor hangs{during}" if during else ANSWER
    ran = during or (f" while {culprit} runs" if details.oracle is not None else "")
    if details.death is Death.HANG:
        return f"{culprit} does not end{during}", expected, f"no end within the time limit{ran}"
    if details.death is Death.MEMORY:
        return f"{culprit} exhausts the memory{during}", expected, f"memory exhausted{ran}"
    if details.death is Death.EXIT:
        return f"{culprit} crashes the process{during}: {kind}", expected, f"the process ends itself by {kind}{ran}"
    names = {int(each): each.name for each in signal.Signals}
    seen = f"{kind} ({names[details.code]})" if details.code in names else kind
    return f"{culprit} crashes the process{during}: {seen}", expected, f"the process dies of {seen}{ran}"


def _one_line(text: str, most: int = _LINE) -> str:
    """Put a text on one line, without addresses, of at most so many characters."""
    return cut(_ADDRESS.sub("0x...", " ".join(plain(text).split())), most)
