"""Contracts as a maintainer reads them: as a table, each in full, and as JSON."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oracles.contract import Contract, Refusal
    from oracles.exclusions import Exclusion

WIDTH = 100
_INDENT = "    "


def contract_object(contract: Contract, generated: bool) -> dict[str, Any]:
    """A contract as JSON: every claim, with its source where it has one."""
    from oracles.contracts import VARIANTS

    return {
        "name": contract.name,
        "needs": contract.needs.value,
        "gives": contract.gives.value,
        "any_stage": contract.any_stage,
        "prepare": list(contract.prepare),
        "idempotence": contract.idempotence.value,
        "fixpoint_runs": contract.fixpoint_runs,
        "numeric": contract.numeric.value,
        "abi": contract.abi.value,
        "locality": contract.locality.value,
        "keeps_public_signatures": contract.keeps_public_signatures,
        "keeps_calls_fitting": contract.keeps_calls_fitting,
        "changes": sorted(kept.value for kept in contract.changes),
        "postconditions": [{"claim": each.claim, "source": each.source} for each in contract.postconditions],
        "preconditions": [{"name": _function_name(each), "says": _first_line(each)} for each in contract.preconditions],
        "refusals": [_refusal(each) for each in contract.refusals],
        "second_run_refusals": [_refusal(each) for each in contract.second_run_refusals],
        "tolerated_ill_formedness": list(contract.tolerated_ill_formedness),
        "environment": [
            {"on": sorted(on.value for on in each.on), "source": each.source} for each in contract.environment
        ],
        "merges_kernels": contract.merges_kernels,
        "composed": contract.composed,
        "costly": contract.costly,
        "address_ordered": contract.address_ordered,
        "variants": [
            {"arguments": pattern, "changes": sorted(changes)}
            for name, pattern, changes in VARIANTS
            if name == contract.name
        ],
        "generated": generated,
        "notes": contract.notes,
    }


def exclusion_object(exclusion: Exclusion) -> dict[str, Any]:
    """An exclusion as JSON."""
    return {
        "name": exclusion.name, "why": exclusion.why.value, "reason": exclusion.reason, "source": exclusion.source,
        "judged_as": list(exclusion.judged_as),
    }  # fmt: skip


def contracts_table(rows: list[dict[str, Any]]) -> str:
    """One line a contract."""
    from tabulate import tabulate

    heads = ("pass", "stage", "second run", "results", "callers", "depends on", "claims", "refusals")
    table = [
        (
            row["name"], stage_text(row), row["idempotence"], row["numeric"], row["abi"], row["locality"],
            len(row["postconditions"]), len(row["refusals"]) + len(row["second_run_refusals"]),
        )
        for row in rows
    ]  # fmt: skip
    return tabulate(table, heads, tablefmt="simple", disable_numparse=True)


def exclusions_table(rows: list[dict[str, Any]]) -> str:
    """Two lines an exclusion or more: why there is no contract, and the reason."""
    shown = []
    for row in rows:
        judged = f"; see {', '.join(row['judged_as'])}" if row["judged_as"] else ""
        shown += [f"{row['name']}: {row['why']}", *_wrapped(f"{row['reason']}{judged}")]
        shown += _wrapped(f"source: {row['source']}")
    return "\n".join(shown)


def stage_text(row: dict[str, Any]) -> str:
    """``legalized > fused`` and the like."""
    if row["any_stage"]:
        return "any"
    return str(row["needs"]) if row["needs"] == row["gives"] else f"{row['needs']} > {row['gives']}"


def sheet(contract: Contract, generated: bool) -> str:
    """Everything about one pass, with the reason of each claim and examples of drawn arguments."""
    row = contract_object(contract, generated)
    return "\n".join([contract.name, *_lines(row, contract), *_examples(contract.name if generated else None)])


def _lines(row: dict[str, Any], contract: Contract) -> Iterator[str]:
    yield f"  stage          {stage_text(row)}" + (f", after {' > '.join(row['prepare'])}" if row["prepare"] else "")
    runs = f", after at most {row['fixpoint_runs']} runs" if row["idempotence"] == "fixpoint" else ""
    more = " and more on some modules" if contract.fixpoint_extra is not None else ""
    yield f"  second run     {row['idempotence']}{runs}{more}"
    yield f"  results        {row['numeric']}"
    signatures = "kept" if row["keeps_public_signatures"] else "may change"
    calls = "fit" if row["keeps_calls_fitting"] else "may no longer fit"
    yield f"  callers        {row['abi']}; public signatures {signatures}; calls within the module {calls}"
    yield f"  depends on     {row['locality']}"
    changed = ", ".join(row["changes"]) or "nothing of what a pass leaves as it is"
    yield f"  changes        {changed}"
    told = [key for key in ("merges_kernels", "composed", "costly", "address_ordered") if row[key]]
    if told:
        yield f"  otherwise      {', '.join(told).replace('_', ' ')}"
    if row["notes"]:
        yield "  notes"
        yield from _wrapped(row["notes"])
    if row["postconditions"]:
        yield "  claims to have done"
        for claim in row["postconditions"]:
            yield from _sourced(claim["claim"], claim["source"])
    if row["preconditions"]:
        yield "  is not judged on a module where"
        for each in row["preconditions"]:
            yield from _sourced(each["name"], each["says"], "")
    for key, head in (("refusals", "may refuse"), ("second_run_refusals", "may refuse its own output")):
        if row[key]:
            yield f"  {head}"
            for each in row[key]:
                yield from _sourced(f"{each['reason']}: {each['error']} /{each['pattern']}/", each["source"])
    for pattern in row["tolerated_ill_formedness"]:
        yield f"  may leave      /{pattern}/"
    if row["environment"]:
        yield "  may give something else"
        for each in row["environment"]:
            yield from _sourced(", ".join(each["on"]), each["source"])
    for variant in row["variants"]:
        yield f"  other promises with arguments /{variant['arguments']}/: {', '.join(variant['changes'])}"


def _sourced(claim: str, source: str, head: str = "source: ") -> Iterator[str]:
    yield from _wrapped(f"- {claim}", _INDENT)
    yield from _wrapped(f"{head}{source}", _INDENT + "  ")


def _wrapped(text: str, indent: str = _INDENT) -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def _examples(name: str | None) -> list[str]:
    """What the pass is constructed with for a few drawn modules, the same in every run."""
    if name is None:
        return ["  is not drawn"]
    found = list(dict.fromkeys(drawn_expressions(name)))
    return ["  for instance", *(_INDENT + each for each in sorted(found, key=len)[:EXAMPLES])]


EXAMPLES = 4
"""Most examples of arguments that are shown of a pass."""


def drawn_expressions(name: str, modules: int = 12) -> Iterator[str]:
    """Texts that construct a pass, drawn for generated modules."""
    from strategies.drive import draw_from_bytes
    from strategies.module_facts import facts_of
    from strategies.modules import ir_modules
    from strategies.passes import can_act, passes_for

    chance = random.Random(name)
    for _ in range(modules):
        module = draw_from_bytes(ir_modules(), chance.randbytes(8192))
        if module is None or not can_act(name, facts_of(module)):
            continue
        drawn = draw_from_bytes(passes_for(module, [name]), chance.randbytes(4096))
        if drawn is not None:
            yield drawn.expression


def _refusal(refusal: Refusal) -> dict[str, str]:
    return {each.name: getattr(refusal, each.name) for each in fields(refusal)}


def _function_name(function: Callable[..., Any]) -> str:
    return re.sub(r"_", " ", getattr(function, "__name__", str(function))).strip()


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]
