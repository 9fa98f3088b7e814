"""The numbered migrations of the store, as SQL scripts: script n brings a store from version n-1 to n.

Only SQL lives here, in SQLite's dialect; `pbem.store.postgresql` translates a few words of it. A released
script never changes; a change of tables is a new script at the end. One that makes a table anew that numbers its rows
keeps their highest number: a store that has a lower one counts as older (`high_water`). Columns named `address` are
COLLATE NOCASE. The version of a store stands in its `PRAGMA user_version`, or in the table `store` of PostgreSQL.
Implements design.md, "Layout", room `store`.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS"]

POST_OFFICE = """
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    sender TEXT NOT NULL,
    recipients TEXT NOT NULL,
    size INTEGER NOT NULL,
    raw BLOB NOT NULL,
    received TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'done', 'aside')),
    attempts INTEGER NOT NULL DEFAULT 0,
    outcome TEXT,
    reference TEXT
) STRICT;
CREATE INDEX inbox_waiting ON inbox (attempts, id) WHERE state = 'waiting';
CREATE INDEX inbox_sender ON inbox (sender, received);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    recipient TEXT NOT NULL,
    message_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    size INTEGER NOT NULL,
    raw BLOB NOT NULL,
    created TEXT NOT NULL,
    due TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'delivered', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    reply TEXT,
    settled TEXT,
    told INTEGER NOT NULL DEFAULT 0,
    UNIQUE (message_id, recipient)
) STRICT;
CREATE INDEX outbox_due ON outbox (due, id) WHERE state = 'waiting';
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed' AND told = 0;
"""

PEOPLE = """
CREATE TABLE players (
    name TEXT PRIMARY KEY,
    address TEXT NOT NULL UNIQUE COLLATE NOCASE,
    created TEXT NOT NULL
) STRICT;
CREATE TABLE keys (
    fingerprint TEXT PRIMARY KEY,
    player TEXT NOT NULL REFERENCES players(name),
    format TEXT NOT NULL,
    public TEXT NOT NULL,
    added TEXT NOT NULL
) STRICT;
CREATE INDEX keys_of_a_player ON keys(player);
CREATE TABLE challenges (
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (address, fingerprint)
) STRICT;
CREATE TABLE handled (
    player TEXT NOT NULL REFERENCES players(name),
    signed TEXT NOT NULL,
    received TEXT NOT NULL,
    PRIMARY KEY (player, signed)
) STRICT, WITHOUT ROWID;
"""

MATCHES = """
CREATE TABLE matches (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    phase TEXT NOT NULL,
    terms TEXT NOT NULL,
    head TEXT NOT NULL,
    resolve_at TEXT,
    created TEXT NOT NULL
) STRICT;
CREATE INDEX matches_to_resolve ON matches(resolve_at) WHERE resolve_at IS NOT NULL;
CREATE TABLE seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    token TEXT NOT NULL UNIQUE,
    accepted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_of_a_player ON seats(player);
