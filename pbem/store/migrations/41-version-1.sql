-- Matches begun without the letters by which their players agreed, as `bundle 1`, are not replayed any more.
UPDATE matches SET phase = 'closed', resolve_at = NULL, clock = NULL, due = NULL
WHERE phase IN ('setup', 'playing')
AND (SELECT count(*) FROM consents WHERE match = number) < (SELECT count(*) FROM seats WHERE match = number);
