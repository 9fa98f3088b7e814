ALTER TABLE instructions RENAME TO former_instructions;
CREATE TABLE instructions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL CHECK (what IN ('pause', 'resume', 'end', 'rule', 'restored')),
    match INTEGER,
    tournament INTEGER,
    ruling TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL,
    by TEXT NOT NULL,
    given TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'refused')),
    answer TEXT
) STRICT;
INSERT INTO instructions (id, what, match, reason, by, given, state, answer)
    SELECT id, what, match, reason, by, given, state, answer FROM former_instructions;
DROP TABLE former_instructions;
CREATE INDEX instructions_waiting ON instructions (id) WHERE state = 'waiting';
ALTER TABLE tournaments ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
