ALTER TABLE inbox ADD COLUMN network TEXT NOT NULL DEFAULT '';
DROP INDEX inbox_sender;
CREATE INDEX inbox_network ON inbox (network, received) WHERE network <> '';
