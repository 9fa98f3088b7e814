CREATE TABLE settings (
    player TEXT NOT NULL REFERENCES players(name),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (player, name)
) STRICT, WITHOUT ROWID;
