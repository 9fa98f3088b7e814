"""The sockets: letters come in, and go out; only bytes and envelopes. No match, no game."""
