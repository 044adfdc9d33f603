"""The part of a repro script that asks a postcondition: which function it is, where it stands, what it is given."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracles.contract import Contract, Postcondition
from oracles.contracts import contract_for
from oracles.passref import USER_PREFIX, PassRef
from oracles.plugins import active
from oracles.postcondition import claims
from oracles.postconditions.kept import KEPT

if TYPE_CHECKING:
    from fuzzer.cases import Case
    from oracles.verdict import Verdict

_ROOT = Path(__file__).resolve().parent.parent
_NEVER = "oracles.contract"  # its classes are mentioned in annotations, and in rows that no script has


def postcondition_parts(case: Case, verdict: Verdict, said: list[str]) -> tuple[str, tuple[str, ...]]:
    """The call of the check, and the files with the definitions that it needs.

    Args:
        case: The case; its passes tell what the culprit was built with.
        verdict: The failing verdict, whose evidence names the claim.
        said: Parts of what the claim says to look for.

    Raises:
        ValueError: The culprit makes no such claim.
    """
    assert verdict.evidence is not None
    culprits = [ref for ref in case.passes if ref.name == verdict.culprit]
    if not culprits:
        raise ValueError(f"{verdict.culprit} is no pass of the case")
    claim = verdict.evidence.expected
    contract = contract_for(culprits[0])
    postcondition = next((item for item in claims(contract) if item.claim == claim), None)
    if postcondition is None:
        raise ValueError(f"{verdict.culprit} does not claim {claim!r}")
    violation, files = _violation_of(culprits[0], contract, postcondition)
    places = ", ".join(
        f"{place}: {_arguments(ref.expression)}" for place, ref in _placed(case) if ref.name == verdict.culprit
    )
    return f"check_postcondition(module, passes, {violation}, {{{places}}}, {said!r})", files


def _placed(case: Case) -> list[tuple[int, PassRef]]:
    """Passes with their places in the list of judged passes, which has those that were inserted as well."""
    from tvm_ffi.serialization import from_json_graph_str

    from oracles.plan import plan_of

    plan = plan_of(case.passes, tuple(map(contract_for, case.passes)), from_json_graph_str(case.module_json))
    return [(index, step.ref) for index, step in enumerate(plan.steps) if not step.inserted]


def _violation_of(ref: PassRef, contract: Contract, postcondition: Postcondition) -> tuple[str, tuple[str, ...]]:
    if any(postcondition.violation is oracle.violation for oracle in active().oracles):
        function = postcondition.violation
        return f"getattr(user_module({str(inspect.getsourcefile(function))!r}), {function.__name__!r})", ()
    if ref.is_user and postcondition not in KEPT.values():
        where, _, factory = ref.expression[len(USER_PREFIX) :].rpartition(":")
        path = str(Path(where).resolve()) if where.endswith(".py") else where
        return f"user_violation({path!r}, {factory!r}, {postcondition.claim!r})", ()
    found: Callable[..., str] = postcondition.violation
    keywords: dict[str, Any] = {}
    if isinstance(postcondition.violation, functools.partial):
        found, keywords = postcondition.violation.func, dict(postcondition.violation.keywords)
    files = with_imported(Path(inspect.getsourcefile(found) or "").resolve())
    name = found.__name__
    if keywords:
        given = ", ".join(f"{key}={value!r}" for key, value in keywords.items())
        name = f"lambda ran: {name}(ran, {given})"
    return name, files


def with_imported(file: Path) -> tuple[str, ...]:
    """A file of ours and the files that it imports from, relative to the packages' parent, imported ones first."""
    found: dict[str, None] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, _NEVER):
            imported = _ROOT / f"{str(node.module).replace('.', '/')}.py"
            if imported.is_file():
                found |= dict.fromkeys(with_imported(imported))
    return (*found, file.relative_to(_ROOT).as_posix())


def _arguments(expression: str) -> str:
    """Source text of a dictionary of what the pass is built with, as ``oracles.given.arguments_of`` gives it."""
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return "{}"
    if not isinstance(tree, ast.Call):
        return "{}"
    named = [(str(index), value) for index, value in enumerate(tree.args)]
    named += [(keyword.arg, keyword.value) for keyword in tree.keywords if keyword.arg is not None]
    return "{" + ", ".join(f"{name!r}: {ast.unparse(value)}" for name, value in named) + "}"
