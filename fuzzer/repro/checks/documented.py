"""The part of a repro script that shows a call whose result is not as documented: operands and result as literals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.core.case import subject_of
from fuzzer.repro.checks.check import Check
from fuzzer.repro.checks.numeric import NUMERIC_PIECES
from fuzzer.repro.literals import literal
from fuzzer.repro.module.format import wrapped
from oracles.core.verdict import NOT_AS_DOCUMENTED
from oracles.numeric.oracle import undocumented
from oracles.semantics import WrongCall
from oracles.semantics.replay import UNINITIALIZED, documentation

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.verdict import Verdict

DOCUMENTED_PIECES = (*NUMERIC_PIECES, "oracles/semantics/expected.py")
LEGALIZE = "relax.transform.LegalizeOps()"


def shown_alone(case: Case, verdict: Verdict) -> WrongCall | None:
    """Return the call that a verdict accuses, alone, when it accuses one.

    Raises:
        ValueError: The module shows it no more.
    """
    if verdict.evidence is None or verdict.evidence.kind != NOT_AS_DOCUMENTED:
        return None
    found = undocumented(subject_of(case))
    if found is None or found.evidence.message != verdict.evidence.message:
        raise ValueError("no call is seen to give a different result than documented")
    return found


def documented_check(found: WrongCall) -> Check:
    """Return the check of a script whose module is that of the call alone."""
    said = documentation(found.call)
    expected = found.expectation
    tolerances = {path: array for path, array in expected.tolerances.items() if array.any()}
    table = "".join(f"{path!r}: {literal(array)}, " for path, array in tolerances.items())
    arguments = "".join(f"{literal(item)}, " for item in found.call.arguments)
    preamble = (
        f'def call_operands():\n    """What {found.call.operator} is called with."""\n    return ({arguments})\n\n\n'
        f"{f'# The documentation of TVM says: {said}{chr(10)}' if said else ''}"
        'def documented():\n    """What it gives on these operands, by its documentation.\n\n'
        "    Behind that, by path of the output, how far each element may be from it by rounding: nothing means exact,"
        '\n    infinity that the element is not judged.\n    """\n'
        f"    return Expectation({literal(expected.value)}, {{{table}}})\n"
    )
    call = f"check_documented(module, passes, call_operands(), documented(), {found.what == UNINITIALIZED})"
    return Check(call, DOCUMENTED_PIECES, wrapped(preamble) + "\n")
