"""``relaxfuzz corpus``: list, check and add known modules, and import seeds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzer.cli.options import add_trust, inform, put_json, show
from fuzzer.core.verb import OK, RUNS_CODE, UsageError, Verb

if TYPE_CHECKING:
    from corpus.case import KnownCase
    from corpus.check import CheckResult

_FAILED = 1


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|check|match|add|import")
    listing = actions.add_parser("list", help="list the cases, one per line", description="List the cases.")
    checking = actions.add_parser(
        "check",
        help="run cases and compare the verdicts with the expected ones; exit code 1 if one differs",
        description="Run cases in child processes, and compare the verdicts with those expected for the installed TVM.",
    )
    matching = actions.add_parser(
        "match",
        help="show which findings of a campaign are known cases",
        description="Compare a campaign's findings with the cases in the corpus: the oracle and pass must be the same, "
        "and the case's message pattern must match the finding's message. `(perhaps)` means that the case has no "
        "pattern, so only the oracle and the pass were compared.",
    )
    matching.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    matching.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    adding = actions.add_parser(
        "add",
        help="turn a campaign's finding into a case",
        description="Turn a campaign's finding into a case, and record what the installed TVM does.",
    )
    importing = actions.add_parser(
        "import",
        help="extract seed modules from a TVM checkout",
        description="Collect seed modules for `relaxfuzz run --seeds DIR`: extract TVMScript modules from Python "
        "files, and keep those that the installed TVM can parse and that are well formed. TVM's parser evaluates "
        "expressions in the files, so import only files that you would run.",
    )
    importing.add_argument("path", type=Path, metavar="PATH", help="a TVM checkout, a directory, or a Python file")
    importing.add_argument(
        "--out", type=Path, metavar="DIR", default=Path("seeds"), help="directory of the collection (default: seeds)"
    )
    importing.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    adding.add_argument("--json", action="store_true", help="print a JSON list instead of lines")
    listing.add_argument("--pass", dest="blamed", metavar="NAME", help="list the known defects of one pass instead")
    for action in (listing, checking):
        action.add_argument("slugs", nargs="*", metavar="CASE", help="names of cases (default: all)")
        action.add_argument("--json", action="store_true", help="print a JSON list instead of lines")
    adding.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    adding.add_argument("id", metavar="ID", help="id of the finding, or a prefix of it")
    adding.add_argument("--title", required=True, metavar="TEXT", help="what happens, in a few words")
    adding.add_argument("--explanation", required=True, metavar="TEXT", help="what is wrong in TVM, in one sentence")
    adding.add_argument("--upstream", default="", metavar="REF", help="TVM issue or pull request (apache/tvm#NUMBER)")
    adding.add_argument("--slug", metavar="NAME", help="name of the case (default: made from the pass and the title)")
    add_trust(adding)
    for action in (listing, checking, matching, adding):
        runs = "; the command runs the code in them" if action is checking else ""
        action.add_argument(
            "--root", type=Path, metavar="DIR", help=f"directory of the cases (default: relaxfuzz's corpus){runs}"
        )


def _run(options: argparse.Namespace) -> int:
    actions = {"list": _list, "check": _check, "match": _match, "add": _add, "import": _import}
    try:
        return actions[options.action](options)
    except OSError as error:
        raise UsageError(f"{error.filename or 'corpus'}: {error.strerror}") from error


def _cases(options: argparse.Namespace, slugs: Sequence[str]) -> list[KnownCase]:
    from corpus.case import CASES, load

    return load(slugs, options.root or CASES)


def _list(options: argparse.Namespace) -> int:
    from corpus.findings import defects_of
    from fuzzer.core.terminal import listed, prose

    if options.blamed:
        show(*map(prose, defects_of(options.blamed) or [f"no defect of {options.blamed} is known"]))
        return OK
    cases = _cases(options, options.slugs)
    if options.json:
        return put_json([_case_object(case) for case in cases])
    rows = [(case.slug, case.oracle, _expected_text(case)) for case in cases]
    show(*listed(("case", "oracle", "expected"), rows, [[f"  {case.pass_text}"] for case in cases]))
    return OK


def _check(options: argparse.Namespace) -> int:
    from corpus.check import check_cases, tvm_version

    results = check_cases(_cases(options, options.slugs))
    wrong = sum(not result.ok for result in results)
    if options.json:
        put_json([_result_object(result) for result in results])
    else:
        for result in results:
            name = result.case.slug if result.run == "case" else f"{result.case.slug} ({result.run})"
            detail = result.note or result.problem
            print(f"{'skip ' if result.note else 'ok   ' if result.ok else 'WRONG'}  {name}{detail and ': '}{detail}")
        print(f"{len(results)} checked, {wrong} not as expected")
        if skipped := sum(bool(result.note) for result in results):
            print(f"{skipped} have no expected verdict for TVM {tvm_version()}: nothing was compared")
    return _FAILED if wrong else OK


def _match(options: argparse.Namespace) -> int:
    from corpus.findings import match
    from fuzzer.core.terminal import listed
    from fuzzer.store.writer import Store

    with Store.open(options.directory) as store:
        findings = sorted(store.findings(), key=lambda each: (each.oracle, each.culprit, each.id))
    matches = match(findings, _cases(options, ()))
    rows = []
    for each in matches:
        seen = each.finding
        slugs, possible = ([case.slug for case in cases] for cases in (each.cases, each.possible))
        rows.append((seen.id, seen.oracle, seen.culprit, seen.state.value, seen.count, slugs, possible))
    if options.json:
        keys = ("id", "oracle", "pass", "state", "count", "cases", "possible")
        return put_json([dict(zip(keys, row, strict=True)) for row in rows])
    below = [[f"  {slug}" for slug in row[5]] or [f"  {slug} (perhaps)" for slug in row[6]] for row in rows]
    show(*listed(("finding", "oracle", "pass", "state", "count"), [row[:5] for row in rows], below))
    print(f"{len(rows)} findings, {sum(bool(each.cases) for each in matches)} match a case of the corpus")
    return OK


def _add(options: argparse.Namespace) -> int:
    from corpus.case import CASES, KnownCase
    from corpus.findings import add_case, make_slug
    from fuzzer.store.trust import require_trust
    from fuzzer.store.writer import Store
    from relaxkit.passes.contract import OracleName

    with Store.open(options.directory) as store:
        require_trust(store, options.trust)
        finding = store.finding(options.id)
    found = finding.minimized or finding.case
    slug = options.slug or make_slug(found.passes[-1].name, options.title)
    new = KnownCase(
        slug=slug,
        directory=(options.root or CASES) / slug,
        title=options.title,
        explanation=options.explanation,
        oracle=OracleName(finding.oracle),
        passes=found.passes,
        input_seed=found.input_seed,
        upstream=options.upstream,
        expected={},
    )
    results = add_case(new, found.module_json)
    if options.json:
        return put_json([_result_object(result) for result in results])
    for result in results:
        show(f"{new.directory}: {result.text}")
    if options.root is None:
        print("now run: python docs/generator/bug_lists.py")
    return OK


def _import(options: argparse.Namespace) -> int:
    from corpus.seed_import.run import import_seeds, save

    report = import_seeds(options.path, inform)
    digest = save(report, options.out)
    if options.json:
        return put_json(report.to_object() | {"out": str(options.out), "content": digest})
    show(*report.tables(), f"{len(report.seeds)} seeds in {options.out} (content {digest})")
    return OK


def _expected_text(case: KnownCase) -> str:
    words = [f"{outcome} on {version}" for version, outcome in case.expected.items()]
    return ", ".join(words) + (" (replica: fail)" if case.replica else "")


def _case_object(case: KnownCase) -> dict[str, Any]:
    return {
        "slug": case.slug,
        "title": case.title,
        "explanation": case.explanation,
        "oracle": str(case.oracle),
        "passes": [{"name": ref.name, "expression": ref.expression} for ref in case.passes],
        "expected": {version: str(outcome) for version, outcome in case.expected.items()},
        "upstream": case.upstream,
        "replica": case.replica.expression if case.replica else None,
    }


def _result_object(result: CheckResult) -> dict[str, Any]:
    seen, evidence = result.verdict, result.verdict.evidence
    return {
        "slug": result.case.slug, "run": result.run, "ok": result.ok, "problem": result.problem, "note": result.note,
        "oracle": str(seen.oracle), "outcome": str(seen.outcome), "reason": seen.reason,
        "kind": evidence.kind if evidence else "", "message": evidence.message if evidence else "",
    }  # fmt: skip


VERB = Verb(
    name="corpus",
    help="list, check and add known cases with their expected verdicts; import seed modules",
    example="relaxfuzz corpus check merge-composite-if",
    add_arguments=_add_arguments,
    run=_run,
    code=RUNS_CODE.replace("This command", "`corpus add`"),
)
