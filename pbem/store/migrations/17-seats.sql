CREATE TABLE taken_seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    accepted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
INSERT INTO taken_seats SELECT match, seat, player, accepted FROM seats;
DROP TABLE seats;
ALTER TABLE taken_seats RENAME TO seats;
CREATE INDEX seats_of_a_player ON seats(player);
