ALTER TABLE outbox ADD COLUMN token TEXT;
UPDATE outbox SET token = lower(hex(randomblob(10)));
CREATE UNIQUE INDEX outbox_token ON outbox (token);
CREATE TABLE bounces (
    inbox INTEGER PRIMARY KEY REFERENCES inbox(id),
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    kind TEXT NOT NULL CHECK (kind IN ('permanent', 'temporary', 'unclear')),
    status TEXT NOT NULL,
    received TEXT NOT NULL
) STRICT;
CREATE INDEX bounces_of_a_letter ON bounces (outbox);
CREATE TABLE unreachable (
    player TEXT PRIMARY KEY REFERENCES players(name),
    since TEXT NOT NULL,
    letter INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
