"""``relaxfuzz merge``: campaigns of several machines become one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fuzzer.verb import OK, UsageError, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help="the directory of a campaign")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a new directory for the joined campaign"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a line")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.counting import apart, headline
    from fuzzer.merging import MergeError, merge
    from fuzzer.store import Store, StoreError

    try:
        for line in merge(options.directories, options.out):
            print(f"relaxfuzz: {line}", file=sys.stderr)
        with Store.open(options.out) as store:
            info, seen = store.info(), store.findings()
    except (MergeError, StoreError) as error:
        raise UsageError(str(error)) from error
    if options.json:
        findings, suspects = map(len, apart(seen))
        told = {"out": str(options.out), "cases": info.examples, "findings": findings, "suspects": suspects}
        print(json.dumps(told))
        return OK
    print(f"{options.out}: {info.examples} cases, {headline(seen)}")
    return OK


VERB = Verb(
    name="merge",
    help="join campaigns of several machines into one: counts added, findings joined by signature",
    example="relaxfuzz merge shard-1 shard-2 --out nightly",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
