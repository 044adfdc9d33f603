"""Joining campaigns of several machines into one: what is counted is added, what is found is joined by signature.

Campaigns that are joined differ in their seeds alone, so a campaign is known by its seed: two of one seed judged the
same cases, and only the longer one is counted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.budget import Budget
from fuzzer.config import Config
from fuzzer.merging_tables import joined_rows, read_rows
from fuzzer.store import Store
from fuzzer.store_file import FILE_NAME, StoreError, connect, told

MERGED = "merged"
"""Key of the facts of a joined campaign that lists its parts."""


class MergeError(Exception):
    """Campaigns that cannot be joined; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Part:
    """A campaign as it was run: its seed, how many cases it judged, when it began."""

    seed: int
    examples: int
    started_at: str


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign to be joined with others.

    Attributes:
        directory: Where it is.
        meta: Its facts.
        parts: The campaigns that it was joined from, by seed; itself if it was not.
        rows: Its tables.
    """

    directory: Path
    meta: dict[str, str]
    parts: tuple[Part, ...]
    rows: dict[str, list[dict[str, Any]]]

    @property
    def seeds(self) -> frozenset[int]:
        """Seeds of its parts."""
        return frozenset(part.seed for part in self.parts)


def merge(directories: Sequence[Path], out: Path) -> list[str]:
    """Join campaigns into a new one in ``out``; the order of the directories is of no account.

    Returns:
        Lines on campaigns that were not counted, since others hold the same cases.

    Raises:
        MergeError: when they do not belong together, or overlap so that something would be counted twice.
        StoreError: when one of them, or ``out``, cannot be used.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise StoreError(f"'{out}' is there already; give another --out")
    sources = [read(directory) for directory in directories]
    for source in sources[1:]:
        _require_alike(sources[0], source)
    kept, lines = _distinct(sources)
    _write(kept, out)
    return lines


def read(directory: Path) -> Source:
    """All of a campaign at one moment; raises ``StoreError``."""
    Store.open(directory).close()  # says what is wrong with it
    connection = connect(directory / FILE_NAME, read_only=True)
    try:
        with contextlib.closing(connection):
            connection.execute("BEGIN")
            rows = read_rows(connection)
    except sqlite3.Error as error:
        raise told(error, directory) from error
    meta = {row["key"]: row["value"] for row in rows.pop("meta")}
    if MERGED in meta:
        parts = tuple(Part(**part) for part in json.loads(meta[MERGED]))
    else:
        examples = sum(row["examples"] for row in rows["shards"])
        parts = (Part(int(meta.get("seed", "0")), examples, meta["started_at"]),)
    return Source(directory, meta, parts, rows)


def _kind(meta: dict[str, str]) -> dict[str, str]:
    """What must be equal of campaigns that are joined, in the words of the complaint."""
    config = Config.from_json(meta["config"]) if "config" in meta else None
    return {
        "TVM": meta.get("tvm_version", ""),
        "ffi": meta.get("ffi_version", ""),
        "passes": meta.get("passes", ""),
        "oracles": meta.get("oracles", ""),
        "guidance": str(config.epoch if config is not None and config.guidance else 0),
        "budget": str(Budget.EVEN if config is None else config.budget),
        "plugins": "" if config is None else " ".join(Path(each).name for each in config.plugins),
        "seed collection": "" if config is None else config.seeds_digest,
    }


def _require_alike(one: Source, other: Source) -> None:
    ours, theirs = _kind(one.meta), _kind(other.meta)
    for name, value in ours.items():
        if theirs[name] != value:
            what = f" ({value} and {theirs[name]})" if name in ("TVM", "ffi") else ""
            raise MergeError(
                f"'{one.directory}' and '{other.directory}' are not of one kind: their {name} "
                f"differ{'s' if name in ('TVM', 'ffi', 'guidance', 'budget', 'seed collection') else ''}{what}; "
                f"only campaigns that differ in their seeds alone are joined"
            )


def _distinct(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """The sources that count, by their lowest seed, and why the others do not."""
    kept: list[Source] = []
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
                f"'{holder.directory}' and '{source.directory}' both hold the campaign of seed {seed}, and neither "
                f"holds all of the other; join the single campaigns instead"
            )
        lines.append(f"'{source.directory}' is not counted: '{holder.directory}' holds the same cases")
    return sorted(kept, key=lambda source: min(source.seeds)), lines


def _order(source: Source) -> tuple[Any, ...]:
    """The one that holds most first; the same whichever way they were given."""
    examples = sum(part.examples for part in source.parts)
    return -len(source.parts), -examples, min(source.seeds), source.meta["started_at"], str(source.directory.resolve())


def _joined_meta(sources: Sequence[Source]) -> dict[str, str]:
    if len(sources) == 1:
        return dict(sources[0].meta)
    metas = [source.meta for source in sources]
    parts = _parts(sources)
    seeds = [part.seed for part in parts]
    ended = {meta["state"] for meta in metas} == {"finished"}
    return {
        **metas[0],
        "seed": str(seeds[0]),
        "workers": str(sum(int(meta.get("workers", "1")) for meta in metas)),
        "elapsed": str(max((meta["elapsed"] for meta in metas), key=float)),
        "started_at": min(meta["started_at"] for meta in metas),
        "state": "finished" if ended else "interrupted",
        "budget": f"{len(parts)} campaigns of seeds {', '.join(map(str, seeds))}",
        "identity": hashlib.sha256(json.dumps([MERGED, _kind(metas[0]), seeds]).encode()).hexdigest()[:16],
        MERGED: json.dumps([{"seed": p.seed, "examples": p.examples, "started_at": p.started_at} for p in parts]),
    }


def _parts(sources: Sequence[Source]) -> list[Part]:
    return sorted((part for source in sources for part in source.parts), key=lambda part: part.seed)


def _write(sources: Sequence[Source], out: Path) -> None:
    """Under another name first: a killed merge leaves nothing that looks like a campaign."""
    out = out.absolute()
    partial = out.with_name(f".{out.name}.merging-{os.getpid()}")
    order = [part.seed for part in _parts(sources)]
    numbers = [{at: order.index(part.seed) for at, part in enumerate(source.parts)} for source in sources]
    rows, scripts = joined_rows([source.rows for source in sources], numbers)
    try:
        Store.create(partial, _joined_meta(sources)).close()
        connection = connect(partial / FILE_NAME)
        with contextlib.closing(connection), connection:
            connection.execute("BEGIN IMMEDIATE")
            for table, added in rows.items():
                for row in added:
                    names, marks = ", ".join(row), ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        for name, index in scripts.items():
            source = sources[index].directory / name
            if source.is_file():
                (partial / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, partial / name)
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(out)
    except (sqlite3.Error, OSError) as error:
        raise told(error, out) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
