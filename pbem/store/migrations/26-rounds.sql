ALTER TABLE inbox ADD COLUMN round INTEGER;
DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, round, id) WHERE state = 'waiting';
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, round) WHERE round >= 0 AND state IN ('waiting', 'leased');
