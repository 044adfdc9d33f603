"""``relaxfuzz passes``: the passes under contract, and what each promises."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.coverage import Coverage
    from oracles.contract import Contract

_SHOWN = 2
"""Rewrites of a pass that the table shows."""
_WIDTH = 80
_MOST = 20
"""Rewrites of a pass that ``--json`` lists."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--campaign", type=Path, metavar="DIR", help="show how often each was judged in a campaign, and what it did"
    )
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
    from oracles.contracts import CONTRACTS
    from strategies.passes import PASSES

    found = None if options.campaign is None else _read(options.campaign)
    rows = [_object(contract, contract.name in PASSES) for contract in CONTRACTS.values()]
    if found is not None:
        names = {row["name"] for row in rows}
        others = sorted(found[1].judged.keys() - names)  # the user's passes, and pipelines
        rows = [{**row, **_seen(row["name"], *found)} for row in [*rows, *({"name": name} for name in others)]]
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    from tabulate import tabulate

    if found is None:
        columns = ["name", "idempotence", "numeric", "abi"]
        table = [[row[column] for column in columns] for row in rows]
        print(tabulate(table, ["pass", *columns[1:]], tablefmt="simple", disable_numparse=True))
        print(f"\n{len(rows)} passes under contract")
        return OK
    judged = [row for row in rows if row["subjects"]]
    print(_table(judged))
    often = sum(row["changed"] >= 0.2 * row["subjects"] for row in judged)
    seldom = sum(row["changed"] < 0.05 * row["subjects"] for row in judged)
    print(f"\nof {len(judged)} judged, {often} changed at least 20 % of their modules, {seldom} less than 5 %")
    return OK


def _table(rows: list[dict[str, Any]]) -> str:
    """One line a pass, and under it what it did most often."""
    from tabulate import tabulate

    table = [
        (
            row["name"], row["checks"], row["failures"], row["subjects"],
            f"{100 * row['changed'] / row['subjects']:.0f} %" if row["subjects"] else "-", row["distinct_rewrites"],
        )
        for row in rows
    ]  # fmt: skip
    headers = ["pass", "checks", "failed", "tried", "changed", "rewrites"]
    align = ["left", "right", "right", "right", "right", "right"]
    head, rule, *lines = tabulate(
        [[str(cell) for cell in row] for row in table], headers, tablefmt="simple", disable_numparse=True,
        colalign=align,
    ).splitlines()  # fmt: skip
    text = [head, rule]
    for line, row in zip(lines, rows, strict=True):
        text.append(line)
        for each in row["rewrites"][:_SHOWN]:
            said = f"{each['count']:>8} {each['rewrite']}"
            text.append(said if len(said) <= _WIDTH else f"{said[: _WIDTH - 1]}~")
    return "\n".join(text)


def _object(contract: Contract, generated: bool) -> dict[str, Any]:
    return {
        "name": contract.name, "idempotence": contract.idempotence.value, "numeric": contract.numeric.value,
        "abi": contract.abi.value, "needs": contract.needs.value, "gives": contract.gives.value,
        "prepare": list(contract.prepare), "refusals": [refusal.reason for refusal in contract.refusals],
        "keeps_public_signatures": contract.keeps_public_signatures, "generated": generated, "notes": contract.notes,
    }  # fmt: skip


def _seen(name: str, judged: dict[str, tuple[int, int]], coverage: Coverage) -> dict[str, Any]:
    """What a campaign saw of a pass."""
    checks, failures = judged.get(name, (0, 0))
    rewrites = sorted(
        ((count, rewrite) for (culprit, rewrite), count in coverage.rewrites.items() if culprit == name),
        key=lambda each: (-each[0], each[1]),
    )
    return {
        "checks": checks, "failures": failures, "subjects": coverage.judged[name], "changed": coverage.changed[name],
        "distinct_rewrites": len(rewrites),
        "rewrites": [{"rewrite": rewrite, "count": count} for count, rewrite in rewrites[:_MOST]],
    }  # fmt: skip


def _read(directory: Path) -> tuple[dict[str, tuple[int, int]], Coverage]:
    """Checks (pass and fail) and failures by pass, and what the passes did."""
    from fuzzer.store import Store, StoreError
    from oracles.verdict import Outcome

    try:
        with Store.open(directory) as store:
            tallies, coverage = store.tallies(), store.coverage()
    except StoreError as error:
        raise UsageError(str(error)) from error
    judged: dict[str, tuple[int, int]] = {}
    for tally in tallies:
        if tally.outcome in (Outcome.PASS.value, Outcome.FAIL.value):
            checks, failures = judged.get(tally.culprit, (0, 0))
            failed = tally.count if tally.outcome == Outcome.FAIL.value else 0
            judged[tally.culprit] = (checks + tally.count, failures + failed)
    return judged, coverage


VERB = Verb(
    name="passes",
    help="list the passes under contract and what each promises",
    example="relaxfuzz passes --campaign campaign",
    add_arguments=_add_arguments,
    run=_run,
)
