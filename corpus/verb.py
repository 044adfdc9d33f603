"""``relaxfuzz corpus``: list, check and add known modules, and import seeds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corpus.case import KnownCase
    from corpus.check import CheckResult
    from corpus.matching import Match

_FAILED = 1
_USAGE = 2


@dataclass(frozen=True, slots=True)
class CorpusVerb:
    """The verb; the command line reads these attributes (``fuzzer.verb.Verb``), which this room may not import."""

    name: str
    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    needs_tvm: bool = True


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|check|match|add|import")
    listing = actions.add_parser("list", help="the cases, one a line", description="List the cases.")
    checking = actions.add_parser(
        "check",
        help="judge cases and compare with what they expect; exit 1 when one is not as expected",
        description="Judge cases in child processes and compare with what they expect of the installed TVM.",
    )
    matching = actions.add_parser(
        "match",
        help="which findings of a campaign the corpus knows",
        description="Compare a campaign's findings with what the cases of the corpus say: same oracle, same pass, and "
        "a message that the case's pattern fits. `(perhaps)`: the case has no pattern, only oracle and pass agree.",
    )
    matching.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    matching.add_argument("--json", action="store_true", help="a list of objects instead of a table")
    adding = actions.add_parser(
        "add",
        help="make a case of a campaign's finding",
        description="Make a case of a campaign's finding; what the installed TVM does is measured and recorded.",
    )
    importing = actions.add_parser(
        "import",
        help="read seeds out of a checkout of TVM",
        description="Read TVMScript modules out of Python files without running them, and keep those that parse under "
        "the installed TVM and are well formed as a collection of seeds (for `relaxfuzz run --seeds DIR`).",
    )
    importing.add_argument("path", type=Path, metavar="PATH", help="a checkout of TVM, a directory, or a Python file")
    importing.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("seeds"), help="directory of the collection (default: seeds)"
    )
    importing.add_argument("--json", action="store_true", help="one object instead of tables")
    adding.add_argument("--json", action="store_true", help="a list of objects instead of lines")
    for action in (listing, checking):
        action.add_argument("slugs", nargs="*", metavar="SLUG", help="names of cases (default: all)")
        action.add_argument("--json", action="store_true", help="a list of objects instead of lines")
    adding.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    adding.add_argument("id", metavar="ID", help="the finding's id, or its beginning")
    adding.add_argument("--title", required=True, help="what happens, in a few words")
    adding.add_argument("--explanation", required=True, help="what is wrong in TVM, in one sentence")
    adding.add_argument("--upstream", default="", metavar="REF", help="where it is reported, as apache/tvm#17205")
    adding.add_argument("--slug", help="name of the case (default: made of the pass and the title)")
    for action in (listing, checking, matching, adding):
        action.add_argument("--root", type=Path, help="directory of the cases (default: the corpus itself)")


def _run(options: argparse.Namespace) -> int:
    from corpus.case import CaseError

    actions = {"list": _list, "check": _check, "match": _match, "add": _add, "import": _import}
    try:
        return actions[options.action](options)
    except CaseError as error:
        print(f"relaxfuzz: error: {error}", file=sys.stderr)
        return _USAGE
    except OSError as error:
        print(f"relaxfuzz: error: {error.filename or 'corpus'}: {error.strerror}", file=sys.stderr)
        return _USAGE


def _cases(options: argparse.Namespace, slugs: Sequence[str] | None = None) -> list[KnownCase]:
    from corpus.loader import CASES, load

    return load(options.slugs if slugs is None else slugs, options.root or CASES)


def _list(options: argparse.Namespace) -> int:
    from tabulate import tabulate

    cases = _cases(options)
    if options.json:
        print(json.dumps([_case_object(case) for case in cases], indent=2))
        return 0
    rows = [(case.slug, case.pass_text, str(case.oracle), _expected_text(case)) for case in cases]
    print(tabulate(rows, ("case", "pass", "oracle", "expected"), tablefmt="simple", disable_numparse=True))
    return 0


def _check(options: argparse.Namespace) -> int:
    from corpus.check import check_cases, tvm_version

    results = check_cases(_cases(options))
    wrong = sum(not result.ok for result in results)
    if options.json:
        print(json.dumps([_result_object(result) for result in results], indent=2))
    else:
        for result in results:
            name = result.case.slug if result.run == "case" else f"{result.case.slug} ({result.run})"
            said = result.note or result.problem
            print(f"{'skip ' if result.note else 'ok   ' if result.ok else 'WRONG'}  {name}{said and ': '}{said}")
        print(f"{len(results)} checked, {wrong} not as expected")
        if skipped := sum(bool(result.note) for result in results):
            print(f"{skipped} say nothing of TVM {tvm_version()}: nothing was compared")
    return _FAILED if wrong else 0


def _match(options: argparse.Namespace) -> int:
    from tabulate import tabulate

    from corpus.campaign import read_failures
    from corpus.check import tvm_version
    from corpus.matching import match

    matches = match(read_failures(options.directory), _cases(options, ()), tvm_version())
    if options.json:
        print(json.dumps([_match_object(each) for each in matches], indent=2))
        return 0
    rows = []
    for each in matches:
        slugs = [case.slug for case in each.cases] or [f"{case.slug} (perhaps)" for case in each.possible]
        failure = each.failure
        rows.append((failure.id, failure.oracle, failure.culprit, failure.state, failure.count, ", ".join(slugs)))
    headers = ("finding", "oracle", "culprit", "state", "count", "case")
    print(tabulate(rows, headers, tablefmt="simple", disable_numparse=True))
    known = sum(bool(each.cases) for each in matches)
    print(f"{len(matches)} findings, {known} look like a case of the corpus")
    return 0


def _match_object(each: Match) -> dict[str, Any]:
    failure = each.failure
    return {
        "id": failure.id,
        "oracle": failure.oracle,
        "pass": failure.culprit,
        "state": failure.state,
        "count": failure.count,
        "cases": [case.slug for case in each.cases],
        "possible": [case.slug for case in each.possible],
    }


def _add(options: argparse.Namespace) -> int:
    from corpus.add import NewCase, add_case, make_slug, refs_of
    from corpus.campaign import read_finding
    from corpus.loader import CASES
    from oracles.verdict import OracleName

    found = read_finding(options.directory, options.id)
    passes = refs_of(found.passes)
    new = NewCase(
        slug=options.slug or make_slug(passes[-1].name, options.title),
        title=options.title,
        explanation=options.explanation,
        oracle=OracleName(found.oracle),
        module_json=found.module_json,
        passes=passes,
        input_seed=found.input_seed,
        upstream=options.upstream,
    )
    root = options.root or CASES
    results = add_case(new, root)
    if options.json:
        print(json.dumps([_result_object(result) for result in results], indent=2))
        return 0
    for result in results:
        print(f"{root / new.slug}: {result.observation.text}")
    if options.root is None:
        print("now run: python -m corpus.ledger")
    return 0


def _import(options: argparse.Namespace) -> int:
    from corpus.importing import import_seeds, save
    from corpus.importtable import report_object, table

    report = import_seeds(options.path, lambda line: print(f"relaxfuzz: {line}", file=sys.stderr, flush=True))
    digest = save(report, options.out)
    if options.json:
        print(json.dumps(report_object(report) | {"out": str(options.out), "content": digest}, indent=2))
        return 0
    print(table(report))
    print(f"{len(report.seeds)} seeds in {options.out} (content {digest})")
    return 0


def _expected_text(case: KnownCase) -> str:
    words = [f"{expectation.outcome} on {version}" for version, expectation in case.expected.items()]
    return ", ".join(words) + (" (replica: fail)" if case.replica else "")


def _case_object(case: KnownCase) -> dict[str, Any]:
    return {
        "slug": case.slug,
        "title": case.title,
        "explanation": case.explanation,
        "oracle": str(case.oracle),
        "passes": [{"name": ref.name, "expression": ref.expression} for ref in case.passes],
        "expected": {version: str(expectation.outcome) for version, expectation in case.expected.items()},
        "upstream": case.upstream,
        "replica": case.replica.passes[0].expression if case.replica else None,
    }


def _result_object(result: CheckResult) -> dict[str, Any]:
    seen = result.observation
    return {
        "slug": result.case.slug,
        "run": result.run,
        "ok": result.ok,
        "problem": result.problem,
        "note": result.note,
        "oracle": str(seen.oracle),
        "outcome": str(seen.outcome),
        "reason": seen.reason,
        "kind": seen.kind,
        "message": seen.message,
    }


VERB = CorpusVerb(
    name="corpus",
    help="list, check and add known modules with their expected verdicts; import seeds",
    example="relaxfuzz corpus check merge-composite-if",
    add_arguments=_add_arguments,
    run=_run,
)
