CREATE TABLE notes_to_self (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    game INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;
CREATE TABLE signed_texts (
    match INTEGER NOT NULL REFERENCES matches(number),
    mail TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, mail)
) STRICT;
