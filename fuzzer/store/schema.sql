-- One campaign.  The counts and hits of a piece of a shard, and its own row, are written in one transaction, so that
-- a piece is either there as a whole or not at all.  A piece is the examples from `first` up to, not with, `stop`;
-- most shards are one piece.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE shards (
    number INTEGER NOT NULL, first INTEGER NOT NULL, stop INTEGER NOT NULL,
    examples INTEGER NOT NULL, modules INTEGER NOT NULL, discarded INTEGER NOT NULL, bindings INTEGER NOT NULL,
    PRIMARY KEY (number, first)
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
-- Blocks of TVM's compiler, by address, each with the first shard that reached it (fuzzer/shard/reached.py).
CREATE TABLE reached (block INTEGER PRIMARY KEY, shard INTEGER NOT NULL);
-- Functions of TVM's compiler, by address, each with the first case that entered it (fuzzer/shard/guidance.py).
CREATE TABLE entered (function INTEGER PRIMARY KEY, shard INTEGER NOT NULL, example INTEGER NOT NULL);
-- Statements of the user's passes, and whether any case ran them (fuzzer/shard/own_lines.py).
CREATE TABLE lines (
    place TEXT NOT NULL, line INTEGER NOT NULL, ran INTEGER NOT NULL, PRIMARY KEY (place, line)
) WITHOUT ROWID;
-- A finding with its first case and, once triage has seen it, its minimized case, script and traits. Records are JSON.
-- `seal`, here and below: that one of the user's own campaigns wrote the row (fuzzer/store/trust.py).
CREATE TABLE findings (
    id TEXT PRIMARY KEY, signature TEXT NOT NULL, oracle TEXT NOT NULL, culprit TEXT NOT NULL, evidence TEXT NOT NULL,
    count INTEGER NOT NULL, state TEXT NOT NULL, first_seen REAL NOT NULL, last_seen REAL NOT NULL,
    shard INTEGER NOT NULL, number INTEGER NOT NULL, case_json TEXT NOT NULL,
    minimized_json TEXT, bindings INTEGER, repro TEXT, parts TEXT, note TEXT NOT NULL DEFAULT '', traits TEXT, bisected TEXT,
    assessment TEXT, seal TEXT NOT NULL DEFAULT ''
);
-- What waits for triage is asked after each shard; without the index all evidence would be read.
CREATE INDEX findings_by_state ON findings (state, shard, number, id);
-- Seconds of workers that findings took.
CREATE TABLE costs (id TEXT PRIMARY KEY, judging REAL NOT NULL, triage REAL NOT NULL) WITHOUT ROWID;
-- Earlier findings and known cases that the campaign began with, and what became of each.
CREATE TABLE regressions (
    source TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (source, id)
) WITHOUT ROWID;
-- How the campaign went over time (fuzzer/store/timeline.py).
CREATE TABLE growth (
    at REAL PRIMARY KEY, examples INTEGER NOT NULL, modules INTEGER NOT NULL, findings INTEGER NOT NULL,
    operators INTEGER NOT NULL, operands INTEGER NOT NULL, pairs INTEGER NOT NULL, rewrites INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE sightings (
    finding TEXT NOT NULL, at REAL NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (finding, at)
) WITHOUT ROWID;
CREATE TABLE spent (
    step TEXT NOT NULL, culprit TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (step, culprit)
) WITHOUT ROWID;
