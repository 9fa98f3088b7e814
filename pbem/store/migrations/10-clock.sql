ALTER TABLE matches ADD COLUMN clock TEXT;
ALTER TABLE matches ADD COLUMN due TEXT;
UPDATE matches SET due = resolve_at;
DROP INDEX matches_to_resolve;
CREATE INDEX matches_due ON matches(due) WHERE due IS NOT NULL;
CREATE TABLE vacations (
    player TEXT NOT NULL REFERENCES players(name),
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    began TEXT NOT NULL,
    ended TEXT NOT NULL,
    PRIMARY KEY (player, began)
) STRICT, WITHOUT ROWID;
CREATE TABLE outages (
    began TEXT PRIMARY KEY,
    ended TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX outages_ended ON outages(ended);
