"""``relaxfuzz merge``: campaigns of several machines become one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fuzzer.cli.options import inform
from fuzzer.core.verb import OK, READS_ONLY, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help="the directory of a campaign")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a new directory for the merged campaign"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a line")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.text import by_standing, headline
    from fuzzer.store.merge import merge
    from fuzzer.store.writer import Store

    for line in merge(options.directories, options.out):
        inform(line)
    with Store.open(options.out) as store:
        info, seen = store.info(), store.findings()
    if options.json:
        counts = {f"{standing}s": len(part) for standing, part in by_standing(seen).items()}
        summary = {"out": str(options.out), "cases": info.examples, **counts}
        print(json.dumps(summary))
        return OK
    print(f"{options.out}: {info.examples} cases, {headline(seen)}")
    return OK


VERB = Verb(
    name="merge",
    help="merge campaigns from several machines: counts are added, findings are merged by signature",
    example="relaxfuzz merge shard-1 shard-2 --out nightly",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=READS_ONLY,
)
