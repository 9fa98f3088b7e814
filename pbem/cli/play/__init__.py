"""`pbem play`: a player's matches in the terminal; one command a turn.

Thin: `pbem.player` decides which letters are believed, the games have the rules, and boards and events are those of
the letters. Each run first fetches letters, sends those that are ready, and reports both. Implements docs/playing.md.
"""
