"""What Gradient claims to have done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm_ffi
from tvm import relax

from oracles.contract import Postcondition, Ran

_SUFFIX = "_adjoint"


def adjoint_missing(ran: Ran) -> str:
    """What contradicts that one adjoint was added, or made anew, and nothing else touched."""
    before = {var.name_hint: function for var, function in ran.before.functions_items()}
    after = {var.name_hint: function for var, function in ran.after.functions_items()}
    for name, function in before.items():
        if name not in after:
            return f"{name} is gone"
        same = bool(tvm_ffi.structural_equal(function, after[name], map_free_vars=True))
        if not same and not _may_be_adjoint(name, before):
            return f"{name} is another"
    added = [name for name in after if name not in before]
    remade = [name for name in before if _may_be_adjoint(name, before)]
    if len(added) + len(remade) == 0:
        return "no adjoint"
    if len(added) > 1 or not all(_may_be_adjoint(name, before) for name in added):
        return "more than one adjoint is added"
    return next((fault for name in added if (fault := _fault(before[name[: -len(_SUFFIX)]], after[name]))), "")


def _may_be_adjoint(name: str, functions: Mapping[str, Any]) -> bool:
    return name.endswith(_SUFFIX) and name[: -len(_SUFFIX)] in functions


def _fault(function: Any, adjoint: Any) -> str:
    """What of an adjoint's signature does not fit its function."""
    if len(function.params) != len(adjoint.params):
        return "the adjoint takes other parameters"
    ty = adjoint.body.ty
    if not isinstance(ty, relax.TupleType) or len(ty.fields) != 2 or not isinstance(ty.fields[1], relax.TupleType):
        return "the adjoint returns no pair of result and gradients"
    if len(ty.fields[1].fields) > len(function.params):
        return "the adjoint returns more gradients than there are parameters"
    return ""


ADJOINT_ADDED = Postcondition(
    "one adjoint is added, and nothing else changes",
    adjoint_missing,
    'documentation of relax.transform.Gradient: "it generates a new function with the name func_name + _adjoint"',
)
