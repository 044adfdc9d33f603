-- One campaign.  The counts and hits of a piece of a shard, and its own row, are written in one transaction, so that
-- a piece is either there as a whole or not at all.  A piece is the examples from `first` up to, not with, `stop`;
-- most shards are one piece.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shards (
    number INTEGER NOT NULL, first INTEGER NOT NULL, stop INTEGER NOT NULL,
    examples INTEGER NOT NULL, modules INTEGER NOT NULL, discarded INTEGER NOT NULL, bindings INTEGER NOT NULL,
    neighbours INTEGER NOT NULL, repeated INTEGER NOT NULL, outdone INTEGER NOT NULL, PRIMARY KEY (number, first)
) WITHOUT ROWID;
CREATE TABLE tallies (
    oracle TEXT NOT NULL, culprit TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (oracle, culprit, outcome, reason)
) WITHOUT ROWID;
CREATE TABLE features (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE idioms (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE operators (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE operands (
    operator TEXT NOT NULL, dtype TEXT NOT NULL, rank INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (operator, dtype, rank)
) WITHOUT ROWID;
CREATE TABLE pairs (
    producer TEXT NOT NULL, consumer TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (producer, consumer)
) WITHOUT ROWID;
CREATE TABLE judged (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE changed (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE rewrites (
    culprit TEXT NOT NULL, rewrite TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (culprit, rewrite)
) WITHOUT ROWID;
-- Of campaigns that are guided: what pieces of shards told guidance and it has not learnt from yet, what it knows, how
-- often it saw each behaviour, and the pools of the epochs that may still be under way.
CREATE TABLE pieces (shard INTEGER NOT NULL, first INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (shard, first));
CREATE TABLE guide (epochs INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE behaviours (key INTEGER PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pools (epoch INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE findings (
    id TEXT PRIMARY KEY, signature TEXT NOT NULL, oracle TEXT NOT NULL, culprit TEXT NOT NULL, kind TEXT NOT NULL,
    message TEXT NOT NULL, frames TEXT NOT NULL, expected TEXT NOT NULL, observed TEXT NOT NULL,
    count INTEGER NOT NULL, state TEXT NOT NULL, first_seen REAL NOT NULL, last_seen REAL NOT NULL,
    shard INTEGER NOT NULL, number INTEGER NOT NULL, case_json TEXT NOT NULL,
    minimized_json TEXT, bindings INTEGER, repro TEXT, note TEXT NOT NULL DEFAULT ''
);
