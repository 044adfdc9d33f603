"""The locality oracle in a script: the variation that the case's seed decides, written out."""

from __future__ import annotations

from typing import Any

from fuzzer.repro.checks.check import Check, FailingCase
from fuzzer.repro.pieces.frame import attempted, complaint, error_seen, first_line, run_passes
from oracles.core.subject import Subject
from oracles.metamorphic.locality import reach_of
from oracles.metamorphic.locality_compare import differing
from oracles.metamorphic.locality_variation import Change, draw
from relaxkit.ir.edits import functions_of

NOT_LOCAL = "not-local"
"""The failure in which the passes give another module, and do not raise."""
LOCALITY_PIECES = (
    "relaxkit/ir/edits.py",
    "oracles/metamorphic/locality_compare.py",
    "oracles/metamorphic/unrelated.py",
    "fuzzer/repro/checks/locality.py",
)


def build_locality(failure: FailingCase) -> Check:
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
    kind, words = (NOT_LOCAL, "[]") if failure.died else (failure.kind, failure.error_words)
    how = ", ".join(map(repr, (tuple(variation.roots), tuple(sorted(variation.fixed)), variation.made)))
    return Check(f"check_locality({before}, passes, {varied}, {kind!r}, {words}, {how})", LOCALITY_PIECES)


def check_locality(
    module: Any,
    passes: list[Any],
    varied: Any,
    kind: str,
    fragments: list[str],
    roots: tuple[str, ...],
    fixed: tuple[str, ...],
    made: bool,
) -> tuple[str, str]:
    """Run the passes on a module and on one that is varied where it must not matter.

    ``kind`` is what goes wrong: ``not-local``, another module; ``healed``, an error on the module alone; or the type of
    an error on the varied one. ``roots`` must come out alike, up to names that are not ``fixed``, and so must new
    public functions if ``made``.
    """
    said = complaint(module) or complaint(varied)
    if said:
        return "ENVIRONMENT", f"the input is ill-formed here: {first_line(said)}"
    before, error = attempted(run_passes, passes, module)
    after, varied_error = attempted(run_passes, passes, varied)
    if error is not None and varied_error is not None:
        return "OK", "both modules make the passes raise"
    if error is not None:
        said = f"only without the change: {type(error).__name__}: {first_line(error)}"
        return ("BUG" if kind == "healed" else "DIFFERENT"), said
    if varied_error is not None:
        return error_seen(varied_error, kind, fragments, "only with the change: ")
    if differing(module, before, after, roots, frozenset(fixed), made) is None:
        return "OK", "the functions that were left alone have the same result"
    return ("BUG" if kind == "not-local" else "DIFFERENT"), "a function that was left alone has a different result"
