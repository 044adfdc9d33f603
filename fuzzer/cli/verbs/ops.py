"""``relaxfuzz ops``: the operators that are generated, the others and why, and what a campaign generated."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.cli.options import put_json, show
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fuzzer.core.coverage import Coverage
    from fuzzer.store.records import CampaignInfo

_PARTS = ("pairs", "features", "idioms")
_SHOWN = {
    False: "generated from this table; some of the others are generated elsewhere (--excluded)",
    True: "not in the table of `relaxfuzz ops`",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--excluded",
        action="store_true",
        help="list the operators that plain `relaxfuzz ops` does not list, and the reasons",
    )
    parser.add_argument("--campaign", type=Path, metavar="DIR", help="show what a campaign generated")
    for name, shown in (
        ("pairs", "which pairs of operators occurred most often and least often"),
        ("features", "the language features in its modules"),
        ("idioms", "the patterns inserted to trigger passes (idioms), and variants that almost match (near misses)"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=f"with --campaign: show {shown}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _run(options: argparse.Namespace) -> int:
    if options.excluded and options.campaign is not None:
        raise UsageError("give --excluded or --campaign, not both")
    chosen = [part for part in _PARTS if getattr(options, part)]
    if options.campaign is None:
        if chosen:
            raise UsageError(f"--{chosen[0]} needs --campaign DIR")
        return _knowledge(options)
    from fuzzer.store.writer import Store

    with Store.open(options.campaign) as store:
        info, coverage, discarded = store.info(), store.coverage(), store.discarded()
    if options.json:
        return put_json(_object(info, coverage, discarded))
    show(*_text(info, coverage, discarded, chosen))
    return OK


def _knowledge(options: argparse.Namespace) -> int:
    """Return what can be generated at all."""
    from strategies.operators import LACKING, OPERATORS, exclusions

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
        return put_json(rows)
    from fuzzer.core.terminal import prose, table

    cells = [["" if value is None else value for value in row.values()] for row in rows]
    show(table(list(rows[0]), cells), f"\n{len(rows)} operators {_SHOWN[options.excluded]}")
    show(*(prose(f"skipped: {name}: {reason}") for name, reason in LACKING.items()))
    return OK


def _object(info: CampaignInfo, coverage: Coverage, discarded: int) -> dict[str, Any]:
    """Return everything at once, for programs."""
    from fuzzer.cli import operator_tables as tables

    return {
        "summary": tables.summary(info, coverage, discarded),
        "operators": tables.operator_rows(coverage, info.modules),
        "pairs": tables.pair_rows(coverage),
        "features": tables.feature_rows(coverage, info.modules),
        "idioms": tables.idiom_rows(coverage, info.modules),
    }


def _text(info: CampaignInfo, coverage: Coverage, discarded: int, chosen: list[str]) -> list[RenderableType]:
    """Return the summary and the operators, or the tables that were asked for."""
    from fuzzer.cli import operator_tables as tables

    whole = info.modules
    parts = {
        "pairs": lambda: tables.pair_table(tables.pair_rows(coverage)),
        "features": lambda: tables.feature_table(tables.feature_rows(coverage, whole)),
        "idioms": lambda: tables.idiom_table(tables.idiom_rows(coverage, whole)),
    }
    if chosen:
        return [part for name in chosen for part in ("", parts[name]())][1:]
    operators = tables.operator_rows(coverage, info.modules)
    occurred = sum(row["modules"] > 0 for row in operators)
    text = tables.summary_text(tables.summary(info, coverage, discarded))
    return [text, "", tables.operator_table(operators), f"""
{occurred} of {len(operators)} operators occurred in the {whole} modules of the campaign
(see also --pairs, --features, --idioms, and `relaxfuzz passes --campaign DIR`)"""]  # fmt: skip


VERB = Verb(
    name="ops",
    help="list the operators that relaxfuzz generates, or what a campaign generated",
    example="relaxfuzz ops --campaign campaign",
    add_arguments=_add_arguments,
    run=_run,
    code=READS_ONLY,
)
