"""``relaxfuzz merge``: campaigns of several machines become one."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzzer.cli.options import inform, put_json, show
from fuzzer.core.text import by_standing, headline
from fuzzer.core.verb import OK, READS_ONLY, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help="the directory of a campaign")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a new directory for the merged campaign"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a line")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.terminal import bars
    from fuzzer.store.merge import merge
    from fuzzer.store.writer import Store

    with bars() as bar:
        lines = merge(bar.track(options.directories, description="campaigns"), options.out)
    for line in lines:
        inform(line)
    with Store.open(options.out) as store:
        info, seen = store.info(), store.findings()
    if options.json:
        counts = {f"{standing}s": len(part) for standing, part in by_standing(seen).items()}
        return put_json({"out": str(options.out), "cases": info.examples, **counts})
    show(f"{options.out}: {info.examples} cases, {headline(seen)}")
    return OK


VERB = Verb(
    name="merge",
    help="merge campaigns: counts are added, and findings with the same signature (same failure) become one",
    example="relaxfuzz merge shard-1 shard-2 --out nightly",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=READS_ONLY,
)
