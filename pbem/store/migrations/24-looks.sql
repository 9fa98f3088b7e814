DROP INDEX inbox_waiting;
CREATE INDEX inbox_waiting ON inbox (state, attempts, suspect, id) WHERE state = 'waiting';
CREATE INDEX inbox_done ON inbox (state, received) WHERE state = 'done';
CREATE INDEX outbox_settled ON outbox (settled, state, told)
    WHERE state = 'delivered' OR state = 'failed' AND told = 1;
CREATE INDEX reply_tokens_by_age ON reply_tokens (created, name);
