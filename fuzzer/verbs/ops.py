"""``relaxfuzz ops``: the operators that are generated, and those left out with the reason."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from fuzzer.verb import OK, UsageError, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--excluded", action="store_true", help="list the operators that are left out, and why")
    parser.add_argument(
        "--campaign", type=Path, metavar="DIR", help="add in how many modules of a campaign each operator occurred"
    )
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
    if options.excluded and options.campaign is not None:
        raise UsageError("give --excluded or --campaign, not both: operators that are left out occur nowhere")
    counted = None if options.campaign is None else _counted(options.campaign)

    from strategies.operators import OPERATORS, exclusions

    if options.excluded:
        rows: list[dict[str, Any]] = [{"name": name, "reason": why} for name, why in sorted(exclusions.items())]
    else:
        rows = [
            {
                "name": row.name,
                "family": str(getattr(row.family, "value", row.family)),
                "executable": row.executable,
                "feature": None if row.feature is None else str(row.feature.value),
                **({} if counted is None else {"modules": counted[1].get(row.name, 0)}),
            }
            for row in OPERATORS
        ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    from tabulate import tabulate

    table = [["" if value is None else str(value) for value in row.values()] for row in rows]
    print(tabulate(table, list(rows[0]) if rows else [], tablefmt="simple", disable_numparse=True))
    if counted is None:
        print(f"\n{len(rows)} operators {'left out' if options.excluded else 'generated'}")
    else:
        occurred = sum(row["modules"] > 0 for row in rows)
        print(f"\n{occurred} of {len(rows)} operators occurred in the {counted[0]} modules of the campaign")
    return OK


def _counted(directory: Path) -> tuple[int, dict[str, int]]:
    """Modules of a campaign, and of them those with each operator."""
    from fuzzer.store import Store, StoreError

    try:
        with Store.open(directory) as store:
            return store.info().modules, store.coverage().operators
    except StoreError as error:
        raise UsageError(str(error)) from error


VERB = Verb(
    name="ops",
    help="list the operators that are generated, or those left out and why",
    example="relaxfuzz ops --excluded",
    add_arguments=_add_arguments,
    run=_run,
)
