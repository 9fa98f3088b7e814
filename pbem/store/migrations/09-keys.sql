ALTER TABLE keys ADD COLUMN revoked TEXT;
CREATE TABLE addresses (
    address TEXT NOT NULL COLLATE NOCASE,
    player TEXT NOT NULL REFERENCES players(name),
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    confirmed TEXT,
    PRIMARY KEY (address, player)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX addresses_confirmed ON addresses(address) WHERE confirmed IS NOT NULL;
CREATE INDEX addresses_of_a_player ON addresses(player);
CREATE TABLE recovery_codes (
    player TEXT PRIMARY KEY REFERENCES players(name),
    hash TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE key_changes (
    player TEXT NOT NULL REFERENCES players(name),
    proof TEXT NOT NULL CHECK (proof IN ('old-key', 'recovery-code', 'mailbox')),
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    asked_by TEXT,
    letter BLOB NOT NULL,
    created TEXT NOT NULL,
    due TEXT,
    PRIMARY KEY (player, proof, fingerprint)
) STRICT;
CREATE INDEX key_changes_due ON key_changes(due) WHERE due IS NOT NULL;
