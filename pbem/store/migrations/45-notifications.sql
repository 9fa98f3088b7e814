CREATE TABLE notifications (
    player TEXT PRIMARY KEY REFERENCES players(name),
    sealed BLOB NOT NULL,
    confirmed INTEGER NOT NULL,
    due TEXT,
    tries INTEGER NOT NULL,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
