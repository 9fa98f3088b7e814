"""The running server: its daemon, the sandbox, and the supervision of both. No logic of a game."""
