"""The running server: its daemon, the sandbox, what watches over both. No logic of a game."""
