"""The desk: the one place where a stored letter takes effect.

A letter passes through each module once: `working` is asked for the next one; `inbox` leases letters and gives them
their effect in one transaction, made by `decisions`; `sorting` handles letters that no person wrote; `authenticate`
says who wrote and by which right; `dispatch` has each command obeyed by its function in `commands`; `answer_letter`
reports the outcomes. `clock` does what is due without a letter; `wiring` holds what all of them need. Nothing here
waits on the network. Implements design.md, "The way of a letter".

Nothing is imported here: the server's sandbox needs only `reading`, and starts in half the time without the desk.
"""
