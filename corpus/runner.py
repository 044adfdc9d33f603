"""Judge cases of the corpus in this process: ``python -m corpus.runner SLUG...``.

Prints one JSON object a line and flushes, so that whoever started it knows after a death what was being judged:
``{"slug", "run", "stage"}`` before each step, ``{"slug", "run", "oracle", "outcome", "reason", "kind", "message",
"frames"}`` when a run is judged.  ``run`` is ``case`` or ``replica``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from corpus.case import KnownCase
from corpus.loader import CASES, load, load_module
from oracles.passref import PassRef
from oracles.verdict import Outcome, Verdict

RUN_CASE = "case"
RUN_REPLICA = "replica"


def runs(case: KnownCase) -> list[str]:
    """The runs of a case: itself, and its replica if it has one."""
    return [RUN_CASE, RUN_REPLICA] if case.replica else [RUN_CASE]


def judge_run(case: KnownCase, run: str, stage: Callable[[str], None]) -> Verdict:
    """The verdict of the case's oracle on one run.

    An isolated case is judged by every oracle, the numeric one too: whichever kills the process, it is the crash
    oracle's verdict, which only the parent can give.  If nothing dies, the word of the case's own oracle stands.

    Raises:
        CaseError: When the module does not load.
    """
    from oracles.contracts import contract_for
    from oracles.judge import judge
    from oracles.subject import Subject

    passes: Sequence[PassRef] = case.replica.passes if run == RUN_REPLICA and case.replica else case.passes
    contracts = [contract_for(ref) for ref in passes]
    subject = Subject(load_module(case), passes, contracts, input_seed=case.input_seed, stage=stage)
    oracles = None if case.isolated else [case.oracle]
    verdicts = [verdict for verdict in judge(subject, oracles) if verdict.oracle is case.oracle]
    if case.culprit and run == RUN_CASE:  # what the oracle says of the passes is not what the case is about
        verdicts = [verdict for verdict in verdicts if verdict.culprit == case.culprit] or verdicts
    order = [Outcome.FAIL, Outcome.INVALID, Outcome.REJECT, Outcome.PASS, Outcome.SKIP]
    # A pipeline may be judged in several parts: the worst word counts.
    return min(verdicts, key=lambda verdict: order.index(verdict.outcome))


def verdict_line(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values for JSON."""
    evidence = verdict.evidence
    return {
        "oracle": str(verdict.oracle),
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "kind": evidence.kind if evidence else "",
        "message": evidence.message if evidence else "",
        "frames": list(evidence.frames) if evidence else [],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the named cases one after the other; 0 when all were judged, whatever the verdicts."""
    parser = argparse.ArgumentParser(prog="python -m corpus.runner")
    parser.add_argument("slugs", nargs="+", metavar="SLUG[:RUN]")
    parser.add_argument("--root", type=Path, default=CASES)
    options = parser.parse_args(arguments)
    for target in options.slugs:
        slug, _, only = target.partition(":")
        (case,) = load([slug], options.root)
        for run in [only] if only else runs(case):
            _judge_and_print(case, run)
    return 0


def _judge_and_print(case: KnownCase, run: str) -> None:
    def tell(values: dict[str, Any]) -> None:
        print(json.dumps({"slug": case.slug, "run": run, **values}), flush=True)

    tell({"stage": "load"})
    try:
        verdict = judge_run(case, run, lambda stage: tell({"stage": stage}))
    except Exception as error:  # one broken case must not hide the others
        tell({
            "oracle": str(case.oracle), "outcome": str(Outcome.INVALID), "reason": "the case could not be judged",
            "kind": type(error).__name__, "message": str(error), "frames": [],
        })  # fmt: skip
        return
    tell(verdict_line(verdict))


if __name__ == "__main__":
    sys.exit(main())
