"""What the store keeps of a budget that follows the yield: pieces not counted yet, the account, shares of epochs.

As with ``fuzzer.finding_store``, the tables are not of the store's format; of a campaign with an even budget they stay
empty.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fuzzer.budget import Account, Yield

SCHEMA = """
CREATE TABLE IF NOT EXISTS yields (
    shard INTEGER NOT NULL, first INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (shard, first)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS account (epochs INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shares (epoch INTEGER PRIMARY KEY, body TEXT NOT NULL);
"""

Query = Callable[..., Iterator[Any]]
PieceYield = tuple[int, int, Yield]
"""Shard and first example of a piece, and what it gave."""


def add(database: sqlite3.Connection, yields: Iterable[PieceYield]) -> None:
    """Record what pieces of shards gave, inside the transaction that records these themselves."""
    rows = [(shard, first, gave.to_json()) for shard, first, gave in yields]
    database.executemany("INSERT INTO yields VALUES (?, ?, ?)", rows)


def save(
    database: sqlite3.Connection, account: Account, shards: range, epoch: int, shares: Mapping[str, int], oldest: int
) -> None:
    """Record an account and what follows from it, inside a transaction.

    Args:
        database: The campaign's.
        account: What is known now.
        shards: Shards of the epoch that it has just counted, of which nothing more need be kept.
        epoch: The epoch that the shares are for.
        shares: Weights of passes.
        oldest: Shares of epochs before this one are no longer needed.
    """
    database.execute("DELETE FROM account")
    database.execute("INSERT INTO account VALUES (?, ?)", (account.epochs, account.to_json()))
    database.execute("DELETE FROM yields WHERE shard >= ? AND shard < ?", (shards.start, shards.stop))
    database.execute("INSERT OR REPLACE INTO shares VALUES (?, ?)", (epoch, json.dumps(dict(shares))))
    database.execute("DELETE FROM shares WHERE epoch < ?", (oldest,))


def read_account(query: Query) -> Account:
    """What was known when it was last saved."""
    rows = list(query("SELECT body FROM account")) if _there(query) else []
    return Account.from_json(rows[0][0]) if rows else Account()


def read_shares(query: Query) -> dict[int, dict[str, int]]:
    """The shares that are kept, by epoch."""
    if not _there(query):
        return {}
    return {epoch: json.loads(body) for epoch, body in query("SELECT epoch, body FROM shares")}


def read_yields(query: Query, shards: range) -> list[Yield]:
    """What the pieces of these shards gave, in order."""
    if not _there(query):
        return []
    text = "SELECT body FROM yields WHERE shard >= ? AND shard < ? ORDER BY shard, first"
    return [Yield.from_json(body) for (body,) in query(text, (shards.start, shards.stop))]


def _there(query: Query) -> bool:
    return bool(next(query("SELECT count(*) FROM sqlite_master WHERE name = 'account'"))[0])