CREATE TABLE entries (
    match INTEGER NOT NULL REFERENCES matches(number),
    seq INTEGER NOT NULL,
    entry BLOB NOT NULL,
    head TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE papers (
    match INTEGER NOT NULL REFERENCES matches(number),
    path TEXT NOT NULL,
    game INTEGER NOT NULL,
    seat INTEGER,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, path)
) STRICT;
CREATE TABLE submissions (
    match INTEGER NOT NULL REFERENCES matches(number),
    game INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    seat INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    letter BLOB NOT NULL,
    PRIMARY KEY (match, game, turn, seat)
) STRICT;
"""

AROUND = """
CREATE TABLE free_seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    address TEXT COLLATE NOCASE,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX free_seats_for_anybody ON free_seats(match) WHERE address IS NULL;
CREATE INDEX free_seats_kept ON free_seats(address) WHERE address IS NOT NULL;
CREATE TABLE invited (
    address TEXT PRIMARY KEY COLLATE NOCASE,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE silent (
    address TEXT PRIMARY KEY COLLATE NOCASE,
    since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE observers (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL REFERENCES players(name),
    since TEXT NOT NULL,
    PRIMARY KEY (match, player)
) STRICT, WITHOUT ROWID;
CREATE TABLE standings (
    game TEXT NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    played INTEGER NOT NULL,
    won INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    mean REAL,
    deviation REAL,
    sure REAL,
    PRIMARY KEY (game, player)
) STRICT, WITHOUT ROWID;
CREATE INDEX standings_by_rating ON standings(game, sure DESC, player);
"""

RETURNS = """
ALTER TABLE outbox ADD COLUMN token TEXT;
UPDATE outbox SET token = lower(hex(randomblob(10)));
CREATE UNIQUE INDEX outbox_token ON outbox (token);
CREATE TABLE bounces (
    inbox INTEGER PRIMARY KEY REFERENCES inbox(id),
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    kind TEXT NOT NULL CHECK (kind IN ('permanent', 'temporary', 'unclear')),
    status TEXT NOT NULL,
    received TEXT NOT NULL
) STRICT;
CREATE INDEX bounces_of_a_letter ON bounces (outbox);
CREATE TABLE unreachable (
    player TEXT PRIMARY KEY REFERENCES players(name),
    since TEXT NOT NULL,
    letter INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

OPERATOR = """
CREATE TABLE instructions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL CHECK (what IN ('pause', 'resume', 'end', 'restored')),
    match INTEGER,
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    given TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'refused')),
    answer TEXT
) STRICT;
CREATE INDEX instructions_waiting ON instructions (id) WHERE state = 'waiting';
"""

SETTINGS = """
CREATE TABLE settings (
    player TEXT NOT NULL REFERENCES players(name),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (player, name)
) STRICT, WITHOUT ROWID;
"""

MAILBOXES = """
CREATE TABLE reply_tokens (
    hash TEXT PRIMARY KEY,
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'reply')),
    match INTEGER REFERENCES matches(number),
    game INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    used TEXT,
    letter TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reply_tokens_of_an_address ON reply_tokens(address, created);
CREATE TABLE lookups (
    inbox INTEGER NOT NULL REFERENCES inbox(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due TEXT NOT NULL,
    settled TEXT,
    record TEXT,
    PRIMARY KEY (inbox, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookups_due ON lookups(due) WHERE settled IS NULL;
"""

KEYS = """
ALTER TABLE keys ADD COLUMN revoked TEXT;
CREATE TABLE addresses (
    address TEXT NOT NULL COLLATE NOCASE,
    player TEXT NOT NULL REFERENCES players(name),
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    confirmed TEXT,
    PRIMARY KEY (address, player)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX addresses_confirmed ON addresses(address) WHERE confirmed IS NOT NULL;
CREATE INDEX addresses_of_a_player ON addresses(player);
CREATE TABLE recovery_codes (
    player TEXT PRIMARY KEY REFERENCES players(name),
    hash TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE key_changes (
    player TEXT NOT NULL REFERENCES players(name),
    proof TEXT NOT NULL CHECK (proof IN ('old-key', 'recovery-code', 'mailbox')),
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    asked_by TEXT,
    letter BLOB NOT NULL,
    created TEXT NOT NULL,
    due TEXT,
    PRIMARY KEY (player, proof, fingerprint)
) STRICT;
CREATE INDEX key_changes_due ON key_changes(due) WHERE due IS NOT NULL;
"""

CLOCK = """
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
"""

PRESS = """
CREATE TABLE press (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    match INTEGER NOT NULL REFERENCES matches(number),
    game INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    time TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX press_of_a_match ON press(match, id);
"""

DELIVERIES = """
CREATE TABLE watched (
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    asked TEXT NOT NULL,
    late INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (outbox, match, seat)
) STRICT, WITHOUT ROWID;
"""

PRESS_TIMES = """
CREATE TABLE press_times (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT;
CREATE INDEX press_times_of_a_match ON press_times(match, time);
"""

RELIABILITY = """
CREATE TABLE turns (
    player TEXT PRIMARY KEY REFERENCES players(name),
    asked INTEGER NOT NULL,
    in_time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

DIGESTS = """
CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL,
    due TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
CREATE INDEX held_of_a_player ON held(player, match);
CREATE INDEX held_due ON held(due);
"""

SNAPSHOTS = """
CREATE TABLE snapshots (
    match INTEGER PRIMARY KEY REFERENCES matches(number),
    head TEXT NOT NULL,
    code TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
CREATE TABLE snapshot_turns (
    match INTEGER NOT NULL REFERENCES matches(number),
    first INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (match, first)
) STRICT;
"""

SEATS = """
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
"""

PURPOSES = """
CREATE TABLE mailed_tokens (
    hash TEXT PRIMARY KEY,
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'reply', 'stop', 'write')),
    match INTEGER REFERENCES matches(number),
    game INTEGER NOT NULL DEFAULT 0,
    turn INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    used TEXT,
    letter TEXT
) STRICT, WITHOUT ROWID;
INSERT INTO mailed_tokens SELECT * FROM reply_tokens;
DROP TABLE reply_tokens;
ALTER TABLE mailed_tokens RENAME TO reply_tokens;
CREATE INDEX reply_tokens_of_an_address ON reply_tokens(address, created);
"""

REGISTRATIONS = """
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
"""

CONSENTS = """
CREATE INDEX inbox_unheard ON inbox (received) WHERE state IN ('waiting', 'leased');
ALTER TABLE handled ADD COLUMN effect INTEGER NOT NULL DEFAULT 1;
CREATE TABLE consents (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    letter BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;
"""

NETWORKS = """
ALTER TABLE inbox ADD COLUMN network TEXT NOT NULL DEFAULT '';
DROP INDEX inbox_sender;
CREATE INDEX inbox_network ON inbox (network, received) WHERE network <> '';
"""

DAILY = """
CREATE TABLE daily (
    mark TEXT PRIMARY KEY,
    day TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX daily_day ON daily (day);
DELETE FROM meta WHERE value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9] [0-9]*' AND length(value) < 20;
"""

DEATHS = """
ALTER TABLE inbox ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN tried TEXT;
ALTER TABLE inbox ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;
"""

LOOKS = """
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, id) WHERE state = 'waiting';
CREATE INDEX inbox_done ON inbox (state, received) WHERE state = 'done';
CREATE INDEX outbox_settled ON outbox (settled, state, told)
    WHERE state = 'delivered' OR state = 'failed' AND told = 1;
CREATE INDEX reply_tokens_by_age ON reply_tokens (created, name);
"""

VOUCHED = """
CREATE TABLE vouched (
    mark TEXT PRIMARY KEY,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vouched_by_age ON vouched (time);
CREATE INDEX inbox_aside ON inbox (state, received) WHERE state = 'aside';
"""

ROUNDS = """
ALTER TABLE inbox ADD COLUMN round INTEGER;
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, round, id) WHERE state = 'waiting';
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, round) WHERE round >= 0 AND state IN ('waiting', 'leased');
"""

DESKS = """
ALTER TABLE matches ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN match TEXT NOT NULL DEFAULT '';
CREATE INDEX inbox_leased ON inbox (state, sender COLLATE NOCASE) WHERE state = 'leased';
"""

OWNERS = """
ALTER TABLE outbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE TABLE owners (
    name TEXT PRIMARY KEY,
    until TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

POOLS = """
CREATE TABLE pooled_standings (
    game TEXT NOT NULL,
    pool TEXT NOT NULL CHECK (pool IN ('people', 'programs')),
    player TEXT NOT NULL REFERENCES players(name),
    played INTEGER NOT NULL,
    won INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    mean REAL,
    deviation REAL,
    sure REAL,
    PRIMARY KEY (game, pool, player)
) STRICT, WITHOUT ROWID;
INSERT INTO pooled_standings
    SELECT game, 'people', player, played, won, drawn, abandoned, mean, deviation, sure FROM standings;
DROP TABLE standings;
ALTER TABLE pooled_standings RENAME TO standings;
CREATE INDEX standings_by_rating ON standings(game, pool, sure DESC, player);
"""

TLOG = """
CREATE TABLE log_queue (
    match INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hurry INTEGER NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE log_leaves (
    number INTEGER PRIMARY KEY,
    match INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE (match, seq)
) STRICT;
CREATE TABLE log_nodes (
    level INTEGER NOT NULL,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    note TEXT NOT NULL,
    cosigned INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_cosigned ON checkpoints (size) WHERE cosigned = 1;
CREATE INDEX checkpoints_by_age ON checkpoints (time);
CREATE TABLE witnesses (
    name TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    asked TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE cosigned_notes (
    origin TEXT PRIMARY KEY,
    note TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

SEALED = """
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
"""

ROLES = """
ALTER TABLE owners ADD COLUMN roles TEXT NOT NULL DEFAULT '';
"""

WITNESS_REQUESTS = """
CREATE TABLE witness_requests (
    witness TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    due TEXT NOT NULL,
    tries INTEGER NOT NULL,
    status INTEGER,
    said TEXT
) STRICT, WITHOUT ROWID;
"""

FAMILIAR = """
ALTER TABLE inbox ADD COLUMN familiar INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN proved INTEGER NOT NULL DEFAULT 0;
DROP INDEX inbox_rounds;
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, familiar, round)
    WHERE round >= 0 AND state IN ('waiting', 'leased');
CREATE INDEX inbox_proved ON inbox (sender COLLATE NOCASE, network) WHERE proved = 1;
"""

EFFECTS = """
ALTER TABLE lookups ADD COLUMN counts INTEGER NOT NULL DEFAULT 1;
"""

KINDS = """
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, familiar, round, id) WHERE state = 'waiting';
"""

BLOCKS = """
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
"""

RECIPIENTS = """
CREATE INDEX outbox_recipient ON outbox (recipient, id);
"""

ONE_DECIDER = """
DROP INDEX inbox_leased;
ALTER TABLE inbox DROP COLUMN owner;
ALTER TABLE inbox DROP COLUMN match;
"""

NO_SNAPSHOTS = """
DROP TABLE snapshot_turns;
DROP TABLE snapshots;
"""

VERSION_1 = """
UPDATE matches SET phase = 'closed', resolve_at = NULL, clock = NULL, due = NULL
WHERE phase IN ('setup', 'playing')
AND (SELECT count(*) FROM consents WHERE match = number) < (SELECT count(*) FROM seats WHERE match = number);
"""
"""Matches begun without the letters by which their players agreed, as `bundle 1`, are not replayed any more."""

MIGRATIONS: tuple[str, ...] = (
    POST_OFFICE,
    PEOPLE,
    MATCHES,
    AROUND,
    RETURNS,
    OPERATOR,
    SETTINGS,
    MAILBOXES,
    KEYS,
    CLOCK,
    PRESS,
    DELIVERIES,
    RELIABILITY,
    PRESS_TIMES,
    DIGESTS,
    SNAPSHOTS,
    SEATS,
    PURPOSES,
    REGISTRATIONS,
    CONSENTS,
    NETWORKS,
    DAILY,
    DEATHS,
    LOOKS,
    VOUCHED,
    ROUNDS,
    DESKS,
    OWNERS,
    POOLS,
    TLOG,
    SEALED,
    ROLES,
    WITNESS_REQUESTS,
    FAMILIAR,
    EFFECTS,
    KINDS,
    RECIPIENTS,
    BLOCKS,
    ONE_DECIDER,
    NO_SNAPSHOTS,
    VERSION_1,
)
"""The scripts in their order."""
