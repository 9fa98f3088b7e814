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
