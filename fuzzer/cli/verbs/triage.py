"""``relaxfuzz triage``: decide by hand which findings are one family."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.options import put_json, show
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fuzzer.findings.file import Decision, Decisions, KnownFinding
    from fuzzer.store.records import FindingRecord


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="merge|split|known|list")

    def action(name: str, text: str, campaign: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.add_argument("--file", type=Path, metavar="FILE", help="the file of decisions (default: findings.toml)")
        added.add_argument("--campaign", type=Path, metavar="DIR", help=campaign)
        added.add_argument("--json", action="store_true", help="print a JSON list of decisions")
        return added

    exist = "a campaign in which the ids must exist"
    merging = action("merge", "put families or findings into one family", exist)
    merging.add_argument("family", metavar="FAMILY", help="the family to keep")
    merging.add_argument("ids", nargs="+", metavar="ID", help="a family or finding to add to FAMILY")
    splitting = action("split", "put the given findings into one new family", exist)
    splitting.add_argument("ids", nargs="+", metavar="ID", help="id of a finding")
    knowing = action("known", "mark a finding or a family as known", exist)
    knowing.add_argument("id", metavar="ID", help="id of the finding or family")
    knowing.add_argument("--reference", metavar="URL", default="",
                         help="issue or pull request about the finding: URL or OWNER/REPO#NUMBER")  # fmt: skip
    for each in (merging, splitting, knowing):
        each.add_argument("--reason", metavar="TEXT", required=True, help="the reason, in one line")
    action("list", "list the decisions and the known findings", "mark the ids that do not occur in this campaign")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.findings.file import DEFAULT_FILE, add_merge, add_split, load_decisions, load_known

    path = options.file or DEFAULT_FILE
    is_there = options.file is not None and (options.file.exists() or options.action == "list")
    decisions = load_decisions(options.file if is_there else None)
    if options.action == "list":
        there = _ids_of(options.campaign, decisions)
        known = load_known(options.file if is_there else None).entries
        if options.json:
            return put_json([*_objects(decisions.entries, there), *map(_known_row, known)])
        show(_listing(decisions, known, there))
        return OK
    if options.action == "known":
        _check([options.id], options.campaign, decisions)
        return _known(options, path, decisions)
    merges = options.action == "merge"
    ids = [options.family, *options.ids] if merges else options.ids
    _check(ids, options.campaign, decisions)
    added = (add_merge if merges else add_split)(path, ids, options.reason)
    if options.json:
        return put_json(_objects((added,), None))
    show(f"{added.into} now includes {', '.join(added.ids)} ({path})")
    return OK


def _known(options: argparse.Namespace, path: Path, decisions: Decisions) -> int:
    from fuzzer.findings.file import add_known
    from fuzzer.store.writer import Store

    passes = set()
    if options.campaign is not None:
        with Store.open(options.campaign) as store:
            found = store.findings()
        passes = {each.culprit for each in found if options.id in _names(each, decisions)}
    entry = add_known(path, options.id, options.reference, options.reason, *(passes if len(passes) == 1 else ()))
    if options.json:
        return put_json([_known_row(entry)])
    show(f"added {entry.name} to {path} as known ({entry.where})")
    return OK


def _known_row(entry: KnownFinding) -> dict[str, object]:
    return {"known": entry.name, "pass": entry.culprit, "reference": entry.reference, "reason": entry.reason}


def _objects(entries: Sequence[Decision], there: frozenset[str] | None) -> list[dict[str, object]]:
    """Return the entries; with a campaign also which of their ids it did not meet."""
    return [
        entry.to_object() | ({} if there is None else {"not_met": [name for name in entry.ids if name not in there]})
        for entry in entries
    ]


def _listing(decisions: Decisions, known: Sequence[KnownFinding], there: frozenset[str] | None) -> RenderableType:
    """Return the decisions and known findings, two lines each; ids that are not ``there`` are marked."""
    from fuzzer.core.terminal import prose

    lines = []
    for entry in decisions.entries:
        ids = [_marked(name, there) for name in entry.ids]
        lines += [f"{entry.into} {'split' if entry.split else 'merge'}: {entry.reason}", *(f"  {each}" for each in ids)]
    for row in known:
        lines += [f"{_marked(row.name, there)} known: {row.reason}", f"  {row.where}"]
    return prose("\n".join(lines) or "no decisions and no known findings")


def _marked(name: str, there: frozenset[str] | None) -> str:
    return name if there is None or name in there else f"{name} (not found)"


def _ids_of(campaign: Path | None, decisions: Decisions) -> frozenset[str] | None:
    """Return ids of the findings of a campaign and of their families, before and after decisions."""
    from fuzzer.store.writer import Store

    if campaign is None:
        return None
    with Store.open(campaign) as store:
        findings = store.findings()
    return frozenset(name for finding in findings for name in _names(finding, decisions))


def _names(finding: FindingRecord, decisions: Decisions) -> tuple[str, str, str]:
    """Return the ids of a finding and of its family, before and after decisions."""
    return finding.id, finding.family.id, decisions.place(finding.id, finding.family, finding.former).id


def _check(ids: list[str], campaign: Path | None, decisions: Decisions) -> None:
    there = _ids_of(campaign, decisions)
    for name in ids if there is not None else ():
        if name not in (there or ()):
            raise UsageError(f"'{name}' is neither a finding nor a family of '{campaign}'")


VERB = Verb(
    name="triage",
    help="manually correct how findings are grouped into families, or mark findings as known",
    example="relaxfuzz triage known 1f0c2ab934 --reference https://github.com/apache/tvm/issues/1 --reason TEXT",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=READS_ONLY,
)
