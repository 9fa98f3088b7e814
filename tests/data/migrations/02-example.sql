-- An example of a later script, which a test runs: a column more, and a table that is made anew, with its numbers.
ALTER TABLE players ADD COLUMN motto TEXT NOT NULL DEFAULT '';

-- Instructions say how urgent they are.
ALTER TABLE instructions RENAME TO former_instructions;
CREATE TABLE instructions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    what TEXT NOT NULL CHECK (what IN ('pause', 'resume', 'end', 'rule', 'restored', 'hurry')),
    about TEXT NOT NULL, ruling TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL, by TEXT NOT NULL, given TEXT NOT NULL, urgent INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'done', 'refused')), answer TEXT
) STRICT;
INSERT INTO instructions (id, what, about, ruling, reason, by, given, state, answer)
    SELECT id, what, about, ruling, reason, by, given, state, answer FROM former_instructions;
DROP TABLE former_instructions;
CREATE INDEX instructions_waiting ON instructions (id) WHERE state = 'waiting';
