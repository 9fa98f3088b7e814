CREATE INDEX outbox_recipient ON outbox (recipient, id);
