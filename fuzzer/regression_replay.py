"""Judging an earlier finding again: in a fresh process from its cases, or by its script where these say nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.isolation import ChildError, Died
from fuzzer.minimizer.judging import Judgement, judge_request
from fuzzer.regression import Earlier, State
from fuzzer.repro import check_repro
from fuzzer.signatures import death_verdict, signature
from oracles.verdict import OracleName, Outcome, Verdict

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from fuzzer.isolation import IsolatedWorker

_ORDER = (State.FAILS, State.CHANGED, State.UNDECIDED, State.FIXED)
"""What several cases of one finding say: the first of these that one of them says."""


class Replayer:
    """Judges earlier findings again, each case in a fresh process.

    Args:
        workers: Gives a worker under the campaign's limits, as a context.
    """

    def __init__(self, workers: Callable[[], AbstractContextManager[IsolatedWorker]]) -> None:
        self._workers = workers

    def __call__(self, earlier: Earlier) -> tuple[State, str]:
        """What became of it, and a note: see ``fuzzer.regression.Replay``.

        It is fixed only where no case of it fails and the oracle has judged each; a case that the installed release
        cannot load is left to the script, which is made to run on several.
        """
        said = [self._judged(earlier, case) for case in earlier.cases]
        state, note = min(said, key=lambda each: _ORDER.index(each[0]), default=(State.UNDECIDED, "no case is kept"))
        if state is State.UNDECIDED and earlier.script:
            return _by_script(Path(earlier.script), note)
        return state, note

    def _judged(self, earlier: Earlier, case: Case) -> tuple[State, str]:
        with self._workers() as worker:
            try:
                answer = worker.call(judge_request, Judgement(case, _oracles(earlier)))
            except ChildError as error:
                last = (str(error).strip().splitlines() or ["?"])[-1]
                return State.UNDECIDED, f"the case cannot be judged on this release: {last[:200]}"
        if isinstance(answer, Died):
            return _compared(earlier, [death_verdict(answer, case.name)])
        return _compared(earlier, answer)


def _oracles(earlier: Earlier) -> tuple[OracleName, ...]:
    """The oracles that must run for it to show again: of a death those up to where the process died."""
    own = OracleName(earlier.oracle)
    _, found, stage = earlier.message.partition(" during ")
    if own is not OracleName.CRASH or not found or stage not in {each.value for each in OracleName}:
        return (own,)
    return tuple(dict.fromkeys((own, OracleName(stage))))


def _compared(earlier: Earlier, verdicts: list[Verdict]) -> tuple[State, str]:
    failed = [verdict for verdict in verdicts if verdict.outcome is Outcome.FAIL]
    ids = {signature(verdict).id: verdict for verdict in failed}
    if earlier.id in ids:
        return State.FAILS, ""
    if failed:
        return State.CHANGED, f"fails otherwise: {signature(failed[0]).text[:200]}"
    own = [verdict for verdict in verdicts if verdict.oracle.value == earlier.oracle]
    silent = [verdict for verdict in own if verdict.outcome not in (Outcome.PASS, Outcome.REJECT)]
    if silent or not own:
        return State.UNDECIDED, f"not judged: {silent[0].reason if silent else 'the oracle said nothing'}"
    return State.FIXED, ""


def _by_script(path: Path, note: str) -> tuple[State, str]:
    if not path.is_file():
        return State.UNDECIDED, f"{note}; its script is gone"
    result = check_repro(path)
    if result.confirmed:
        return State.FAILS, "by its script"
    if result.exit_code == 0:
        return State.FIXED, "by its script"
    return State.UNDECIDED, f"{note}; its script ended with {result.exit_code}"
