CREATE TABLE snapshots (
    match INTEGER PRIMARY KEY REFERENCES matches(number),
    head TEXT NOT NULL,
    code TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
CREATE TABLE snapshot_turns (
    match INTEGER NOT NULL REFERENCES matches(number),
    first INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, first)
) STRICT;
