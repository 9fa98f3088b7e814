"""The comparison of players' letters with a bundle: it convicts a server that told two stories.

A bundle can be consistent in itself and yet not be the match that was played, if the server made another one. The
letters that a player kept are evidence against it: each shows a head of the transcript with the server's signature,
and brings papers whose hashes the transcript must name. `against` judges whole letters, by the transcript that they
show (`chain`), the papers that they bring (`papers`) and what they say (`words`). `fates` has the end of each paper
that was acknowledged, `index` both sides of each comparison, and `finding` weighs what differs. How a letter is
read is no matter here: see `pbem.proof.kept_letters`.
Implements protocol.md, "Transcript", and docs/bundle.md, "Letters that players kept".
"""
