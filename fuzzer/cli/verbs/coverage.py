"""``relaxfuzz coverage``: which parts of TVM's compiler a campaign reached, and which it never entered."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.cli.options import add_campaign, inform, put_json, show
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from relaxkit.coverage.table import BlockTable

_BY = ("directory", "file", "pass")
_POINTS = 6
_LIMIT = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_campaign(parser, "; the campaign must have been run with --coverage")
    parser.add_argument("--by", choices=_BY, default=_BY[0], help="how to group the blocks (default: directory)")
    parser.add_argument("--functions", action="store_true", help="list the largest functions that were never entered")
    parser.add_argument(
        "--limit", type=int, default=_LIMIT, metavar="N", help=f"with --functions: how many (default: {_LIMIT})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def _run(options: argparse.Namespace) -> int:
    import numpy as np

    from fuzzer.core.config import Config
    from fuzzer.core.terminal import table as shown
    from fuzzer.store.writer import Store

    with Store.open(options.directory) as store:
        info, reached = store.info(), store.reached()
        meta = store.meta()
        growth = store.reached_by_cases()
    build = Config.from_json(meta["config"]).coverage if "config" in meta else ""
    if not build:
        raise UsageError(f"'{options.directory}' has no coverage: it was not run with --coverage")
    blocks = _table(build, options.directory)
    hit = np.isin(blocks.blocks, list(reached))
    head = {"cases": info.examples, "blocks": len(hit), "reached": int(hit.sum())}
    if options.functions:
        rows = _never(blocks, hit, options.limit)
        heads: tuple[str, ...] = ("blocks", "file", "function")
    else:
        rows = _sums(blocks, hit, options.by)
        heads = (options.by, "blocks", "reached", "share")
    if options.json:
        listed = [dict(zip(heads, row, strict=True)) for row in rows]
        points = [{"cases": cases, "reached": count} for cases, count in growth]
        return put_json({**head, "build": build, "growth": points, "rows": listed})
    some = growth[:: max(1, -(-len(growth) // _POINTS))]
    some += growth[-1:] if growth and some[-1] != growth[-1] else []
    show(
        f"{info.examples} cases reached {hit.sum()} of {len(hit)} blocks, {_share(int(hit.sum()), len(hit))}",
        "",
        shown(["cases", *(str(cases) for cases, _ in some)], [["blocks", *(str(count) for _, count in some)]]),
        "",
        shown(heads, rows if options.functions else [(*row[:3], _share(row[2], row[1])) for row in rows]),
    )
    return OK


def _table(build: str, directory: Path) -> BlockTable:
    """Return the table of the installed compiler, which must be the one that the campaign ran on."""
    import tvm  # noqa: F401 - loads it

    from relaxkit.coverage.breakpoints import has_table, loaded, table_of
    from relaxkit.coverage.elf import CoverageError, Library

    try:
        path, _ = loaded()
        if (here := Library(path).build) != build:
            raise UsageError(f"'{directory}' covers build {build} of TVM's compiler, but build {here} is installed")
        if not has_table(build):
            inform("coverage: building the table of blocks, which takes half a minute and is kept in the cache")
        return table_of(path)
    except CoverageError as error:
        raise UsageError(f"cannot determine the blocks of TVM's compiler: {error}") from error


def _sums(blocks: BlockTable, hit: Any, by: str) -> list[tuple[Any, ...]]:
    """Return name, blocks, reached ones and their share, by directory, file or pass, the largest first."""
    import numpy as np

    from relaxkit.passes.contracts import CONTRACTS

    files = blocks.owners[blocks.function_of]
    there, met = (np.bincount(each, minlength=len(blocks.files)).tolist() for each in (files, files[hit]))
    if by == "pass":
        named = [(name, there[file], met[file]) for name, file in blocks.passes.items() if name in CONTRACTS]
    else:
        sums: dict[str, tuple[int, int]] = {}
        for file, count, reached in zip(blocks.files, there, met, strict=True):
            name = _short(file) if by == "file" else _short(file).partition("/")[0]
            before = sums.get(name, (0, 0))
            sums[name] = before[0] + count, before[1] + reached
        named = [(name, *pair) for name, pair in sums.items()]
    return [
        (*row, round(row[2] / row[1], 4) if row[1] else 0.0)
        for row in sorted(named, key=lambda each: (-each[1], each[0]))
    ]


def _never(blocks: BlockTable, hit: Any, limit: int) -> list[tuple[Any, ...]]:
    """Return blocks, file and name of the largest functions of which no block was reached."""
    import numpy as np

    there = np.bincount(blocks.function_of, minlength=len(blocks.functions))
    met = np.bincount(blocks.function_of[hit], minlength=len(blocks.functions))
    order = sorted(np.flatnonzero(met == 0).tolist(), key=lambda each: (-there[each], each))
    return [
        (
            int(there[each]),
            _short(blocks.files[blocks.owners[each]]),
            blocks.names[each] or f"at {int(blocks.functions[each]):#x}",
        )
        for each in order[: max(0, limit)]
    ]


def _short(file: str) -> str:
    from relaxkit.coverage.table import SOURCES

    return file.removeprefix(SOURCES)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


VERB = Verb(
    name="coverage",
    help="show which basic blocks of TVM's compiler a campaign reached, and which functions it never entered",
    example="relaxfuzz coverage campaign --by pass",
    add_arguments=_add_arguments,
    run=_run,
    code=READS_ONLY,
)
