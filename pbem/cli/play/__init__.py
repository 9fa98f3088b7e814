"""`pbem play`: a player's matches in the terminal; one command a turn.

Only options, questions and printing: `pbem.player.play_table` does what is asked for, and has typed results. Each run
first fetches letters, sends those that are ready, and reports both. Implements docs/playing.md.
"""
