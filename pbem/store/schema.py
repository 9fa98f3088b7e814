"""The numbered migrations of the store, as SQL scripts: script n brings a store from version n-1 to n.

Only SQL lives here, in SQLite's dialect; `pbem.store.postgresql` translates a few words of it. A released
script never changes; a change of tables is a new script at the end. One that makes a table anew that numbers its rows
keeps their highest number: a store that has a lower one counts as older (`high_water`). An empty script stands for
versions of a store that are not upgraded. Columns named `address` are COLLATE NOCASE. The version of a store stands
in its `PRAGMA user_version`, or in the table `store` of PostgreSQL.
Implements design.md, "Layout", room `store`.
"""

from __future__ import annotations

__all__ = ["MIGRATIONS", "OLDEST"]

OLDEST = 26
"""The version of the oldest stores that are upgraded: those of 0.6.0. Before, no version of the software was told
apart from another."""

MIGRATIONS: tuple[str, ...] = (
    *("",) * (OLDEST - 1),
    # All that 0.6.0 had.
    """
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
    reference TEXT,
    network TEXT NOT NULL DEFAULT '',
    suspect INTEGER NOT NULL DEFAULT 0,
    tried TEXT,
    alone INTEGER NOT NULL DEFAULT 0,
    round INTEGER
) STRICT;
CREATE INDEX inbox_unheard ON inbox (received) WHERE state IN ('waiting', 'leased');
CREATE INDEX inbox_network ON inbox (network, received) WHERE network <> '';
CREATE INDEX inbox_done ON inbox (state, received) WHERE state = 'done';
CREATE INDEX inbox_aside ON inbox (state, received) WHERE state = 'aside';
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, round, id) WHERE state = 'waiting';
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, round) WHERE round >= 0 AND state IN ('waiting', 'leased');
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
    token TEXT,
    UNIQUE (message_id, recipient)
) STRICT;
CREATE INDEX outbox_due ON outbox (due, id) WHERE state = 'waiting';
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed' AND told = 0;
CREATE UNIQUE INDEX outbox_token ON outbox (token);
CREATE INDEX outbox_settled ON outbox (settled, state, told)
    WHERE state = 'delivered' OR state = 'failed' AND told = 1;
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
    added TEXT NOT NULL,
    revoked TEXT
) STRICT;
CREATE INDEX keys_of_a_player ON keys(player);
CREATE TABLE handled (
    player TEXT NOT NULL REFERENCES players(name),
    signed TEXT NOT NULL,
    received TEXT NOT NULL,
    effect INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (player, signed)
) STRICT, WITHOUT ROWID;
CREATE TABLE matches (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    phase TEXT NOT NULL,
    terms TEXT NOT NULL,
    head TEXT NOT NULL,
    resolve_at TEXT,
    created TEXT NOT NULL,
    clock TEXT,
    due TEXT
) STRICT;
CREATE INDEX matches_due ON matches(due) WHERE due IS NOT NULL;
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
CREATE TABLE settings (
    player TEXT NOT NULL REFERENCES players(name),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (player, name)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE watched (
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    asked TEXT NOT NULL,
    late INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (outbox, match, seat)
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (
    player TEXT PRIMARY KEY REFERENCES players(name),
    asked INTEGER NOT NULL,
    in_time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE press_times (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL,
    time TEXT NOT NULL
) STRICT;
CREATE INDEX press_times_of_a_match ON press_times(match, time);
CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL,
    due TEXT NOT NULL,
    sealed BLOB NOT NULL
) STRICT;
CREATE INDEX held_of_a_player ON held(player, match);
CREATE INDEX held_due ON held(due);
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
CREATE TABLE seats (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name),
    accepted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_of_a_player ON seats(player);
CREATE TABLE reply_tokens (
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
CREATE INDEX reply_tokens_of_an_address ON reply_tokens(address, created);
CREATE INDEX reply_tokens_by_age ON reply_tokens (created, name);
CREATE TABLE challenges (
    address TEXT NOT NULL COLLATE NOCASE,
    name TEXT NOT NULL,
    format TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    public TEXT NOT NULL,
    challenge TEXT NOT NULL,
    created TEXT NOT NULL,
    PRIMARY KEY (address, name, fingerprint)
) STRICT;
CREATE INDEX challenges_by_age ON challenges(created);
CREATE TABLE consents (
    match INTEGER NOT NULL REFERENCES matches(number),
    seat INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    letter BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;
CREATE TABLE daily (
    mark TEXT PRIMARY KEY,
    day TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX daily_day ON daily (day);
CREATE TABLE vouched (
    mark TEXT PRIMARY KEY,
    time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vouched_by_age ON vouched (time);
""",
    # Which desk works on which letter: there were several.
    """
ALTER TABLE matches ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN match TEXT NOT NULL DEFAULT '';
CREATE INDEX inbox_leased ON inbox (state, sender COLLATE NOCASE) WHERE state = 'leased';
""",
    # Servers that share a store.
    """
ALTER TABLE outbox ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE TABLE owners (
    name TEXT PRIMARY KEY,
    until TEXT NOT NULL
) STRICT, WITHOUT ROWID;
""",
    # Standings of people, and of programs.
    """
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
""",
    # The transparency log, and its witnesses.
    """
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
""",
    # What players of sealed matches need of each other, and of themselves.
    """
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
""",
    # Roles of servers.
    "ALTER TABLE owners ADD COLUMN roles TEXT NOT NULL DEFAULT '';",
    # Witnesses by HTTP.
    """
CREATE TABLE witness_requests (
    witness TEXT PRIMARY KEY,
    request TEXT NOT NULL,
    due TEXT NOT NULL,
    tries INTEGER NOT NULL,
    status INTEGER,
    said TEXT
) STRICT, WITHOUT ROWID;
""",
    # From where players wrote before.
    """
ALTER TABLE inbox ADD COLUMN familiar INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN proved INTEGER NOT NULL DEFAULT 0;
DROP INDEX inbox_rounds;
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, familiar, round)
    WHERE round >= 0 AND state IN ('waiting', 'leased');
CREATE INDEX inbox_proved ON inbox (sender COLLATE NOCASE, network) WHERE proved = 1;
""",
    # Whether a letter that waits for the DNS may have an effect.
    "ALTER TABLE lookups ADD COLUMN counts INTEGER NOT NULL DEFAULT 1;",
    """
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, familiar, round, id) WHERE state = 'waiting';
""",
    "CREATE INDEX outbox_recipient ON outbox (recipient, id);",
    """
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
""",
    # One server decides: no letter has an owner.
    """
DROP INDEX inbox_leased;
ALTER TABLE inbox DROP COLUMN owner;
ALTER TABLE inbox DROP COLUMN match;
""",
    # Snapshots are not read any more.
    """
DROP TABLE snapshot_turns;
DROP TABLE snapshots;
""",
    # Matches begun without the letters by which their players agreed, as `bundle 1`, are not replayed any more.
    """
UPDATE matches SET phase = 'closed', resolve_at = NULL, clock = NULL, due = NULL
WHERE phase IN ('setup', 'playing')
AND (SELECT count(*) FROM consents WHERE match = number) < (SELECT count(*) FROM seats WHERE match = number);
""",
)
"""The scripts in their order."""
