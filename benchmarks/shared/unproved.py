"""A plugin that leaves proofs out of the numeric oracle, for campaigns that are compared with those that prove."""

from __future__ import annotations

from typing import Any

from oracles.numeric import oracle
from relaxkit.passes.plugins import OwnOracle, Plugin
from relaxkit.proof import Proof, Result


def unproved(*_: Any) -> Proof:
    """Prove nothing."""
    return Proof(Result.OPEN, "", "proofs are left out")


def nothing(_: Any) -> str:
    """Object to nothing."""
    return ""


oracle.prove = unproved  # type: ignore[assignment]  # which takes what the other takes
PLUGIN = Plugin(oracles=(OwnOracle("nothing", nothing, "a plugin must bring something", frozenset()),))
