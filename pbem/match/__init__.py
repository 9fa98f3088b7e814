"""The game-blind life of a match: agreement, setups, turns, commitments, transcript, record, verification.

Sans-IO: a state and an event go in, a state and decisions come out. Time, randomness and keys are handed in;
no sockets, no database, no templates. Implements protocol.md, "A match", "Commitments" and "Transcript".
"""
