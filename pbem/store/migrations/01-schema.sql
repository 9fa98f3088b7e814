-- The tables of a store, in the order of the way of a letter: what came in, who wrote it, the match that it is about,
-- what goes out, and then what nobody's letter causes: time, the log of all heads, tournaments, the operator.

-- Facts about the store as a whole, by name.
CREATE TABLE meta (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The servers at work on this store, how long each counts as alive, and what it does.
CREATE TABLE owners (
    name TEXT PRIMARY KEY, until TEXT NOT NULL, roles TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- 1. What came in.

-- Every letter that was answered with 250, and its outcome.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL UNIQUE,
    sender TEXT NOT NULL, recipients TEXT NOT NULL, network TEXT NOT NULL DEFAULT '',
    size INTEGER NOT NULL, received TEXT NOT NULL, rank INTEGER NOT NULL DEFAULT 0,
    unsettled INTEGER NOT NULL DEFAULT 0, -- how many queries to the DNS it waits for
    counts INTEGER NOT NULL DEFAULT 1, -- 0: it waits for them, and no clock waits for it
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'done', 'aside')),
    attempts INTEGER NOT NULL DEFAULT 0, suspect INTEGER NOT NULL DEFAULT 0, alone INTEGER NOT NULL DEFAULT 0,
    tried TEXT, proved INTEGER NOT NULL DEFAULT 0, outcome TEXT, reference TEXT,
    raw BLOB NOT NULL -- last, because a row is read past its octets
) STRICT;
CREATE INDEX inbox_next ON inbox (rank DESC, id)
    WHERE state = 'waiting' AND attempts = 0 AND suspect = 0 AND unsettled = 0;
CREATE INDEX inbox_elsewhere ON inbox (id) WHERE state = 'waiting' AND attempts = 0 AND suspect = 0 AND rank = 1;
CREATE INDEX inbox_alone ON inbox (attempts, id)
    WHERE state = 'waiting' AND (attempts > 0 OR suspect = 1) AND unsettled = 0;
CREATE INDEX inbox_unheard ON inbox (received) WHERE state IN ('waiting', 'leased') AND counts = 1;
CREATE INDEX inbox_network ON inbox (network, received) WHERE network <> '';
CREATE INDEX inbox_proved ON inbox (sender COLLATE NOCASE, network) WHERE proved = 1;
CREATE INDEX inbox_done ON inbox (state, received) WHERE state = 'done';
CREATE INDEX inbox_aside ON inbox (state, received) WHERE state = 'aside';

