"""``relaxfuzz passes``: the passes under contract, and what each promises."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from oracles.contract import Contract


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", type=Path, metavar="DIR", help="add how often each was judged in a campaign")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
    from oracles.contracts import CONTRACTS
    from strategies.passes import PASSES

    judged = None if options.campaign is None else _judged(options.campaign)
    rows = [_object(contract, contract.name in PASSES, judged) for contract in CONTRACTS.values()]
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    from tabulate import tabulate

    columns = ["name", "idempotence", "numeric", "abi", *(["checks", "failures"] if judged is not None else [])]
    table = [[row[column] for column in columns] for row in rows]
    print(tabulate(table, ["pass", *columns[1:]], tablefmt="simple", disable_numparse=True))
    print(f"\n{len(rows)} passes under contract")
    return OK


def _object(contract: Contract, generated: bool, judged: dict[str, tuple[int, int]] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": contract.name, "idempotence": contract.idempotence.value, "numeric": contract.numeric.value,
        "abi": contract.abi.value, "needs": contract.needs.value, "gives": contract.gives.value,
        "prepare": list(contract.prepare), "refusals": [refusal.reason for refusal in contract.refusals],
        "keeps_public_signatures": contract.keeps_public_signatures, "generated": generated, "notes": contract.notes,
    }  # fmt: skip
    if judged is not None:
        found["checks"], found["failures"] = judged.get(contract.name, (0, 0))
    return found


def _judged(directory: Path) -> dict[str, tuple[int, int]]:
    """Checks (pass and fail) and failures by pass."""
    from fuzzer.store import Store, StoreError
    from oracles.verdict import Outcome

    try:
        with Store.open(directory) as store:
            tallies = store.tallies()
    except StoreError as error:
        raise UsageError(str(error)) from error
    judged: dict[str, tuple[int, int]] = {}
    for tally in tallies:
        if tally.outcome in (Outcome.PASS.value, Outcome.FAIL.value):
            checks, failures = judged.get(tally.culprit, (0, 0))
            failed = tally.count if tally.outcome == Outcome.FAIL.value else 0
            judged[tally.culprit] = (checks + tally.count, failures + failed)
    return judged


VERB = Verb(
    name="passes",
    help="list the passes under contract and what each promises",
    example="relaxfuzz passes --campaign campaign",
    add_arguments=_add_arguments,
    run=_run,
)
