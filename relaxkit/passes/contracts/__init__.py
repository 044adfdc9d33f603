"""The contract of a pass: its row in the table, what the user brings, or what is promised of any pass."""

from __future__ import annotations

from dataclasses import replace

from relaxkit.passes.arguments import text_has
from relaxkit.passes.contract import Contract, default_contract
from relaxkit.passes.contracts.table import CONTRACTS, any_has, the_pass, with_trait
from relaxkit.passes.pass_ref import GivenPass, PassRef, PromisingPass, load_factory
from relaxkit.passes.plugins import active, with_oracles

__all__ = ["CONTRACTS", "any_has", "contract_for", "is_users", "the_pass", "with_trait"]


def is_users(ref: PassRef) -> bool:
    """Say whether a pass is none of TVM's."""
    return ref.is_user or (isinstance(ref, GivenPass) and ref.name not in CONTRACTS)


def contract_for(ref: PassRef) -> Contract:
    """Return the contract of a pass.

    A pass of TVM's has a row in the table. A user's pass may bring its contract as attribute ``contract`` of the
    factory (or of the pass object, when it was given as one); without, it gets that of a plugin
    (:mod:`relaxkit.passes.plugins`) or :func:`default_contract`. The oracles of plugins are claims of all contracts.
    """
    return with_oracles(_own_contract(ref), ref.name)


def _own_contract(ref: PassRef) -> Contract:
    if isinstance(ref, PromisingPass) and ref.contract is not None:
        return ref.contract
    if ref.is_user:
        own = getattr(load_factory(ref.target), "contract", None)
        return own if isinstance(own, Contract) else _brought(ref.name)
    if isinstance(ref, GivenPass):
        own = getattr(ref.given, "contract", None)
        if isinstance(own, Contract):
            return own
    row = CONTRACTS.get(ref.name) or _brought(ref.name)
    for variant in row.variants:
        if text_has(ref.expression, variant.arguments):
            row = replace(row, **variant.changes)
    return row


def _brought(name: str) -> Contract:
    """Return the contract of a pass that is not in the table."""
    return active().contracts.get(name) or default_contract(name)
