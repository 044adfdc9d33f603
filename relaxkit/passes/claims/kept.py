"""Claims of many passes: what a pass leaves as it is unless its contract says otherwise, and claims that are flags.

Nothing else notices a pass that drops the attributes of the module, its table of devices, or attributes of functions:
the result is well formed, computes the same, and a second run changes nothing. What reads them is a later pass, or the
runtime (``num_input``, ``Codegen``, ``op_pattern``, ``external_mods``, ``system_lib_prefix``).

A thing that is gone with its function is not missed here: whether the function may go is another claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.functions import functions_by_name, is_public
from relaxkit.ir.walk import name_of
from relaxkit.passes.claims.common import both, functions_changed, operators_changed
from relaxkit.passes.contract import Contract, EvidenceClass, Kept, Postcondition

_SOURCE = (
    "IRModule, attributes and global infos belong to the user: src/relax/ir/transform.cc and IRModuleNode::CopyOnWrite "
    "carry them along; measured on generated modules for each pass"
)


def module_attributes_lost(ran: Any) -> str:
    """Find which attribute of the module is gone or has another value."""
    return _lost_of(ran.before.attrs, ran.after.attrs, "a module attribute")


def global_infos_lost(ran: Any) -> str:
    """Find which global info is gone, or stands at another place of its table."""
    for key, entries in ran.before.global_infos.items():
        now = list(ran.after.global_infos.get(key, ()))
        if len(now) < len(entries):
            said = f"drops {'an entry of ' if now else ''}the module's {key} table (global_infos)"
            return f"an entry of the table {key} is gone\n{said}\nbefore: {entries}\nafter: {now}"
        for old, new in zip(entries, now):  # noqa: B905  # new entries may come behind
            if not tvm_ffi.structural_equal(old, new):
                return f"an entry of the table {key} is another one\nmakes an entry of {key} {new} instead of {old}"
    return ""


def function_attributes_lost(ran: Any, besides: Sequence[str] = ()) -> str:
    """Find which attribute of a function is gone or has another value, besides some that the pass may change.

    A function that became one of another kind (a kernel made of a Relax function) has attributes of its own.
    """
    for name, old, new in _touched(ran):
        kind = "a kernel" if isinstance(old, tirx.PrimFunc) else "a Relax function"
        if type(old) is not type(new):
            continue
        if said := _lost_of(old.attrs, new.attrs, f"an attribute of {kind}", besides):
            return f"{said} of {name}"
    return ""


def parameter_names_changed(ran: Any) -> str:
    """Say whether a public Relax function has parameters of other names."""
    for name, old, new in _touched(ran):
        if not (isinstance(old, relax.Function) and isinstance(new, relax.Function) and is_public(old)):
            continue
        before, after = [[name_of(param) for param in function.params] for function in (old, new)]
        if before != after:
            what = "parameters are renamed" if len(before) == len(after) else "another number of parameters"
            return f"{what}\nmakes the parameters of {name} ({', '.join(after)}) instead of ({', '.join(before)})"
    return ""


def purity_changed(ran: Any) -> str:
    """Say whether a Relax function that was declared pure is impure now, or the other way round."""
    for name, old, new in _touched(ran):
        if isinstance(old, relax.Function) and isinstance(new, relax.Function) and old.is_pure != new.is_pure:
            was, now = ("pure" if each.is_pure else "impure" for each in (old, new))
            return f"a {was} function is declared otherwise\nmakes {name}, which is {was}, {now}"
    return ""


def kernels_changed(ran: Any, may_be_external: bool = False) -> str:
    """Say whether another function stands under the name of a kernel."""
    for name, old, new in _touched(ran):
        if isinstance(old, tirx.PrimFunc) and not (
            (may_be_external and isinstance(new, relax.ExternFunc))
            or tvm_ffi.structural_equal(old, new, map_free_vars=True)
        ):
            return f"another function under the name of a kernel\nchanges the kernel {name}"
    return ""


def externals_changed(ran: Any) -> str:
    """Say whether an external function is gone or another one."""
    after = functions_by_name(ran.after)
    for name, old in functions_by_name(ran.before).items():
        if isinstance(old, relax.ExternFunc) and not tvm_ffi.structural_equal(old, after.get(name)):
            return f"an external function is gone or another one\n{'changes' if name in after else 'drops'} {name}"
    return ""


def _touched(ran: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the functions of one name that are not the same object."""
    return ((name, old, new) for name, old, new in both(ran) if not new.same_as(old))


