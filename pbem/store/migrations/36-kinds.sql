DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, familiar, round, id) WHERE state = 'waiting';
