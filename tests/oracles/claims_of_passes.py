"""How the tests of postconditions ask a claim: of what a pass gives, and of what it would give if it did nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracles.core.module_facts import apply
from oracles.structural.postcondition import arguments
from relaxkit.passes.claims.kept import stated_claims
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef


def name_of(expression: str) -> str:
    """The name by which an expression calls its pass."""
    return expression.split("(", 1)[0].rsplit(".", 1)[-1]


def ref(expression: str) -> PassRef:
    """The pass of an expression."""
    return PassRef(name_of(expression), expression)


def ran(module: Any, expression: str) -> Ran:
    """A run of the pass on the module."""
    given = ref(expression)
    result = apply(given.build(), module)
    assert result.error is None, result.error
    return Ran(module, result.module, arguments(given))


def idle(module: Any, expression: str) -> Ran:
    """A run of a pass that gives its input back."""
    return Ran(module, module, arguments(ref(expression)))


def said(claim: str, run: Ran, name: str) -> str:
    """What the claim of a pass's contract says against a run."""
    return next(item for item in stated_claims(CONTRACTS[name]) if item.claim == claim).violation(run)


def broken(run: Ran, name: str) -> list[str]:
    """The claims of a pass's contract that a run breaks."""
    return [item.claim for item in stated_claims(CONTRACTS[name]) if item.violation(run)]


def assert_claims(expression: str, make: Callable[[], Any], claims: set[str]) -> None:
    """The pass keeps all its claims on a module, and one that gave the module back would break ``claims``."""
    assert broken(ran(make(), expression), name_of(expression)) == []
    assert set(broken(idle(make(), expression), name_of(expression))) == claims
