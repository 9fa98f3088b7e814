CREATE INDEX inbox_unheard ON inbox (received) WHERE state IN ('waiting', 'leased');
ALTER TABLE handled ADD COLUMN effect INTEGER NOT NULL DEFAULT 1;
CREATE TABLE consents (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    letter BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;
