"""The search for the nearest module that passes, judged by the oracle that saw the failure, within a time."""

from __future__ import annotations

import enum
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.findings.signature import death_verdict, signature
from fuzzer.minimizer.judge.judge import Judge, judge_request
from fuzzer.worker.child import Elsewhere, breadcrumb
from fuzzer.worker.death import Died
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


class Attempt(enum.Enum):
    """What is seen of a neighbour."""

    CHANGED = "every oracle says ``PASS`` on all inputs, and the passes change the module"
    LEFT = "every oracle says ``PASS`` on all inputs, but the passes leave the module as it is"
    FAILS = "it fails with the same signature"
    UNTOLD = "the text is no module's, or something else is seen"


def attempt_request(given: Case, text: str, oracles: tuple[OracleName, ...], signature_id: str) -> Attempt:
    """Try, in a worker, the module of a text."""
    from fuzzer.core.case import subject_of
    from fuzzer.repro.nearest.edits import module_of
    from relaxkit.ir.functions import relax_items

    breadcrumb("neighbour")
    module = module_of(text, given.module_json)
    if module is None:
        return Attempt.UNTOLD
    others = OTHER_SEEDS if OracleName.NUMERIC in oracles else ()
    for seed in (given.input_seed, *others):
        case = replace(given, module_json=module, input_seed=seed)
        verdicts = judge_request(case, oracles)
        if any(item.outcome is Outcome.FAIL and signature(item).id == signature_id for item in verdicts):
            return Attempt.FAILS
        if not verdicts or any(item.outcome is not Outcome.PASS for item in verdicts):
            return Attempt.UNTOLD
    subject = subject_of(replace(given, module_json=module))
    made = subject.output.module
    if made is not None and not relax_items(made) and relax_items(subject.module):
        return Attempt.UNTOLD  # nothing is left that could fail
    return Attempt.CHANGED if subject.changed else Attempt.LEFT


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
    left, sought, failing = NEAREST_QUERIES, signature(verdict).id, []
    for nearest, text in found if isinstance(found, list) else []:
        if time.monotonic() >= until or not left:
            break
        seen, left = judge.ask(attempt_request, case, text, judge.oracles, sought), left - 1
        dies = isinstance(seen, Died) and signature(death_verdict(seen, case.name)).id == sought
        if dies or seen is Attempt.FAILS:
            failing.append(nearest.edits)
        elif not nearest.edits:
            break
        if seen is Attempt.CHANGED:
            first = nearest
            break
        if seen is Attempt.LEFT and first is None:  # that nothing fails where nothing is done tells little
            first, left = nearest, min(left, MORE_QUERIES)
    return None if first is None else replace(first, failing=tuple(failing))
