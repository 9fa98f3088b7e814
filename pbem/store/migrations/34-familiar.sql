ALTER TABLE inbox ADD COLUMN familiar INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN proved INTEGER NOT NULL DEFAULT 0;
DROP INDEX inbox_rounds;
CREATE INDEX inbox_rounds ON inbox (sender COLLATE NOCASE, familiar, round)
    WHERE round >= 0 AND state IN ('waiting', 'leased');
CREATE INDEX inbox_proved ON inbox (sender COLLATE NOCASE, network) WHERE proved = 1;
