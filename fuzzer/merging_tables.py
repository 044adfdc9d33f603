"""The tables of campaigns that are joined: which are added up, and how findings and growth become one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fuzzer.records import FindingState
from fuzzer.regression import State
from fuzzer.store_file import StoreError

Row = dict[str, Any]
Rows = dict[str, list[Row]]

SUMMED = {
    "tallies": 4, "features": 1, "idioms": 1, "operators": 1, "operands": 3, "pairs": 2, "judged": 1, "changed": 1,
    "rewrites": 2, "sightings": 2, "spent": 2, "costs": 1,
}  # fmt: skip
"""Tables whose rows are added up, with the number of columns that say of what; the other columns are numbers."""
OF_ONE = ("pieces", "guide", "behaviours", "pools", "yields", "account", "shares")
"""What guidance, and a budget that follows the yield, know, with which a campaign goes on. A joined one does not, so it
is kept of a single one only."""
OF_FINDINGS = ("traits", "bisections")
"""What is known of a finding's minimized module and script, kept with these."""
OTHERS = ("meta", "shards", "findings", "growth", "regressions")
"""Tables with a rule of their own."""
STRIDE = 1 << 44
"""Shards of the second campaign are numbered from here, and so on; met findings have numbers from 1 << 40 on."""

_RANKS = (
    FindingState.CONFIRMED, FindingState.KNOWN, FindingState.UNSCRIPTED, FindingState.FLAKY, FindingState.NEW,
)  # fmt: skip
"""Of two states of one finding the first of these holds. Confirmed before known: a list that only one of the campaigns
was given hides nothing from the others; the gate reads its own."""
_FATES = (
    State.REGRESSED, State.FAILS, State.CHANGED, State.FIXED, State.HOLDS, State.UNDECIDED, State.WAITING,
)  # fmt: skip
_COUNTED = {"operators": "operators", "operands": "operands", "pairs": "pairs", "rewrites": "rewrites"}


def read_rows(connection: sqlite3.Connection) -> Rows:
    """All tables of a campaign; raises ``StoreError`` for one that has no rule here."""
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    ruled = (*SUMMED, *OF_ONE, *OF_FINDINGS, *OTHERS)
    unknown = sorted(name for name in names if name not in ruled and not name.startswith("sqlite_"))
    if unknown:
        raise StoreError(f"a campaign of another version of relaxfuzz: it has the tables {', '.join(unknown)}")
    rows: Rows = {name: [] for name in ruled}
    for name in rows.keys() & set(names):
        rows[name] = [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
    return rows


def joined_rows(sources: Sequence[Rows], numbers: Sequence[Mapping[int, int]]) -> tuple[Rows, dict[str, int]]:
    """The rows of the joined campaign but its facts, and of each script in it which source it is from.

    Args:
        sources: Their tables.
        numbers: For each source, the new number of each campaign in it.
    """
    rows: Rows = {name: _summed([source[name] for source in sources], keys) for name, keys in SUMMED.items()}
    if len(sources) == 1:
        rows |= {name: sources[0][name] for name in OF_ONE}

    def renumbered(source: Rows, table: str, column: str, places: Mapping[int, int]) -> list[Row]:
        moved = [(row, divmod(row[column], STRIDE)) for row in source[table]]
        return [{**row, column: places[part] * STRIDE + number} for row, (part, number) in moved]

    pairs = list(zip(sources, numbers, strict=True))
    rows["shards"] = [row for source, places in pairs for row in renumbered(source, "shards", "number", places)]
    findings = [renumbered(source, "findings", "shard", places) for source, places in pairs]
    rows["findings"], chosen = _findings(findings)
    for name in OF_FINDINGS:
        rows[name] = [row for index, source in enumerate(sources) for row in source[name] if chosen[row["id"]] == index]
    rows["growth"] = sources[0]["growth"] if len(sources) == 1 else _growth(sources, rows)
    rows["regressions"] = _best(
        [row for source in sources for row in source["regressions"]],
        lambda row: (row["source"], row["id"]),
        lambda row: (_place(_FATES, row["state"]), row["body"]),
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


def _findings(sources: Sequence[list[Row]]) -> tuple[list[Row], dict[str, int]]:
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
        joined.append({
            **first,
            "count": sum(row["count"] for _, row in rows_of),
            "first_seen": min(row["first_seen"] for _, row in rows_of),
            "last_seen": max(row["last_seen"] for _, row in rows_of),
            **{name: best[name] for name in ("state", "minimized_json", "bindings", "repro")},
            "note": note,
        })  # fmt: skip
    return joined, chosen


def _worth(row: Row) -> tuple[Any, ...]:
    """What is best comes first: the state that says most, then the smallest module."""
    text = row["minimized_json"]
    bindings = 1 << 62 if row["bindings"] is None else row["bindings"]
    return _place(_RANKS, row["state"]), text is None, bindings, len(text or ""), text or ""


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
            "findings": sum(at <= moment for at in first.values()),
            **{name: max(row[name] for row in now) for name in _COUNTED},
        })  # fmt: skip
    if points:
        points[-1] |= {"findings": len(joined["findings"])} | {name: len(joined[name]) for name in _COUNTED}
    return points