def _lost_of(before: Any, after: Any, what: str, besides: Sequence[str] = ()) -> str:
    for key, value in (before or {}).items():
        if key in besides:
            continue
        if after is None or key not in after:
            return f"{what} is gone: {key}\ndrops the attribute {key}"
        if not tvm_ffi.structural_equal(value, after[key]):
            return f"{what} has another value: {key}\nmakes {key} {after[key]} instead of {value}"
    return ""


_kept = partial(Postcondition, source=_SOURCE, evidence=EvidenceClass.OURS)
_SAME = "tvm.ir.assert_structural_equal"
_ALIKE = f'{_SAME}(After["{{name}}"], Before["{{name}}"], map_free_vars=True)'
_NAMES = '[param.name for param in After["{name}"].params] == [param.name for param in Before["{name}"].params]'
KEPT: dict[Kept, Postcondition] = {
    flag: _kept(f"keeps {flag.value}", violation, shown=shown)
    for flag, violation, shown in (
        (Kept.MODULE_ATTRIBUTES, module_attributes_lost, f"{_SAME}(After.attrs, Before.attrs)"),
        (Kept.GLOBAL_INFOS, global_infos_lost, f"{_SAME}(After.global_infos, Before.global_infos)"),
        (Kept.FUNCTION_ATTRIBUTES, function_attributes_lost, _SAME + '(After["{name}"].attrs, Before["{name}"].attrs)'),
        (Kept.PARAMETER_NAMES, parameter_names_changed, f"assert {_NAMES}"),
        (Kept.PURITY, purity_changed, 'assert After["{name}"].is_pure == Before["{name}"].is_pure'),
        (Kept.KERNELS, kernels_changed, _ALIKE),
        (Kept.EXTERNALS, externals_changed, _ALIKE),
    )
}
"""The claim behind each member of :class:`~relaxkit.passes.contract.Kept`."""


def stated_claims(contract: Contract) -> tuple[Postcondition, ...]:
    """Return what a contract claims in its row: its postconditions, and those behind its flags."""
    found = [*contract.postconditions]
    if (operators := contract.operators) is not None:
        allowed = {"fewer": operators.fewer, "more": operators.more}
        found.append(_generic(operators.claim, operators_changed, operators.source, allowed))
    if (functions := contract.functions) is not None:
        may = {"may_go": functions.may_go, "may_come": functions.may_come}
        found.append(_generic(functions.claim, functions_changed, functions.source, may))
    return tuple(found)


def _generic(claim: str, violation: Callable[..., str], source: str, allowed: dict[str, Any]) -> Postcondition:
    given = {name: value for name, value in allowed.items() if value}
    return Postcondition(
        claim, partial(violation, **given) if given else violation, source, evidence=EvidenceClass.OURS
    )


def claims_of(contract: Contract) -> tuple[Postcondition, ...]:
    """Return what a contract claims: what its row states, and that it keeps what it does not list as changed."""
    kept = {flag: claim for flag, claim in KEPT.items() if flag not in contract.changes}
    if contract.attributes and (all_of_them := kept.get(Kept.FUNCTION_ATTRIBUTES)) is not None:
        others = partial(function_attributes_lost, besides=contract.attributes)
        kept[Kept.FUNCTION_ATTRIBUTES] = replace(all_of_them, violation=others, shown="")
    return (*stated_claims(contract), *kept.values())
