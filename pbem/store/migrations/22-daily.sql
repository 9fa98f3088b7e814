CREATE TABLE daily (
    mark TEXT PRIMARY KEY,
    day TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX daily_day ON daily (day);
DELETE FROM meta WHERE value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9]*' AND length(value) < 20;
