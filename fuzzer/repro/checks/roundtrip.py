"""The roundtrip oracle in a script: what is written as TVMScript or JSON is read as an equal module."""

from __future__ import annotations

from typing import Any

from fuzzer.repro.checks.check import Check, FailingCase
from fuzzer.repro.pieces.frame import first_line, run_passes
from oracles.core.verdict import Notation
from oracles.structural.roundtrip import NOTATIONS
from oracles.structural.roundtrip_forms import REFINED, Loss, loss_in_json, loss_in_script, own_faults, unit_names

ROUNDTRIP_PIECES = ("oracles/structural/roundtrip_forms.py", "fuzzer/repro/checks/roundtrip.py")


def build_roundtrip(failure: FailingCase) -> Check:
    """Make the check of a notation."""
    by_pass = not failure.died and failure.verdict.culprit not in NOTATIONS
    notation = failure.evidence.details.notation or Notation.TVMSCRIPT
    kind = "" if failure.died else failure.kind
    call = f"check_roundtrip(module, passes, {notation.value!r}, {kind!r}, {failure.fragments!r}, {by_pass})"
    return Check(call, ROUNDTRIP_PIECES)


def check_roundtrip(
    module: Any, passes: list[Any], notation: str, kind: str, fragments: list[str], by_pass: bool
) -> tuple[str, str]:
    """Write and read what the passes give.

    ``by_pass`` says that a pass is to blame: then the module that it is given must not be lost in the same way.
    """
    # Before the passes run, which may write into the module.
    before = all_losses(module, notation, by_pass) if by_pass else []
    losses = all_losses(run_passes(passes, module), notation, by_pass)
    seen = [(what, text) for what, text in losses if what == kind and all(item in text for item in fragments)]
    if not seen:
        other = f"a different loss: {losses[0][0]}: {first_line(losses[0][1])}" if losses else "nothing is lost"
        return ("DIFFERENT" if losses else "OK"), other
    if any(what == kind for what, _ in before):
        return "DIFFERENT", "the input does not survive either"
    return "BUG", f"{notation}: {kind}: {first_line(seen[0][1])}"


def all_losses(module: Any, notation: str, by_pass: bool) -> list[Loss]:
    """Everything of a module that does not come back."""
    if notation == "JSON":
        loss = loss_in_json(module)
        return [] if loss is None else [loss]
    found = own_faults(module) if by_pass else []
    for name in unit_names(module):
        loss = loss_in_script(module, name)
        if loss is not None and loss[0] != REFINED:
            found.append(loss)
    return found
