"""``relaxfuzz ops``: the operators that are generated, and those left out with the reason."""

from __future__ import annotations

import argparse
import json
from typing import Any

from fuzzer.verb import OK, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--excluded", action="store_true", help="list the operators that are left out, and why")
    parser.add_argument("--json", action="store_true", help="a list of objects instead of a table")


def _run(options: argparse.Namespace) -> int:
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
            }
            for row in OPERATORS
        ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    from tabulate import tabulate

    table = [["" if value is None else str(value) for value in row.values()] for row in rows]
    print(tabulate(table, list(rows[0]) if rows else [], tablefmt="simple", disable_numparse=True))
    print(f"\n{len(rows)} operators {'left out' if options.excluded else 'generated'}")
    return OK


VERB = Verb(
    name="ops",
    help="list the operators that are generated, or those left out and why",
    example="relaxfuzz ops --excluded",
    add_arguments=_add_arguments,
    run=_run,
)
