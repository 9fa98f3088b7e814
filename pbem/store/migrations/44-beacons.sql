CREATE TABLE beacons (
    tournament INTEGER PRIMARY KEY REFERENCES tournaments(number),
    round INTEGER NOT NULL,
    due TEXT NOT NULL,
    tries INTEGER NOT NULL,
    signature TEXT
) STRICT;
