"""The desk: the one place where a stored letter takes effect.

A letter passes through each module once: `letter_handling` leases letters and gives them their effect in one
transaction, a decision of `wiring.Desk`; `authenticate` says whether a person wrote it, who, and by which right;
`dispatch` has each command obeyed by its function in `commands`; `answer_letter` reports the outcomes. `due_tasks`
does what is due without a letter. `wiring` makes these parts. Nothing here waits on the network. Implements
design.md, "The way of a letter".

Nothing is imported here: the server's sandbox needs only `reading`, and starts in half the time without the desk.
"""
