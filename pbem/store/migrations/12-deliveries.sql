CREATE TABLE watched (
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    asked TEXT NOT NULL,
    late INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (outbox, match, seat)
) STRICT, WITHOUT ROWID;
