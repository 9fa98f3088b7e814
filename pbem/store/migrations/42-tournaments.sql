CREATE TABLE tournaments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    phase TEXT NOT NULL,
    head TEXT NOT NULL,
    due TEXT,
    secret BLOB NOT NULL
) STRICT;
CREATE INDEX tournaments_due ON tournaments (due) WHERE due IS NOT NULL;
CREATE TABLE tournament_entries (
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    seq INTEGER NOT NULL,
    entry BLOB NOT NULL,
    head TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (tournament, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE tournament_papers (
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    path TEXT NOT NULL,
    mail TEXT,
    signer TEXT,
    received TEXT,
    sealed BLOB NOT NULL,
    PRIMARY KEY (tournament, path)
) STRICT;
CREATE INDEX letters_of_a_tournament ON tournament_papers (tournament, mail) WHERE mail IS NOT NULL;
CREATE TABLE tournament_players (
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    player TEXT NOT NULL REFERENCES players(name),
    PRIMARY KEY (tournament, player)
) STRICT, WITHOUT ROWID;
CREATE INDEX tournaments_of_a_player ON tournament_players (player);
CREATE TABLE tournament_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    player TEXT NOT NULL REFERENCES players(name),
    sealed BLOB NOT NULL
) STRICT;
CREATE INDEX keys_in_a_tournament ON tournament_keys (tournament, player);
CREATE TABLE tournament_tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    match TEXT,
    player TEXT REFERENCES players(name),
    since INTEGER
) STRICT;
CREATE INDEX tasks_of_a_tournament ON tournament_tasks (tournament);