-- The queries to the DNS for a letter, and their answers.
CREATE TABLE lookups (
    inbox INTEGER NOT NULL REFERENCES inbox(id) ON DELETE CASCADE,
    name TEXT NOT NULL, tries INTEGER NOT NULL, due TEXT NOT NULL, rank INTEGER NOT NULL,
    settled TEXT, record TEXT,
    PRIMARY KEY (inbox, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookups_due ON lookups (due) WHERE settled IS NULL;
CREATE INDEX lookups_by_rank ON lookups (rank, due, inbox) WHERE settled IS NULL;

-- The letters that were vouched for, by marks of their signatures: copies count for nothing.
CREATE TABLE vouched (
    mark TEXT PRIMARY KEY, time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vouched_by_age ON vouched (time);

-- Counts of the day, such as the letters to a stranger.
CREATE TABLE daily (
    mark TEXT PRIMARY KEY, day TEXT NOT NULL, count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX daily_day ON daily (day);

-- 2. Who wrote it.

-- The players, and the address that each one's letters go to.
CREATE TABLE players (
    name TEXT PRIMARY KEY, address TEXT NOT NULL UNIQUE COLLATE NOCASE, created TEXT NOT NULL
) STRICT;

-- Further addresses of players: those that wait for their challenge, and those that are confirmed.
CREATE TABLE addresses (
    address TEXT NOT NULL COLLATE NOCASE, player TEXT NOT NULL REFERENCES players(name),
    challenge TEXT NOT NULL, created TEXT NOT NULL, confirmed TEXT,
    PRIMARY KEY (address, player)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX addresses_confirmed ON addresses (address) WHERE confirmed IS NOT NULL;
CREATE INDEX addresses_of_a_player ON addresses (player);

-- The keys of players, revoked ones too.
CREATE TABLE keys (
    fingerprint TEXT PRIMARY KEY, player TEXT NOT NULL REFERENCES players(name),
    format TEXT NOT NULL, public TEXT NOT NULL, added TEXT NOT NULL, revoked TEXT
) STRICT;
CREATE INDEX keys_of_a_player ON keys (player);

-- Registrations that wait for their challenge.
CREATE TABLE challenges (
    address TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL,
    format TEXT NOT NULL, fingerprint TEXT NOT NULL, public TEXT NOT NULL,
    challenge TEXT NOT NULL, created TEXT NOT NULL,
    match TEXT, -- of an invitation: its seat is taken with the answer
    PRIMARY KEY (address, name, fingerprint)
) STRICT;
CREATE INDEX challenges_by_age ON challenges (created);

-- Changes of keys that wait for the new key's signature, or (`due`) for a delay to pass.
CREATE TABLE key_changes (
    player TEXT NOT NULL REFERENCES players(name),
    proof TEXT NOT NULL CHECK (proof IN ('old-key', 'recovery-code', 'mailbox')),
    format TEXT NOT NULL, fingerprint TEXT NOT NULL, public TEXT NOT NULL,
    challenge TEXT NOT NULL, asked_by TEXT, letter BLOB NOT NULL,
    created TEXT NOT NULL, due TEXT,
    PRIMARY KEY (player, proof, fingerprint)
) STRICT;
CREATE INDEX key_changes_due ON key_changes (due) WHERE due IS NOT NULL;

-- The hash of each player's recovery code.
CREATE TABLE recovery_codes (
    player TEXT PRIMARY KEY REFERENCES players(name), hash TEXT NOT NULL, created TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The signed texts that had their effect, so that none has it twice.
CREATE TABLE handled (
    player TEXT NOT NULL REFERENCES players(name), signed TEXT NOT NULL, received TEXT NOT NULL,
    effect INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (player, signed)
) STRICT, WITHOUT ROWID;

-- What a player has set, such as a language.
CREATE TABLE settings (
    player TEXT NOT NULL REFERENCES players(name), name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (player, name)
) STRICT, WITHOUT ROWID;

-- The players (`blocked`) whom a player wants to hear nothing of.
CREATE TABLE blocks (
    player TEXT NOT NULL REFERENCES players(name), blocked TEXT NOT NULL, since TEXT NOT NULL,
    PRIMARY KEY (player, blocked)
) STRICT, WITHOUT ROWID;

-- The players whose letters came back, and the first of those letters.
CREATE TABLE unreachable (
    player TEXT PRIMARY KEY REFERENCES players(name), since TEXT NOT NULL, letter INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The addresses of people who were invited, and of people who want no mail.
CREATE TABLE invited (
    address TEXT PRIMARY KEY COLLATE NOCASE, time TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE silent (
    address TEXT PRIMARY KEY COLLATE NOCASE, since TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- 3. The match that it is about.

-- The matches: `due` is when the clock has something to do, `version` counts the changes.
CREATE TABLE matches (
    number INTEGER PRIMARY KEY AUTOINCREMENT, phase TEXT NOT NULL, terms TEXT NOT NULL, head TEXT NOT NULL,
    resolve_at TEXT, clock TEXT, due TEXT,
    version INTEGER NOT NULL DEFAULT 0, created TEXT NOT NULL
) STRICT;
CREATE INDEX matches_due ON matches (due) WHERE due IS NOT NULL;

-- The seats that are taken, and those that wait for anybody or for the person of an address.
CREATE TABLE seats (
    match INTEGER NOT NULL REFERENCES matches(number), seat INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name), accepted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX seats_of_a_player ON seats (player);
CREATE TABLE free_seats (
    match INTEGER NOT NULL REFERENCES matches(number), seat INTEGER NOT NULL,
    address TEXT COLLATE NOCASE,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID;
CREATE INDEX free_seats_for_anybody ON free_seats (match) WHERE address IS NULL;
CREATE INDEX free_seats_kept ON free_seats (address) WHERE address IS NOT NULL;

-- The letters by which players agreed to a match that has not begun.
CREATE TABLE consents (
    match INTEGER NOT NULL REFERENCES matches(number), seat INTEGER NOT NULL,
    sealed BLOB NOT NULL, letter BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;

-- The transcript of each match, with the server's signature of each head.
CREATE TABLE entries (
    match INTEGER NOT NULL REFERENCES matches(number), seq INTEGER NOT NULL, entry BLOB NOT NULL,
    head TEXT NOT NULL, signature BLOB NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;

-- What the transcript names by its hash: letters, setups, orders, records.
CREATE TABLE papers (
    match INTEGER NOT NULL REFERENCES matches(number), path TEXT NOT NULL, game INTEGER NOT NULL,
    seat INTEGER, sealed BLOB NOT NULL,
    PRIMARY KEY (match, path)
) STRICT;

-- What was handed in for a turn (0: the setup), and the letter that it came in.
CREATE TABLE submissions (
    match INTEGER NOT NULL REFERENCES matches(number), game INTEGER NOT NULL,
    turn INTEGER NOT NULL, seat INTEGER NOT NULL, sealed BLOB NOT NULL, letter BLOB NOT NULL,
    PRIMARY KEY (match, game, turn, seat)
) STRICT;

-- What players signed, with its signature, by the hash of its letter: for the other players.
CREATE TABLE signed_texts (
    match INTEGER NOT NULL REFERENCES matches(number), mail TEXT NOT NULL, sealed BLOB NOT NULL,
    PRIMARY KEY (match, mail)
) STRICT;

-- The last note of each seat of a sealed match to itself.
CREATE TABLE notes_to_self (
    match INTEGER NOT NULL REFERENCES matches(number), seat INTEGER NOT NULL,
    game INTEGER NOT NULL, sealed BLOB NOT NULL,
    PRIMARY KEY (match, seat)
) STRICT;

-- Messages to everybody in a match, and when anybody wrote to others in it.
CREATE TABLE press (
    id INTEGER PRIMARY KEY AUTOINCREMENT, match INTEGER NOT NULL REFERENCES matches(number),
    game INTEGER NOT NULL, turn INTEGER NOT NULL,
    player TEXT NOT NULL REFERENCES players(name), time TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX press_of_a_match ON press (match, id);
CREATE TABLE press_times (
    match INTEGER NOT NULL REFERENCES matches(number), player TEXT NOT NULL, time TEXT NOT NULL
) STRICT;
CREATE INDEX press_times_of_a_match ON press_times (match, time);

-- The players who watch a match.
CREATE TABLE observers (
    match INTEGER NOT NULL REFERENCES matches(number),
    player TEXT NOT NULL REFERENCES players(name), since TEXT NOT NULL,
    PRIMARY KEY (match, player)
) STRICT, WITHOUT ROWID;

-- The proposals and free seats that a player is told of no earlier than `due`.
CREATE TABLE unasked (
    player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL REFERENCES matches(number), due TEXT NOT NULL,
    PRIMARY KEY (player, match)
) STRICT, WITHOUT ROWID;
CREATE INDEX unasked_due ON unasked (due);
CREATE INDEX unasked_of_a_match ON unasked (match);

-- Results and ratings, for people and for programs, and how often each player was asked for a turn.
CREATE TABLE standings (
    game TEXT NOT NULL, pool TEXT NOT NULL CHECK (pool IN ('people', 'programs')),
    player TEXT NOT NULL REFERENCES players(name),
    played INTEGER NOT NULL, won INTEGER NOT NULL, drawn INTEGER NOT NULL, abandoned INTEGER NOT NULL,
    mean REAL, deviation REAL, sure REAL,
    PRIMARY KEY (game, pool, player)
) STRICT, WITHOUT ROWID;
CREATE INDEX standings_by_rating ON standings (game, pool, sure DESC, player);
CREATE TABLE turns (
    player TEXT PRIMARY KEY REFERENCES players(name), asked INTEGER NOT NULL, in_time INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 4. What goes out.

-- Single-use reply addresses by the hash of each: to whom it was mailed and what for, and the letter that used it up.
CREATE TABLE reply_tokens (
    hash TEXT PRIMARY KEY, address TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'reply', 'stop', 'write')),
    match INTEGER REFERENCES matches(number), game INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL, used TEXT, letter TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reply_tokens_of_an_address ON reply_tokens (address, created);
CREATE INDEX reply_tokens_by_age ON reply_tokens (created, name);
-- The DKIM signatures of letters that used one up: others may have such a letter, and no copy of it counts.
CREATE TABLE counted (
    mark TEXT PRIMARY KEY, time TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Letters that wait for their player's digest.
CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT, player TEXT NOT NULL REFERENCES players(name),
    match INTEGER NOT NULL, due TEXT NOT NULL, sealed BLOB NOT NULL
) STRICT;
CREATE INDEX held_of_a_player ON held (player, match);
CREATE INDEX held_due ON held (due);

-- Every letter to send, in fixed bytes under a fixed Message-ID; `token` is its return path.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, recipient TEXT NOT NULL, message_id TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL, created TEXT NOT NULL, due TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'leased', 'delivered', 'failed')),
    owner TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0,
    reply TEXT, settled TEXT, told INTEGER NOT NULL DEFAULT 0, raw BLOB NOT NULL,
    UNIQUE (message_id, recipient)
) STRICT;
CREATE INDEX outbox_due ON outbox (due, id) WHERE state = 'waiting';
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 'failed' AND told = 0;
CREATE INDEX outbox_settled ON outbox (settled, state, told)
    WHERE state = 'delivered' OR state = 'failed' AND told = 1;
CREATE INDEX outbox_recipient ON outbox (recipient, id);

-- The sent letters that ask a seat for its turn: the time that one is under way is given back.
CREATE TABLE watched (
    outbox INTEGER NOT NULL REFERENCES outbox(id),
    match INTEGER NOT NULL REFERENCES matches(number), seat INTEGER NOT NULL,
    asked TEXT NOT NULL, late INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (outbox, match, seat)
) STRICT, WITHOUT ROWID;

-- The letters that came back, each with the letter in which that was told.
CREATE TABLE bounces (
    inbox INTEGER PRIMARY KEY REFERENCES inbox(id), outbox INTEGER NOT NULL REFERENCES outbox(id),
    kind TEXT NOT NULL CHECK (kind IN ('permanent', 'temporary', 'unclear')),
    status TEXT NOT NULL, received TEXT NOT NULL
) STRICT;
CREATE INDEX bounces_of_a_letter ON bounces (outbox);

-- The address at which a player is notified beside the mail, and when a text is posted there.
CREATE TABLE notifications (
    player TEXT PRIMARY KEY REFERENCES players(name), sealed BLOB NOT NULL,
    confirmed INTEGER NOT NULL, due TEXT, tries INTEGER NOT NULL, failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 5. What nobody's letter causes.

-- The times in which clocks stood still: vacations of a player, and outages of the server.
CREATE TABLE vacations (
    player TEXT NOT NULL REFERENCES players(name), first TEXT NOT NULL, last TEXT NOT NULL,
    began TEXT NOT NULL, ended TEXT NOT NULL,
    PRIMARY KEY (player, began)
) STRICT, WITHOUT ROWID;
CREATE TABLE outages (
    began TEXT PRIMARY KEY, ended TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX outages_ended ON outages (ended);

-- The log of all heads: those that wait for it, its leaves and nodes, and its checkpoints. A `match` below zero is the
-- tournament of that number.
CREATE TABLE log_queue (
    match INTEGER NOT NULL, seq INTEGER NOT NULL, hurry INTEGER NOT NULL,
    PRIMARY KEY (match, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE log_leaves (
    number INTEGER PRIMARY KEY, match INTEGER NOT NULL, seq INTEGER NOT NULL,
    UNIQUE (match, seq)
) STRICT;
CREATE TABLE log_nodes (
    level INTEGER NOT NULL, number INTEGER NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (level, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY, time TEXT NOT NULL, note TEXT NOT NULL, cosigned INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_cosigned ON checkpoints (size) WHERE cosigned = 1;
CREATE INDEX checkpoints_by_age ON checkpoints (time);

-- What each witness of the log is believed to know, and the request to it.
CREATE TABLE witnesses (
    name TEXT PRIMARY KEY, size INTEGER NOT NULL, wanted INTEGER NOT NULL, asked TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE witness_requests (
    witness TEXT PRIMARY KEY, request TEXT NOT NULL, due TEXT NOT NULL, tries INTEGER NOT NULL,
    status INTEGER, said TEXT
) STRICT, WITHOUT ROWID;

-- The tournaments: `due` is when the clock has something to do, `secret` is for the lot.
CREATE TABLE tournaments (
    number INTEGER PRIMARY KEY AUTOINCREMENT, phase TEXT NOT NULL, head TEXT NOT NULL, secret BLOB NOT NULL,
    due TEXT, paused INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tournaments_due ON tournaments (due) WHERE due IS NOT NULL;

-- The transcript of each tournament, and what it names by its hash.
CREATE TABLE tournament_entries (
    tournament INTEGER NOT NULL REFERENCES tournaments(number), seq INTEGER NOT NULL,
    entry BLOB NOT NULL, head TEXT NOT NULL, signature BLOB NOT NULL,
    PRIMARY KEY (tournament, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE tournament_papers (
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    path TEXT NOT NULL, mail TEXT, signer TEXT, received TEXT, sealed BLOB NOT NULL,
    PRIMARY KEY (tournament, path)
) STRICT;
CREATE INDEX letters_of_a_tournament ON tournament_papers (tournament, mail) WHERE mail IS NOT NULL;

-- Who takes part in a tournament, and the changes of their keys since they entered.
CREATE TABLE tournament_players (
    tournament INTEGER NOT NULL REFERENCES tournaments(number),
    player TEXT NOT NULL REFERENCES players(name),
    PRIMARY KEY (tournament, player)
) STRICT, WITHOUT ROWID;
CREATE INDEX tournaments_of_a_player ON tournament_players (player);
CREATE TABLE tournament_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tournament INTEGER NOT NULL REFERENCES tournaments(number),
    player TEXT NOT NULL REFERENCES players(name), sealed BLOB NOT NULL
) STRICT;
CREATE INDEX keys_in_a_tournament ON tournament_keys (tournament, player);

-- The matches of a tournament that are to begin, and the letters about it that are to be written.
CREATE TABLE tournament_tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tournament INTEGER NOT NULL REFERENCES tournaments(number),
    match TEXT, player TEXT REFERENCES players(name), since INTEGER
) STRICT;
CREATE INDEX tasks_of_a_tournament ON tournament_tasks (tournament);

-- The operator's instructions to the desk, and what became of them.
CREATE TABLE instructions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL CHECK (what IN ('pause', 'resume', 'end', 'rule', 'restored')),
    about TEXT NOT NULL, ruling TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL, by TEXT NOT NULL, given TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'refused')), answer TEXT
) STRICT;
CREATE INDEX instructions_waiting ON instructions (id) WHERE state = 'waiting';
