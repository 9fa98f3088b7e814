CREATE TABLE mailed_tokens (
    hash TEXT PRIMARY KEY,
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'reply', 'stop', 'write')),
    match INTEGER REFERENCES matches(number),
    game INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    used TEXT,
    letter TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO mailed_tokens SELECT * FROM reply_tokens;
DROP TABLE reply_tokens;
ALTER TABLE mailed_tokens RENAME TO reply_tokens;
CREATE INDEX reply_tokens_of_an_address ON reply_tokens(address, created);
