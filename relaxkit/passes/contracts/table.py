"""The table of pass contracts: one row a pass, one file a theme."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from relaxkit.passes.contract import Contract, Trait
from relaxkit.passes.contracts import (
    algebra,
    clean,
    fusion,
    lowering,
    params,
    patterns,
    pipelines,
    rewrite,
    training,
    unavailable,
)
from relaxkit.passes.preconditions import no_distributed_tensors


def _of_relax(row: Contract) -> Contract:
    return replace(row, preconditions=(no_distributed_tensors, *row.preconditions))


_THEMES = (clean, params, algebra, patterns, rewrite, training, fusion, lowering, unavailable, pipelines)
_ROWS = (row for theme in _THEMES for row in theme.ROWS)
CONTRACTS: dict[str, Contract] = {
    row.name: row if Trait.TAKES_DISTRIBUTED in row.traits else _of_relax(row) for row in _ROWS
}
"""The contracts of TVM's passes and stock pipelines, by name."""


def with_trait(trait: Trait) -> frozenset[str]:
    """Return the names of TVM's passes with a trait."""
    return frozenset(name for name, row in CONTRACTS.items() if trait in row.traits)


def the_pass(trait: Trait) -> str:
    """Return the name of TVM's only pass with a trait."""
    (name,) = with_trait(trait)
    return name


def any_has(contracts: Iterable[Contract], trait: Trait) -> bool:
    """Say whether one of the contracts has a trait."""
    return any(trait in contract.traits for contract in contracts)
