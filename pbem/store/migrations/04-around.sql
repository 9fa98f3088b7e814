CREATE TABLE free_seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    address TEXT COLLATE NOCASE,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX free_seats_for_anybody ON free_seats(match) WHERE address IS NULL;
CREATE INDEX free_seats_kept ON free_seats(address) WHERE address IS NOT NULL;
CREATE TABLE invited (
    address TEXT PRIMARY KEY COLLATE NOCASE,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE silent (
    address TEXT PRIMARY KEY COLLATE NOCASE,
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE observers (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL REFERENCES players(name),
    since TEXT NOT NULL,
    PRIMARY KEY (match, player)
) STRICT, WITHOUT ROWID;
CREATE TABLE standings (
    game TEXT NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    played INTEGER NOT NULL,
    won INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    mean REAL,
    deviation REAL,
    sure REAL,
    PRIMARY KEY (game, player)
) STRICT, WITHOUT ROWID;
CREATE INDEX standings_by_rating ON standings(game, sure DESC, player);
