CREATE TABLE witness_requests (
    witness TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    due TEXT NOT NULL,
    tries INTEGER NOT NULL,
    status INTEGER,
    said TEXT
) STRICT, WITHOUT ROWID;
