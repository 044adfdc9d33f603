"""The postcondition oracle in a script: the function that asks, where it stands, what it is given."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tvm

from fuzzer.repro.checks.check import ALONE, Check, FailingCase, fragments, seen_line
from fuzzer.repro.pieces.frame import first_line, run_passes, user_module
from relaxkit.passes.arguments import arguments_text
from relaxkit.passes.claims.kept import claims_of
from relaxkit.passes.contract import Contract, Postcondition
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plan import plan_of
from relaxkit.passes.plugins import active

_ROOT = Path(__file__).resolve().parents[3]
_NEVER = "relaxkit.passes.contract"  # its classes are mentioned in annotations, and in rows that no script has


def build_postcondition(failure: FailingCase) -> Check:
    """Ask the claim that does not hold; raises ``ValueError`` where the culprit makes no such claim."""
    if failure.died:
        return ALONE
    case, culprit, claim = failure.case, failure.verdict.culprit, failure.evidence.details.claim
    culprits = [ref for ref in case.passes if ref.name == culprit]
    if not culprits:
        raise ValueError(f"{culprit} is not a pass of the case")
    contract = contract_for(culprits[0])
    postcondition = next((item for item in claims_of(contract) if item.claim == claim), None)
    if postcondition is None:
        raise ValueError(f"{culprit} does not claim {claim!r}")
    violation, files = _violation_of(culprits[0], contract, postcondition)
    places = ", ".join(
        f"{place}: {arguments_text(ref.expression)}" for place, ref in _placed(failure) if ref.name == culprit
    )
    call = f"check_postcondition(module, passes, {violation}, {{{places}}}, {fragments(seen_line(failure.evidence))!r})"
    return Check(call, (*files, "fuzzer/repro/checks/postcondition.py"))


def _placed(failure: FailingCase) -> list[tuple[int, PassRef]]:
    """Passes with their places in the list of judged passes, which has those that were inserted as well."""
    passes = failure.case.passes
    plan = plan_of(passes, tuple(map(contract_for, passes)), failure.module)
    return [(index, step.ref) for index, step in enumerate(plan.steps) if not step.inserted]


def _violation_of(ref: PassRef, contract: Contract, postcondition: Postcondition) -> tuple[str, tuple[str, ...]]:
    if any(postcondition.violation is oracle.violation for oracle in active().oracles):
        function = postcondition.violation
        return f"getattr(user_module({str(inspect.getsourcefile(function))!r}), {function.__name__!r})", ()
    if ref.is_user and postcondition in contract.postconditions:
        return f"user_violation({', '.join(map(repr, (*ref.factory, postcondition.claim)))})", ()
    found: Callable[..., str] = postcondition.violation
    keywords: dict[str, Any] = {}
    if isinstance(postcondition.violation, functools.partial):
        found, keywords = postcondition.violation.func, dict(postcondition.violation.keywords)
    files = with_imported(Path(inspect.getsourcefile(inspect.unwrap(found)) or "").resolve())
    name = found.__name__
    if keywords:
        given = ", ".join(f"{key}={value!r}" for key, value in keywords.items())
        name = f"lambda ran: {name}(ran, {given})"
    return name, files


def with_imported(file: Path) -> tuple[str, ...]:
    """List a file of ours and those that it imports from, relative to the packages' parent, imported ones first."""
    found: dict[str, None] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, _NEVER):
            imported = _ROOT / f"{str(node.module).replace('.', '/')}.py"
            if imported.is_file():
                found |= dict.fromkeys(with_imported(imported))
    return (*found, file.relative_to(_ROOT).as_posix())


def check_postcondition(
    module: Any,
    passes: list[Any],
    violation: Callable[[Any], str],
    built_with: dict[int, dict[str, Any]],
    fragments: list[str],
) -> tuple[str, str]:
    """Ask the claim of each pass that makes it: those at the places in ``built_with``, which holds their arguments.

    ``violation`` takes the modules before and after one pass and says what contradicts the claim.
    """
    other = ""
    for place, item in enumerate(passes):
        before = tvm.ir.load_json(tvm.ir.save_json(module))
        module = run_passes([item], module)
        if place not in built_with:
            continue
        said = violation(SimpleNamespace(before=before, after=module, arguments=built_with[place]))
        if said and all(part in said for part in fragments):
            return "BUG", f"but the pass claims: {first_line(said)}"
        other = other or said
    if other:
        return "DIFFERENT", f"another contradiction: {first_line(other)}"
    return "OK", "the pass has done what it claims"


def user_violation(where: str, factory: str, claim: str) -> Callable[[Any], str]:
    """Return the postcondition of that claim, from the contract that a user's pass brings."""
    contract = getattr(user_module(where), factory).contract
    found: Callable[[Any], str] = next(item.violation for item in contract.postconditions if item.claim == claim)
    return found
