DROP TABLE snapshot_turns;
DROP TABLE snapshots;
