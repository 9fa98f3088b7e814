"""Tournaments: registers of ordinary matches, with a table that anybody can compute again; no match knows standings.

A tournament is a transcript of its own: chained, signed and logged as that of a match. `fold` makes its state from
the entries, for server and verifier alike; `tournament_step` makes the entries. Sans-IO: no store, no mail.
`Director` in `pbem.desk.tournament.tournament_director` shows how a server drives it. Implements docs/bundle.md, 12.
"""
