CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    sender TEXT NOT NULL,
    recipients TEXT NOT NULL,
    size INTEGER NOT NULL,
    raw BLOB NOT NULL,
    received TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'done', 'aside')),
    attempts INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    reference TEXT
) STRICT;
CREATE INDEX inbox_waiting ON inbox (attempts, id) WHERE state = 'waiting';
CREATE INDEX inbox_sender ON inbox (sender, received);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient TEXT NOT NULL,
    message_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    size INTEGER NOT NULL,
    raw BLOB NOT NULL,
    created TEXT NOT NULL,
    due TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    reply TEXT,
    settled TEXT,
    told INTEGER NOT NULL DEFAULT 0,
    UNIQUE (message_id, recipient)
) STRICT;
CREATE INDEX outbox_due ON outbox (due, id) WHERE state = 'waiting';
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed' AND told = 0;
