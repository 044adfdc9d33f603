-- One campaign.  The counts and hits of a piece of a shard, and its own row, are written in one transaction, so that
-- a piece is either there as a whole or not at all.  A piece is the examples from `first` up to, not with, `stop`;
-- most shards are one piece.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shards (
    number INTEGER NOT NULL, first INTEGER NOT NULL, stop INTEGER NOT NULL,
    examples INTEGER NOT NULL, modules INTEGER NOT NULL, discarded INTEGER NOT NULL, PRIMARY KEY (number, first)
) WITHOUT ROWID;
CREATE TABLE tallies (
    oracle TEXT NOT NULL, culprit TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (oracle, culprit, outcome, reason)
) WITHOUT ROWID;
CREATE TABLE features (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE operators (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE findings (
    id TEXT PRIMARY KEY, signature TEXT NOT NULL, oracle TEXT NOT NULL, culprit TEXT NOT NULL, kind TEXT NOT NULL,
    message TEXT NOT NULL, frames TEXT NOT NULL, expected TEXT NOT NULL, observed TEXT NOT NULL,
    count INTEGER NOT NULL, state TEXT NOT NULL, first_seen REAL NOT NULL, last_seen REAL NOT NULL,
    shard INTEGER NOT NULL, number INTEGER NOT NULL, case_json TEXT NOT NULL,
    minimized_json TEXT, bindings INTEGER, repro TEXT, note TEXT NOT NULL DEFAULT ''
);
