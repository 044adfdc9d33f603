"""The locality oracle in a script: the variation that the case's seed decides, written out."""

from __future__ import annotations

from typing import Any

from fuzzer.repro.checks.check import Check, FailingCase, ScriptCheck, Told, error_line, seen_line
from fuzzer.repro.pieces.frame import attempted, complaint, error_seen, first_line, run_passes
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence
from oracles.metamorphic.locality import reach_of
from oracles.metamorphic.locality_compare import differing
from oracles.metamorphic.locality_variation import Change, draw
from relaxkit.ir.edits import functions_of
from relaxkit.passes.contract import OracleName

NOT_LOCAL = "not-local"
"""The failure in which the passes give another module, and do not raise."""
LOCALITY_PIECES = (
    "relaxkit/ir/edits.py",
    "oracles/metamorphic/locality_compare.py",
    "oracles/metamorphic/unrelated.py",
    "fuzzer/repro/checks/locality.py",
)


def _build_locality(failure: FailingCase) -> Check:
    """Vary the module as the oracle did; raises ``ValueError`` where nothing of it can be varied."""
    case = failure.case
    subject = Subject(failure.module, case.passes, input_seed=case.input_seed)
    variation = draw(subject, reach_of(subject)) if subject.facts is not None else None
    if variation is None:
        raise ValueError("the module of a failure of locality cannot be varied")
    before = "module"
    if variation.change is Change.REORDERED:  # TVMScript has an order of its own
        before = f"reordered(module, {list(functions_of(subject.module))!r})"
    varied = variation.call
    if variation.builder:
        varied = varied.replace("unrelated,", f"{variation.builder},", 1)
    if not failure.died and failure.kind != NOT_LOCAL:
        how = f"{failure.kind!r}, {failure.error_words}"
        return Check(f"check_locality_error({before}, passes, {varied}, {how})", LOCALITY_PIECES)
    how = ", ".join(map(repr, (tuple(variation.roots), tuple(sorted(variation.fixed)), variation.made)))
    return Check(f"check_locality({before}, passes, {varied}, {how})", LOCALITY_PIECES)


def _tell_locality(culprit: str, evidence: Evidence) -> Told:
    title, seen = f"What {culprit} does to a function depends on an unrelated one", seen_line(evidence)
    return title, evidence.expected, seen if evidence.kind == NOT_LOCAL else error_line(evidence)


LOCALITY = ScriptCheck(OracleName.LOCALITY, _build_locality, _tell_locality)


def check_locality(
    module: Any, passes: list[Any], varied: Any, roots: tuple[str, ...], fixed: tuple[str, ...], made: bool
) -> tuple[str, str]:
    """Run the passes on a module and on one that is varied where it must not matter.

    ``roots`` must come out alike, up to names that are not ``fixed``, and so must new public functions if ``made``.
    """
    before, after, error = both(module, passes, varied)
    if error is not None:
        return ("DIFFERENT" if error[0] == "BUG" else error[0]), error[1]
    if differing(module, before, after, roots, frozenset(fixed), made) is None:
        return "OK", "the functions that were left alone come out alike"
    return "BUG", "a function that was left alone comes out otherwise"


def check_locality_error(
    module: Any, passes: list[Any], varied: Any, kind: str, fragments: list[str]
) -> tuple[str, str]:
    """Return the passes must not raise because a module is varied where it must not matter.

    ``kind`` is what goes wrong: ``healed``, an error on the module alone, or the type of an error on the varied one.
    """
    _, _, error = both(module, passes, varied, kind, fragments)
    return error or ("OK", "the passes raise neither with nor without the change")


def both(
    module: Any, passes: list[Any], varied: Any, kind: str = "", fragments: list[str] | None = None
) -> tuple[Any, Any, tuple[str, str] | None]:
    """Return what the passes make of both modules, and what is to be said where they raise."""
    if complaint(module) or complaint(varied):
        said = f"the input is ill-formed here: {first_line(complaint(module) or complaint(varied))}"
        return None, None, ("ENVIRONMENT", said)
    before, error = attempted(run_passes, passes, module)
    after, varied_error = attempted(run_passes, passes, varied)
    if error is not None and varied_error is not None:
        return None, None, ("OK", "both modules make the passes raise")
    if error is not None:
        _, said = error_seen(error, kind, [], "only without the change: ")
        return None, None, ("BUG" if kind == "healed" else "DIFFERENT", said)
    if varied_error is not None:
        return None, None, error_seen(varied_error, kind, fragments or [], "only with the change: ")
    return before, after, None
