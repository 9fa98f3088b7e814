"""The desk: the one place where a stored letter becomes effect.

A letter's way through it, each room once: `inbox` leases letters and gives them their effect in one transaction,
`sorting` sees to what nobody wrote, `authenticate` says who wrote and by which right, `dispatch` has the commands
obeyed by one function each in `commands`, `answer_letter` says what came of them. `clock` does what is due without a
letter; `wiring` holds what all are handed. Nobody waits on the network. Implements design.md, "The way of a letter".

Nothing is imported here: the server's sandbox needs `reading` alone, and begins in half the time without the desk.
"""
