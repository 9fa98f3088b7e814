CREATE TABLE waiting_challenges (
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (address, name, fingerprint)
) STRICT;
INSERT INTO waiting_challenges SELECT * FROM challenges;
DROP TABLE challenges;
ALTER TABLE waiting_challenges RENAME TO challenges;
CREATE INDEX challenges_by_age ON challenges(created);
