"""Several notes on one pass are settled by one line of its contract; two lines overwrote each other when pasted."""

from dataclasses import replace

from oracles.core.notes import STRICT, brief, settling, uncovered
from relaxkit.passes.contract import Idempotence, Kept
from relaxkit.passes.contracts import default_contract

CHANGES = [
    uncovered(f"The pass drops {kept.value}", "P", f"changes=frozenset({{{kept}}})", "changes=frozenset()")
    for kept in (Kept.PURITY, Kept.KERNELS, Kept.EXTERNALS)
]
AGAIN = uncovered("a second run", "P", "idempotence=Idempotence.NEVER", "idempotence=Idempotence.IDEMPOTENT")
OTHER = uncovered("The pass drops purity", "Q", "changes=frozenset({Kept.PURITY})", "changes=frozenset()")


def test_one_line_allows_all_that_the_notes_on_a_pass_say() -> None:
    mine, other, last = settling([CHANGES[0], OTHER, "TVM cannot print it", AGAIN, *CHANGES[1:]])
    line = mine.split("`")[1]
    made = eval(line.removeprefix("P.contract = "), globals() | {"replace": replace})
    assert made.changes == {Kept.PURITY, Kept.KERNELS, Kept.EXTERNALS}
    assert made.idempotence is Idempotence.NEVER
    assert made.name == default_contract("P").name
    assert mine.endswith("write `changes=frozenset(), idempotence=Idempotence.IDEMPOTENT` in that assignment instead.")
    assert "Q.contract" in other
    assert last == STRICT


def test_a_note_is_shown_without_its_fields_and_others_as_they_are() -> None:
    assert brief(CHANGES[0]) == "The pass drops purity, and no contract says whether that is allowed."
    assert brief("TVM cannot print it (a defect)") == "TVM cannot print it (a defect)"
    assert settling(["TVM cannot print it (a defect)"]) == []
