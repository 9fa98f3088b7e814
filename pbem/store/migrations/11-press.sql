CREATE TABLE press (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    match INTEGER NOT NULL REFERENCES matches(number),
    game INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    time TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX press_of_a_match ON press(match, id);
