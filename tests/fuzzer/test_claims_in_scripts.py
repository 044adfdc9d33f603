"""Definitions that long scripts copy for claims do not hide one another."""

from __future__ import annotations

import ast
import functools
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

from fuzzer.repro.bundle import select
from fuzzer.repro.checks.postcondition import with_imported
from fuzzer.repro.render import EXTERNAL_PIECES, PIECES
from relaxkit.passes.claims.kept import claims_of
from relaxkit.passes.contracts import CONTRACTS

VIOLATIONS = {
    function.__name__: function
    for contract in CONTRACTS.values()
    for claim in claims_of(contract)
    for function in [claim.violation.func if isinstance(claim.violation, functools.partial) else claim.violation]
}


@pytest.mark.parametrize("name", sorted(VIOLATIONS))
def test_what_a_claim_needs_has_names_of_its_own(name: str) -> None:
    """`trace` of memory plans and that of printed texts were one name: the later one was called for both."""
    files = with_imported(Path(inspect.getsourcefile(VIOLATIONS[name]) or "").resolve())
    copied = select((*PIECES, *files, "fuzzer/repro/checks/postcondition.py", *EXTERNAL_PIECES), f"{name}(ran)\nmain()")
    places = defaultdict(list)
    for node in ast.parse(copied.text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            places[node.name].append(node.lineno)
    assert not {each: lines for each, lines in places.items() if len(lines) > 1}
