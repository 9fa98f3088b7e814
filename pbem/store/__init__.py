"""The store: durable state in a database, secrets sealed."""
