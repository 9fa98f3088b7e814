CREATE TABLE matches (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    phase TEXT NOT NULL,
    terms TEXT NOT NULL,
    head TEXT NOT NULL,
    resolve_at TEXT,
    created TEXT NOT NULL
) STRICT;
CREATE INDEX matches_to_resolve ON matches(resolve_at) WHERE resolve_at IS NOT NULL;
CREATE TABLE seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    token TEXT NOT NULL UNIQUE,
    accepted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_of_a_player ON seats(player);
CREATE TABLE entries (
    match INTEGER NOT NULL REFERENCES matches(number),
    seq INTEGER NOT NULL,
    entry BLOB NOT NULL,
    head TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE papers (
    match INTEGER NOT NULL REFERENCES matches(number),
    path TEXT NOT NULL,
    game INTEGER NOT NULL,
    seat INTEGER,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, path)
) STRICT;
CREATE TABLE submissions (
    match INTEGER NOT NULL REFERENCES matches(number),
    game INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    letter BLOB NOT NULL,
    PRIMARY KEY (match, game, turn, seat)
) STRICT;
