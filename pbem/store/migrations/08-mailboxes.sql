CREATE TABLE reply_tokens (
    hash TEXT PRIMARY KEY,
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'reply')),
    match INTEGER REFERENCES matches(number),
    game INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    used TEXT,
    letter TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reply_tokens_of_an_address ON reply_tokens(address, created);
CREATE TABLE lookups (
    inbox INTEGER NOT NULL REFERENCES inbox(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due TEXT NOT NULL,
    settled TEXT,
    record TEXT,
    PRIMARY KEY (inbox, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookups_due ON lookups(due) WHERE settled IS NULL;
