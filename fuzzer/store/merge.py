"""Joining campaigns of several machines into one: what is counted is added, what is found is joined by signature.

Campaigns that are joined differ in their seeds alone, so a campaign is known by its seed: two of one seed judged the
same cases, and only the longer one is counted.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fuzzer.core.config import Config
from fuzzer.core.text import Standing
from fuzzer.core.verb import UsageError
from fuzzer.findings.family import Family, Traits
from fuzzer.findings.signature import Signature, signature
from fuzzer.store.database import FILE_NAME, SUMMED, StoreError, connect, store_error
from fuzzer.store.door import SCRIPTS, read_script
from fuzzer.store.reader import record_of
from fuzzer.store.records import CampaignState, EarlierState, FindingRecord, FindingState, MergedCampaign
from fuzzer.store.trust import SEALED, foreign
from fuzzer.store.writer import Store
from relaxkit.files import make_directory, write_atomically

# The tables of campaigns that are joined: which are added up, and how findings and growth become one.

Row = dict[str, Any]
Rows = dict[str, list[Row]]

_OF_THE_GRAVEST = (
    "evidence", "state", "minimized_json", "bindings", "repro", "parts", "traits", "bisected", "assessment",
)  # fmt: skip
"""What a finding has from the campaign that takes it most seriously, and of several from the one with the smallest
module: none can make less of what another found."""
STRIDE = 1 << 44
"""Shards of the second campaign are numbered from here, and so on; met findings have numbers from 1 << 40 on."""
MOST_SCRIPTS = 512 << 20
"""Characters of all scripts that are joined; one has some 3,000, and a file that is nearly empty may claim millions."""
_NUMBERED = {"shards": "number", "findings": "shard", "reached": "shard", "entered": "shard"}
"""Tables with a column for the number of a shard."""

_RANKS = (
    FindingState.CONFIRMED, FindingState.NEW, FindingState.KNOWN, FindingState.UNSCRIPTED, FindingState.FLAKY,
)  # fmt: skip
"""Of two states of one finding that stand as the same the first of these holds. Known comes late: a list that only one
of the campaigns was given hides nothing from the others; the gate reads its own."""
_FATES = (
    EarlierState.REGRESSED,
    EarlierState.FAILS,
    EarlierState.CHANGED,
    EarlierState.FIXED,
    EarlierState.HOLDS,
    EarlierState.UNDECIDED,
    EarlierState.WAITING,
)
_COUNTED = {"operators": "operators", "operands": "operands", "pairs": "pairs", "rewrites": "rewrites"}


def joined_rows(
    sources: Sequence[Rows], numbers: Sequence[Mapping[int, int]], own: Sequence[bool]
) -> tuple[Rows, dict[str, int]]:
    """The rows of the joined campaign but its facts, and of each script in it which source it is from.

    Args:
        sources: Their tables.
        numbers: For each source, the new number of each campaign in it.
        own: For each source, whether this user's campaigns wrote all of it.
    """
    rows: Rows = {name: _summed([source[name] for source in sources], keys) for name, keys in SUMMED.items()}

    def renumbered(source: Rows, table: str, column: str, places: Mapping[int, int]) -> list[Row]:
        moved = [(row, divmod(row[column], STRIDE)) for row in source[table]]
        return [{**row, column: places[part] * STRIDE + number} for row, (part, number) in moved]

    pairs = list(zip(sources, numbers, strict=True))
    rows["shards"] = [row for source, places in pairs for row in renumbered(source, "shards", "number", places)]
    reached = [row for source, places in pairs for row in renumbered(source, "reached", "shard", places)]
    rows["reached"] = _best(reached, lambda row: row["block"], lambda row: row["shard"])
    entered = [row for source, places in pairs for row in renumbered(source, "entered", "shard", places)]
    rows["entered"] = _best(entered, lambda row: row["function"], lambda row: (row["shard"], row["example"]))
    lines = [row for source in sources for row in source["lines"]]
    rows["lines"] = _best(lines, lambda row: (row["place"], row["line"]), lambda row: not row["ran"])
    findings = [renumbered(source, "findings", "shard", places) for source, places in pairs]
    rows["findings"], chosen = _findings(findings, own)
    rows["growth"] = sources[0]["growth"] if len(sources) == 1 else _growth(sources, rows)
    told = [(not mine, row) for source, mine in zip(sources, own, strict=True) for row in source["regressions"]]
    told.sort(key=lambda each: (each[0], each[1]["body"]))  # the user's own word first, and one order of all others
    rows["regressions"] = _best(
        (row for _, row in told), lambda row: (row["source"], row["id"]), lambda row: _place(_FATES, row["state"])
    )
    return rows, {row["repro"]: chosen[row["id"]] for row in rows["findings"] if row["repro"]}


def _summed(tables: Sequence[list[Row]], keys: int) -> list[Row]:
    sums: dict[tuple[Any, ...], Row] = {}
    for row in (row for table in tables for row in table):
        names = list(row)
        key = tuple(row[name] for name in names[:keys])
        if key not in sums:
            sums[key] = dict(row)
            continue
        for name in names[keys:]:
            sums[key][name] += row[name]
    return [sums[key] for key in sorted(sums)]


def _best(rows: Iterable[Row], key: Callable[[Row], Any], worth: Callable[[Row], Any]) -> list[Row]:
    best: dict[Any, Row] = {}
    for row in rows:
        if key(row) not in best or worth(row) < worth(best[key(row)]):
            best[key(row)] = row
    return [best[each] for each in sorted(best)]


def _findings(sources: Sequence[list[Row]], own: Sequence[bool]) -> tuple[list[Row], dict[str, int]]:
    """Findings joined by signature, and from which source each has its minimized module."""
    found: dict[str, list[tuple[int, Row]]] = {}
    for index, rows in enumerate(sources):
        for row in rows:
            found.setdefault(row["id"], []).append((index, row))
    joined, chosen = [], {}
    for finding_id, rows_of in found.items():
        # The case of the first campaign speaks, one that was drawn before one that minimization met.
        _, first = min(rows_of, key=lambda pair: (pair[1]["count"] == 0, pair[1]["shard"], pair[1]["number"]))
        index, best = min(rows_of, key=lambda pair: (*_worth(pair[1]), pair[1]["shard"], pair[1]["number"]))
        chosen[finding_id] = index
        note = "; ".join(filter(None, [best["note"], *_dissent(best, [row for _, row in rows_of])]))
        said = {name: best.get(name) for name in _OF_THE_GRAVEST}
        if not all(own):
            said |= _unless_foreign(best, [(own[index], record_of(row)) for index, row in rows_of])
        joined.append({
            **first,
            "count": sum(row["count"] for _, row in rows_of),
            "first_seen": min(row["first_seen"] for _, row in rows_of),
            "last_seen": max(row["last_seen"] for _, row in rows_of),
            **said,
            "note": note,
        })  # fmt: skip
    return joined, chosen


def _unless_foreign(best: Row, records: Sequence[tuple[bool, FindingRecord]]) -> Row:
    """What of a finding no campaign from elsewhere decides: its pass and kind, its family, that it is less grave.

    Raises:
        MergeError: Their evidence is not of one kind, though their signatures read the same.
    """
    if len({_kind_of(record)[0] for _, record in records}) > 1:
        raise MergeError(f"finding {best['id']} is not the same in all campaigns, though its signature reads the same")
    disputed = len({_kind_of(record) for _, record in records}) > 1
    standing = record_of(best).standing
    weighed = [
        (record.assessment, own) for own, record in records if record.standing is standing and (own or record.assessed)
    ]
    gravest = min(weighed, key=lambda pair: (pair[0].severity.value, not pair[1]), default=None)
    return {
        "traits": _text(Traits(disputed=True)) if disputed else best["traits"],
        "assessment": _text(gravest[0]) if gravest else best["assessment"],
    }


def _kind_of(record: FindingRecord) -> tuple[Signature, Family]:
    return signature(record.verdict), record.family


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _worth(row: Row) -> tuple[Any, ...]:
    """Order findings, the best first: the gravest standing and state, then the smallest module."""
    text = row["minimized_json"]
    bindings = 1 << 62 if row["bindings"] is None else row["bindings"]
    return *_gravity(row), text is None, bindings, len(text or ""), text or ""


def _gravity(row: Row) -> tuple[int, int, str]:
    record = record_of(row)
    return list(Standing).index(record.standing), _place(_RANKS, row["state"]), record.assessment.severity.value


def _dissent(best: Row, rows: Sequence[Row]) -> list[str]:
    """That another campaign saw a finding not come back is worth knowing."""
    said = {row["note"] for row in rows if row["state"] == FindingState.FLAKY.value != best["state"]}
    return [f"in another campaign: flaky: {note}" for note in sorted(said)]


def _place(order: Sequence[Any], value: str) -> int:
    return next((place for place, each in enumerate(order) if each.value == value), len(order))


def _growth(sources: Sequence[Rows], joined: Rows) -> list[Row]:
    """The campaigns laid over each other, as if they had begun together.

    Cases, modules and findings are exact. Of what was covered it is not known which of it two campaigns shared at an
    earlier moment: there the larger number stands, a lower bound, and the exact one at the end.
    """
    moments = sorted({row["at"] for source in sources for row in source["growth"]})
    first: dict[str, float] = {}
    for row in joined["sightings"]:
        first[row["finding"]] = min(first.get(row["finding"], row["at"]), row["at"])
    firsts = sorted(first.values())
    places = [0] * len(sources)
    points = []
    for moment in moments:
        now = []
        for index, source in enumerate(sources):
            rows = source["growth"]
            while places[index] < len(rows) and rows[places[index]]["at"] <= moment:
                places[index] += 1
            if places[index]:
                now.append(rows[places[index] - 1])
        points.append({
            "at": moment,
            **{name: sum(row[name] for row in now) for name in ("examples", "modules")},
            "findings": bisect.bisect_right(firsts, moment),
            **{name: max(row[name] for row in now) for name in _COUNTED},
        })  # fmt: skip
    if points:
        points[-1] |= {"findings": len(joined["findings"])} | {name: len(joined[name]) for name in _COUNTED}
    return points


MERGED = "merged"
"""Key of the facts of a joined campaign that lists its parts."""


class MergeError(UsageError):
    """Campaigns that cannot be joined; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A campaign to be joined with others.

    Attributes:
        directory: Where it is.
        meta: Its facts.
        parts: The campaigns that it was joined from, by seed; itself if it was not.
        rows: Its tables.
        own: Whether this user's campaigns wrote all of it.
    """

    directory: Path
    meta: dict[str, str]
    parts: tuple[MergedCampaign, ...]
    rows: dict[str, list[dict[str, Any]]]
    own: bool

    @property
    def seeds(self) -> frozenset[int]:
        """Seeds of its parts."""
        return frozenset(part.seed for part in self.parts)


def merge(directories: Iterable[Path], out: Path) -> list[str]:
    """Join campaigns into a new one in ``out``; the order of the directories is of no account.

    Returns:
        Lines on campaigns that were not counted, since others hold the same cases.

    Raises:
        MergeError: when they do not belong together, or overlap so that something would be counted twice.
        StoreError: when one of them, or ``out``, cannot be used.
    """
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise StoreError(f"'{out}' already exists; use another --out")
    sources = [read(directory) for directory in directories]
    for source in sources[1:]:
        _require_alike(sources[0], source)
    kept, lines = _distinct(sources)
    _write(kept, out)
    return lines


def read(directory: Path) -> MergeSource:
    """All of a campaign at one moment; raises ``StoreError``."""
    with Store.open(directory) as store:
        own, rows = not foreign(store), store.rows()
    for record in () if own else map(record_of, rows["findings"]):
        if (meant := signature(record.verdict)).text != record.signature or meant.id != record.id:
            raise MergeError(
                f"'{directory}' cannot be merged: finding {record.id} does not have the signature of its evidence; it "
                f"was changed, or another version made it"
            )
    meta = {row["key"]: row["value"] for row in rows.pop("meta")}
    if MERGED in meta:
        parts = msgspec.json.decode(meta[MERGED], type=tuple[MergedCampaign, ...])
    else:
        examples = sum(row["examples"] for row in rows["shards"])
        parts = (MergedCampaign(int(meta["seed"]), examples, meta["started_at"]),)
    for table, column in _NUMBERED.items():
        if any(row[column] >= STRIDE * len(parts) for row in rows[table]):
            raise StoreError(
                f"'{directory / FILE_NAME}' is damaged: table '{table}', field '{column}': belongs to no campaign in it"
            )
    return MergeSource(directory, meta, parts, rows, own)


def _kind(meta: dict[str, str]) -> dict[str, str]:
    """List what must be equal of campaigns that are joined, in the words of the complaint."""
    config = Config.from_json(meta["config"]) if "config" in meta else None
    return {
        "TVM": meta["tvm_version"],
        "ffi": meta["ffi_version"],
        "passes": meta["passes"],
        "oracles": meta["oracles"],
        "plugins": "" if config is None else " ".join(Path(each).name for each in config.plugins),
        "files of passes": "" if config is None else str(config.code or ""),
        "operators": "" if config is None else str(config.operators or ""),
        "coverage": "" if config is None else config.coverage,
        "seed collection": "" if config is None else config.seeds_digest,
    }


def _require_alike(one: MergeSource, other: MergeSource) -> None:
    ours, theirs = _kind(one.meta), _kind(other.meta)
    for name, value in ours.items():
        if theirs[name] != value:
            what = f" ({value} and {theirs[name]})" if name in ("TVM", "ffi") else ""
            raise MergeError(
                f"'{one.directory}' and '{other.directory}' cannot be merged: their {name} "
                f"differ{'s' if name in ('TVM', 'ffi', 'seed collection') else ''}{what}; "
                f"campaigns to merge may differ only in their seeds"
            )


def _distinct(sources: Sequence[MergeSource]) -> tuple[list[MergeSource], list[str]]:
    """The sources that count, by their lowest seed, and why the others do not."""
    kept: list[MergeSource] = []
    lines = []
    for source in sorted(sources, key=_order):
        holder = next((each for each in kept if each.seeds & source.seeds), None)
        if holder is None:
            kept.append(source)
            continue
        there = {part.seed: part.examples for part in holder.parts}
        if not source.seeds <= holder.seeds or any(part.examples > there[part.seed] for part in source.parts):
            seed = min(source.seeds & holder.seeds)
            raise MergeError(
                f"'{holder.directory}' and '{source.directory}' both contain the campaign with seed {seed}; neither "
                f"contains all of the other; merge the single campaigns instead"
            )
        if lack := _lack(holder, source):
            raise MergeError(
                f"'{holder.directory}' contains the cases of '{source.directory}', but lacks its {lack} or rates "
                f"it lower; merge without one of them"
            )
        lines.append(f"'{source.directory}' is not counted: '{holder.directory}' contains the same cases")
    return sorted(kept, key=lambda source: min(source.seeds)), lines


def _lack(holder: MergeSource, source: MergeSource) -> str:
    """Name what a campaign that claims to contain another lacks of it: of one from elsewhere, nothing is believed."""
    found = {row["id"]: row for row in holder.rows["findings"]}
    for row in source.rows["findings"]:
        there = found.get(row["id"])
        if holder.own and there and row["state"] == FindingState.NEW.value:
            continue  # triage, which this one had not come to, may make less of it
        if there is None or _gravity(there) > _gravity(row):
            return f"finding {row['id']}"
        one, other = record_of(there), record_of(row)
        less = one.standing is other.standing and one.assessment.severity.value > other.assessment.severity.value
        if not holder.own and (less or _kind_of(one) != _kind_of(other)):
            return f"finding {row['id']} as it was found"
    counts = {_tally(row): row["count"] for row in holder.rows["tallies"]}
    fates = {(row["source"], row["id"]): _place(_FATES, row["state"]) for row in holder.rows["regressions"]}
    for row in source.rows["tallies"]:
        if counts.get(_tally(row), 0) < row["count"]:
            return f"verdicts of {row['oracle']} on {row['culprit']}"
    for row in source.rows["regressions"]:
        fate = fates.get((row["source"], row["id"]))
        if fate is None or (not holder.own and fate > _place(_FATES, row["state"])):
            return f"earlier finding {row['id']}"
    return ""


def _tally(row: Row) -> tuple[str, ...]:
    return row["oracle"], row["culprit"], row["outcome"], row["reason"]


def _order(source: MergeSource) -> tuple[Any, ...]:
    """The one that holds most first; the same whichever way they were given."""
    examples = sum(part.examples for part in source.parts)
    return -len(source.parts), -examples, min(source.seeds), source.meta["started_at"], str(source.directory.resolve())


def _joined_meta(sources: Sequence[MergeSource]) -> dict[str, str]:
    if len(sources) == 1:
        return {key: value for key, value in sources[0].meta.items() if key != "seal"}
    metas = [source.meta for source in sources]
    parts = _parts(sources)
    seeds = [part.seed for part in parts]
    ended = {meta["state"] for meta in metas} == {CampaignState.FINISHED}
    return {
        **{key: value for key, value in metas[0].items() if key != "seal"},
        "seed": str(seeds[0]),
        "workers": str(sum(int(meta["workers"]) for meta in metas)),
        "elapsed": str(max((meta["elapsed"] for meta in metas), key=float)),
        "started_at": min(meta["started_at"] for meta in metas),
        "state": CampaignState.FINISHED if ended else CampaignState.INTERRUPTED,
        "budget": f"{len(parts)} campaigns of seeds {', '.join(map(str, seeds))}",
        "identity": hashlib.sha256(json.dumps([MERGED, _kind(metas[0]), seeds]).encode()).hexdigest()[:16],
        MERGED: json.dumps([{"seed": p.seed, "examples": p.examples, "started_at": p.started_at} for p in parts]),
    }


def _parts(sources: Sequence[MergeSource]) -> list[MergedCampaign]:
    return sorted((part for source in sources for part in source.parts), key=lambda part: part.seed)


def _write(sources: Sequence[MergeSource], out: Path) -> None:
    """In a directory of its own first, which nobody foresees: a merge that fails leaves nothing in ``out``."""
    out = out.absolute()
    try:
        make_directory(out.parent, links=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name[:100]}.merging-", dir=out.parent) as scratch:
            partial = Path(scratch) / "campaign"
            _fill(partial, sources)
            try:
                Store.open(partial).close()
            except StoreError as error:
                raise MergeError(f"the merged campaign exceeds the limits: {str(error).partition(': ')[2]}") from error
            partial.replace(out)
    except (sqlite3.Error, OSError, OverflowError) as error:
        raise store_error(error, out) from error


def _fill(partial: Path, sources: Sequence[MergeSource]) -> None:
    order = {part.seed: place for place, part in enumerate(_parts(sources))}
    own = [source.own for source in sources]
    numbers = [{at: order[part.seed] for at, part in enumerate(source.parts)} for source in sources]
    rows, scripts = joined_rows([source.rows for source in sources], numbers, own)
    with Store.create(partial, _joined_meta(sources), own=all(own)) as store:
        sealer = store.sealer
    connection = connect(partial / FILE_NAME)
    with contextlib.closing(connection), connection:
        connection.execute("BEGIN IMMEDIATE")
        for table, added in rows.items():
            for row in added:
                if table in SEALED:
                    row["seal"] = sealer.row(table, row)
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
    left = MOST_SCRIPTS
    for name, index in scripts.items():
        directory = sources[index].directory
        if os.path.lexists(directory / name):
            (partial / SCRIPTS).mkdir(exist_ok=True)
            text = read_script(directory, name)
            if (left := left - len(text)) < 0:
                raise MergeError(f"the scripts have more than {MOST_SCRIPTS >> 20} MiB, also those of '{directory}'")
            write_atomically(partial / name, text)
