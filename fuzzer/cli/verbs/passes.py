"""``relaxfuzz passes``: the passes under contract, what each promises, and how a campaign judged them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fuzzer.cli.options import put_json, show
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from fuzzer.cli.pass_verdicts import LEAST

    parser.add_argument("name", nargs="?", metavar="NAME", help="print one contract, with the source of each claim")
    parser.add_argument("--excluded", action="store_true", help="list the passes without a contract, with the reasons")
    parser.add_argument(
        "--campaign", type=Path, metavar="DIR", help="show a campaign's verdicts for each pass, and what the pass did"
    )
    parser.add_argument(
        "--least",
        type=_count,
        metavar="N",
        help=f"with --campaign: list combinations of oracle and pass with fewer verdicts than this (default: {LEAST})",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a count")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    if options.least is not None and options.campaign is None:
        raise UsageError("--least needs --campaign DIR")
    if options.excluded and options.campaign is not None:
        raise UsageError("give --excluded or --campaign, not both: no campaign tests an excluded pass")
    if options.excluded:
        return _excluded(options)
    return _judged(options) if options.campaign is not None else _contracts(options)


def _contracts(options: argparse.Namespace) -> int:
    from fuzzer.cli.pass_sheets import contract_object, contracts_table, exclusions_table, sheet
    from relaxkit.passes.contracts import CONTRACTS
    from relaxkit.passes.exclusions import EXCLUDED
    from strategies.pass_arguments.table import LACKING, PASS_ROWS

    name = None if options.name is None else _known(options.name)
    rows = [contract_object(each, each.name in PASS_ROWS) for each in CONTRACTS.values() if name in (None, each.name)]
    if options.json:
        return put_json(rows or _exclusions(name))
    if name is None:
        show(contracts_table(rows), f"\n{len(rows)} passes with a contract, {len(EXCLUDED)} names excluded")
        show(*(f"skipped: {name}: {reason}" for name, reason in LACKING.items()))
    else:
        show(sheet(CONTRACTS[name], name in PASS_ROWS) if rows else exclusions_table(_exclusions(name)))
    return OK


def _excluded(options: argparse.Namespace) -> int:
    from fuzzer.cli.pass_sheets import exclusions_table

    rows = _exclusions(None if options.name is None else _known(options.name))
    if options.json:
        return put_json(rows)
    show(exclusions_table(rows), f"\n{len(rows)} names excluded")
    return OK


def _exclusions(name: str | None) -> list[dict[str, Any]]:
    from fuzzer.cli.pass_sheets import exclusion_object
    from relaxkit.passes.exclusions import EXCLUDED

    return [exclusion_object(row) for row in EXCLUDED.values() if name is None or row.name == name]


def _known(name: str) -> str:
    """Return the name as the tables have it; raises ``UsageError`` for one that they have not."""
    from relaxkit.near import near_matches
    from relaxkit.passes.contracts import CONTRACTS
    from relaxkit.passes.exclusions import EXCLUDED

    if name in CONTRACTS or name in EXCLUDED:
        return name
    raise UsageError(f"no pass is called '{name}'{near_matches(name, (*CONTRACTS, *EXCLUDED))}")


def _judged(options: argparse.Namespace) -> int:
    from fuzzer.cli.pass_sheets import contract_object
    from fuzzer.cli.pass_verdicts import LEAST, by_pass, hardly_judged, hardly_judged_text, rewrites_of, seen, table
    from fuzzer.store.writer import Store
    from relaxkit.passes.contracts import CONTRACTS
    from strategies.pass_arguments.table import PASS_ROWS

    with Store.open(options.campaign) as store:
        judged, coverage, info = by_pass(store.tallies()), store.coverage(), store.info()
    contracts = {each.name: contract_object(each, each.name in PASS_ROWS) for each in CONTRACTS.values()}
    others = sorted((coverage.judged.keys() | judged.keys()) - contracts.keys())  # the user's passes, and pipelines
    found = rewrites_of(coverage)
    rows = [
        {**row, **seen(row["name"], judged.get(row["name"], {}), coverage, found)}
        for row in [*contracts.values(), *({"name": name} for name in others)]
    ]
    if options.name is not None:
        name = options.name if options.name in others else _known(options.name)
        rows = [row for row in rows if row["name"] == name]
    tried = [row for row in rows if row["subjects"] or row["oracles"]]
    least = LEAST if options.least is None else options.least
    # Those that were to be tested and were not judged at all are hardly judged, too.
    asked = {row["name"] for row in tried}.union(info.passes)
    scarce = hardly_judged([row for row in rows if row["name"] in asked], info.oracles, least)
    if options.json:
        of_pass: dict[str, list[str]] = {}
        for each in scarce:
            of_pass.setdefault(each["name"], []).append(each["oracle"])
        for row in rows:
            row["hardly_judged"] = of_pass.get(row["name"], [])
        return put_json(rows)
    show(table(tried))
    often = sum(row["changed"] >= 0.2 * row["subjects"] for row in tried)
    seldom = sum(row["changed"] < 0.05 * row["subjects"] for row in tried)
    print(f"\npasses judged: {len(tried)}; {often} changed at least 20% of their modules, {seldom} less than 5%")
    show("", hardly_judged_text(scarce, least))
    return OK


VERB = Verb(
    name="passes",
    help="list the passes that have a contract, and what each promises",
    example="relaxfuzz passes --campaign campaign",
    add_arguments=_add_arguments,
    run=_run,
    code=READS_ONLY,
)
