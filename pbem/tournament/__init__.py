"""Tournaments: registers of ordinary matches, with a table that anybody can compute again; no match knows standings.

A tournament is a transcript of its own: chained, signed and logged as that of a match. `fold` makes its state from
the entries, for server and verifier alike; `tournament_step` makes the entries. Sans-IO: no store, no mail. A server
drives it so, each line in one transaction with its cause, in which it stores the step's `entries` (with its signature
of each one's `tournament_statement`, which also goes into its log) and `papers`:

- `tournament new`: `TournamentTerms.propose`, then `announce`, with a new secret (64 hex digits, kept for the start);
- `enter`, `leave`, `challenge`, `rule`: the method of that name of `TournamentStep(tournament, now, match_name)`,
  with the letter, and the hash of its text (`hash_of_entry_words` in `pbem.proof.normal_form`);
- the clock: `start`, as soon as `can_start` (an `enter` may fill the tournament, too), and `wake` at `round_ends`.
  `start` waits in an operator's pause;
- `closed` of a match: `take`, with the transcript of that match, in the transaction that closes it. Called again,
  such as after a restart, it does nothing.

After each of them, a match begins for each pairing that the step `begins`. `Tournament.match_terms` are its terms.
Its players are pinned with the keys of their lines (`Entrant.player`), and their entry letters (`Entrant.mail`) are
the letters of its `agreed`; if keys changed since then, entries `keys` of the match follow at once, or the player
enters again before. `begun` and `fold` restore a tournament from its entries. Implements docs/bundle.md, 12.
"""
