CREATE TABLE blocks (
    player TEXT NOT NULL REFERENCES players(name),
    blocked TEXT NOT NULL,
    since TEXT NOT NULL,
    PRIMARY KEY (player, blocked)
) STRICT, WITHOUT ROWID;
CREATE TABLE unasked (
    player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL REFERENCES matches(number),
    due TEXT NOT NULL,
    PRIMARY KEY (player, match)
) STRICT, WITHOUT ROWID;
CREATE INDEX unasked_due ON unasked(due);
CREATE INDEX unasked_of_a_match ON unasked(match);
