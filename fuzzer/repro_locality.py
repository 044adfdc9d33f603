"""The locality oracle's part of a repro script: the variation that the case's seed decides, written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuzzer.cases import Case

LOCALITY_PIECES = (
    "oracles/locality_vary.py",
    "oracles/locality_compare.py",
    "oracles/locality_unrelated.py",
    "fuzzer/repro_pieces/locality.py",
)
"""What a script that varies a module needs."""
NOT_LOCAL = "not-local"
"""The failure in which the passes give another module, and do not raise."""


def locality_call(case: Case, module: Any, kind: str, words: str) -> str:
    """The expression of a script's check; raises ``ValueError`` when nothing of the module can be varied.

    Args:
        case: The case.
        module: Its module.
        kind: What goes wrong.
        words: Source of the list of words of an error's message.
    """
    from oracles.locality import reach_of
    from oracles.locality_draw import Change, draw
    from oracles.locality_vary import functions_of
    from oracles.subject import Subject

    subject = Subject(module, case.passes, input_seed=case.input_seed)
    variation = draw(subject, reach_of(subject)) if subject.facts is not None else None
    if variation is None:
        raise ValueError("the module of a failure of locality cannot be varied")
    given = "module"
    if variation.change is Change.REORDERED:  # TVMScript has an order of its own
        given = f"reordered(module, {list(functions_of(subject.module))!r})"
    varied = variation.call
    if variation.builder:
        varied = varied.replace("unrelated,", f"{variation.builder},", 1)
    if kind != NOT_LOCAL:
        return f"check_locality_error({given}, passes, {varied}, {kind!r}, {words})"
    arguments = (tuple(variation.roots), tuple(sorted(variation.fixed)), variation.made)
    return f"check_locality({given}, passes, {varied}, {', '.join(map(repr, arguments))})"
