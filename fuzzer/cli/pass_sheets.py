"""Contracts as a maintainer reads them: as a table, each in full, and as JSON."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from fuzzer.core.terminal import listed, prose
from relaxkit.passes.contract import Contract, plain_claim

if TYPE_CHECKING:
    from relaxkit.passes.exclusions import Exclusion

_FIELDS = """
    name needs gives any_stage prepare idempotence fixpoint_runs numeric abi locality keeps_public_signatures
    keeps_calls_fitting tolerated_ill_formedness merges_kernels composed costly address_ordered notes
"""
_INDENT = "    "
_USUAL = (("results", "numeric", "bit-exact"), ("callers", "abi", "same"), ("depends on", "locality", "function"))
"""Of what most passes promise: its name, the key in JSON, and what they promise."""
_MARKS = {
    "merges_kernels": "merges kernels", "composed": "runs other passes", "costly": "slow",
    "address_ordered": "the order of its output depends on memory addresses",
}  # fmt: skip


def contract_object(contract: Contract, generated: bool) -> dict[str, Any]:
    """Return a contract as JSON: every claim, with its source where it has one."""
    from relaxkit.passes.claims.kept import stated_claims

    found = {name: getattr(contract, name) for name in _FIELDS.split()}
    return {
        **{
            name: getattr(value, "value", list(value) if isinstance(value, tuple) else value)
            for name, value in found.items()
        },
        "changes": sorted(kept.value for kept in contract.changes),
        "postconditions": [{"claim": each.claim, "source": each.source} for each in stated_claims(contract)],
        "preconditions": [
            {"name": name.replace("_", " ").strip(), "says": (inspect.getdoc(each) or "").partition("\n")[0]}
            for each in contract.preconditions
            for name in [getattr(each, "__name__", str(each))]
        ],
        "refusals": [asdict(each) for each in contract.refusals],
        "second_run_refusals": [asdict(each) for each in contract.second_run_refusals],
        "environment": [
            {"on": sorted(on.value for on in each.on), "source": each.source} for each in contract.environment
        ],
        "variants": [
            {"arguments": variant.arguments, "changes": sorted(variant.changes)} for variant in contract.variants
        ],
        "generated": generated,
    }


def exclusion_object(exclusion: Exclusion) -> dict[str, Any]:
    """Return an exclusion as JSON."""
    return {
        "name": exclusion.name, "why": exclusion.why.value, "reason": exclusion.reason, "source": exclusion.source,
        "judged_as": list(exclusion.judged_as),
    }  # fmt: skip


def contracts_table(rows: list[dict[str, Any]]) -> RenderableType:
    """Return one line a contract, and one below it with what not nearly all passes promise."""
    heads = ("pass", "second run", "claims", "refusals", "stage")
    cells = [
        (
            row["name"], row["idempotence"], len(row["postconditions"]),
            len(row["refusals"]) + len(row["second_run_refusals"]), stage_text(row),
        )
        for row in rows
    ]  # fmt: skip
    below = [[f"  {head} {row[key]}" for head, key, usual in _USUAL if row[key] != usual] for row in rows]
    usual = ", ".join(f"{head} {usual}" for head, _, usual in _USUAL)
    return Group(*listed(heads, cells, below), prose(f"\nunless stated otherwise: {usual}"))


def exclusions_table(rows: list[dict[str, Any]]) -> RenderableType:
    """Return two lines an exclusion or more: why there is no contract, and the reason."""
    shown = []
    for row in rows:
        judged = f"; see {', '.join(row['judged_as'])}" if row["judged_as"] else ""
        shown += [f"{row['name']}: {row['why']}", f"{_INDENT}{row['reason']}{judged}"]
        shown.append(f"{_INDENT}source: {row['source']}")
    return prose("\n".join(shown))


def stage_text(row: dict[str, Any]) -> str:
    """Return ``legalized > fused`` and the like."""
    if row["any_stage"]:
        return "any"
    return str(row["needs"]) if row["needs"] == row["gives"] else f"{row['needs']} > {row['gives']}"


def sheet(contract: Contract, generated: bool) -> RenderableType:
    """Return everything about one pass, with the reason of each claim and examples of drawn arguments."""
    row = contract_object(contract, generated)
    return prose("\n".join([contract.name, *_lines(row, contract), *_examples(contract.name if generated else None)]))


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
    changed = ", ".join(row["changes"]) or "nothing that a pass should preserve"
    yield f"  changes        {changed}"
    if marks := [words for key, words in _MARKS.items() if row[key]]:
        yield f"  also           {', '.join(marks)}"
    if row["notes"]:
        yield "  notes"
        yield _INDENT + row["notes"]
    if row["postconditions"]:
        yield "  postconditions"
        for claim in row["postconditions"]:
            yield from _sourced(plain_claim(claim["claim"]), claim["source"])
    if row["preconditions"]:
        yield "  tested only on modules that meet these conditions"
        for each in row["preconditions"]:
            yield from _sourced(each["name"], each["says"], "")
    for key, head in (("refusals", "may reject"), ("second_run_refusals", "may reject its own output")):
        if row[key]:
            yield f"  {head}"
            for each in row[key]:
                yield from _sourced(f"{each['reason']}: {each['error']} /{each['pattern']}/", each["source"])
    for pattern in row["tolerated_ill_formedness"]:
        yield f"  may leave      /{pattern}/"
    if row["environment"]:
        yield "  may give a different result"
        for each in row["environment"]:
            yield from _sourced(", ".join(each["on"]), each["source"])
    for variant in row["variants"]:
        yield f"  other promises with arguments /{variant['arguments']}/: {', '.join(variant['changes'])}"


def _sourced(claim: str, source: str, head: str = "source: ") -> Iterator[str]:
    yield f"{_INDENT}- {claim}"
    yield f"{_INDENT}  {head}{source}"


def _examples(name: str | None) -> list[str]:
    """Return what the pass is constructed with for a few drawn modules, the same in every run."""
    if name is None:
        return ["  not generated"]
    found = list(dict.fromkeys(drawn_expressions(name)))
    return ["  examples", *(_INDENT + each for each in sorted(found, key=len)[:EXAMPLES])]


EXAMPLES = 4
"""Most examples of arguments that are shown of a pass."""


def drawn_expressions(name: str, modules: int = 12) -> Iterator[str]:
    """Yield texts that construct a pass, drawn for generated modules."""
    from strategies.detect.module_facts import facts_of
    from strategies.modules import ir_modules
    from strategies.passes import can_act, passes_for
    from strategies.scope.from_bytes import draw_from_bytes

    chance = random.Random(name)
    for _ in range(modules):
        module = draw_from_bytes(ir_modules(), chance.randbytes(8192))
        if module is None or not can_act(name, facts_of(module)):
            continue
        drawn = draw_from_bytes(passes_for(module, [name]), chance.randbytes(4096))
        if drawn is not None:
            yield drawn.expression
