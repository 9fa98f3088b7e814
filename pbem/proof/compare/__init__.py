"""The comparison of players' letters with a bundle: it convicts a server that told two stories.

A bundle can be consistent in itself and yet not be the match that was played. The letters that a player kept are
evidence: each shows a head of the transcript with the server's signature (`chain`), brings papers whose hashes the
transcript must name (`papers`, `fates`), and says what happened (`words`). `index` has both sides of each comparison,
and `finding` weighs what differs. Implements docs/bundle.md, "Letters that players kept".
"""
