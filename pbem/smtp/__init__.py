"""The sockets: letters come in, and go out; bytes and envelopes alone. No match, no game."""
