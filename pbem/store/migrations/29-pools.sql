CREATE TABLE pooled_standings (
    game TEXT NOT NULL,
    pool TEXT NOT NULL CHECK (pool IN ('people', 'programs')),
    player TEXT NOT NULL REFERENCES players(name),
    played INTEGER NOT NULL,
    won INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    mean REAL,
    deviation REAL,
    sure REAL,
    PRIMARY KEY (game, pool, player)
) STRICT, WITHOUT ROWID;
INSERT INTO pooled_standings
    SELECT game, 'people', player, played, won, drawn, abandoned, mean, deviation, sure FROM standings;
DROP TABLE standings;
ALTER TABLE pooled_standings RENAME TO standings;
CREATE INDEX standings_by_rating ON standings(game, pool, sure DESC, player);
