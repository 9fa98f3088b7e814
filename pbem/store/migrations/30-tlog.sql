CREATE TABLE log_queue (
    match INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hurry INTEGER NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE log_leaves (
    number INTEGER PRIMARY KEY,
    match INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (match, seq)
) STRICT;
CREATE TABLE log_nodes (
    level INTEGER NOT NULL,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    note TEXT NOT NULL,
    cosigned INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_cosigned ON checkpoints (size) WHERE cosigned = 1;
CREATE INDEX checkpoints_by_age ON checkpoints (time);
CREATE TABLE witnesses (
    name TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    asked TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE cosigned_notes (
    origin TEXT PRIMARY KEY,
    note TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
