CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL,
    due TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
CREATE INDEX held_of_a_player ON held(player, match);
CREATE INDEX held_due ON held(due);
