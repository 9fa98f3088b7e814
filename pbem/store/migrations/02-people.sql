CREATE TABLE players (
    name TEXT PRIMARY KEY,
    address TEXT NOT NULL UNIQUE COLLATE NOCASE,
    created TEXT NOT NULL
) STRICT;
CREATE TABLE keys (
    fingerprint TEXT PRIMARY KEY,
    player TEXT NOT NULL REFERENCES players(name),
    format TEXT NOT NULL,
    public TEXT NOT NULL,
    added TEXT NOT NULL
) STRICT;
CREATE INDEX keys_of_a_player ON keys(player);
CREATE TABLE challenges (
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (address, fingerprint)
) STRICT;
CREATE TABLE handled (
    player TEXT NOT NULL REFERENCES players(name),
    signed TEXT NOT NULL,
    received TEXT NOT NULL,
    PRIMARY KEY (player, signed)
) STRICT, WITHOUT ROWID;
