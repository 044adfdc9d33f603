"""The search for the nearest module that passes, judged by the oracle that saw the failure, within a time."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.minimizer.judge.judge import Judge, judge_request
from fuzzer.worker.child import Elsewhere, breadcrumb
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import OracleName

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.findings.script_parts import Nearest
    from oracles.core.verdict import Verdict

NEAREST_SECONDS = 4.0
"""Most of what is found is found among the first few dozen neighbours: milliseconds each, a numeric one a tenth of a
second."""
NEAREST_QUERIES = 60
"""Most neighbours that are judged: of 21 that were found for a campaign's findings the farthest was the 51st, the
median the 18th."""
MORE_QUERIES = 20
"""Most that are judged behind one that passes unchanged, for another that the passes change."""
OTHER_SEEDS = (1, 2, 3)
"""Seeds of the other inputs that a neighbour passes on: ordinary values hide much (1 * 1 is 1, x + y is 2 * x)."""
_HANGS = ("hang", "memory")


def attempt_request(given: Case, text: str, oracles: tuple[OracleName, ...]) -> bool | None:
    """Say, in a worker, whether the passes change the module of a text on which every oracle says ``PASS``.

    ``None`` for a text that is no module's, or where an oracle does not say so on all inputs.
    """
    from fuzzer.core.case import subject_of
    from fuzzer.repro.nearest.edits import module_of

    breadcrumb("neighbour")
    module = module_of(text, given.module_json)
    if module is None:
        return None
    others = OTHER_SEEDS if OracleName.NUMERIC in oracles else ()
    for seed in (given.input_seed, *others):
        case = replace(given, module_json=module, input_seed=seed)
        verdicts = judge_request(case, oracles)
        if not verdicts or any(item.outcome is not Outcome.PASS for item in verdicts):
            return None
    return bool(subject_of(replace(given, module_json=module)).changed)


def nearest_passing(case: Case, verdict: Verdict, judge: Judge, seconds: float = NEAREST_SECONDS) -> Nearest | None:
    """Return the nearest neighbour of a failing case on which every oracle of ``judge`` says ``PASS``, if it is
    found in time and among the first :data:`NEAREST_QUERIES`.

    Args:
        case: The failing case, as small as it is.
        verdict: Its failing verdict.
        judge: Its oracles in a worker.
        seconds: Wall time; nothing is looked for when it is not positive.
    """
    if seconds <= 0 or verdict.evidence is None or verdict.evidence.kind in _HANGS:
        return None  # each neighbour that hangs as well would take its time limit
    until = time.monotonic() + seconds
    found = judge.ask(Elsewhere("fuzzer.repro.nearest.edits", "neighbours"), case.module_json)
    first: Nearest | None = None
    nearest: Nearest
    left = NEAREST_QUERIES
    for nearest, text in found if isinstance(found, list) else []:
        if time.monotonic() >= until or not left:
            break
        changed, left = judge.ask(attempt_request, case, text, judge.oracles), left - 1
        if changed is True:
            return nearest
        if changed is False and first is None:  # that nothing fails where nothing is done tells little
            first, left = nearest, min(left, MORE_QUERIES)
    return first
