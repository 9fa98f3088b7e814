CREATE TABLE vouched (
    mark TEXT PRIMARY KEY,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vouched_by_age ON vouched (time);
CREATE INDEX inbox_aside ON inbox (state, received) WHERE state = 'aside';
