DROP INDEX inbox_leased;
ALTER TABLE inbox DROP COLUMN owner;
ALTER TABLE inbox DROP COLUMN match;
